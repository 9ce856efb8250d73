//! A write that does not get on ends the connection: the client, or whatever is between, takes nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::activity::Activity;

/// A client's connection; writing to it fails where nothing is taken for too long.
pub(super) struct StallGuard<I> {
    io: I,
    activity: Arc<Activity>,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<I> StallGuard<I> {
    pub(super) fn new(io: I, activity: Arc<Activity>) -> Self {
        Self { io, activity, stalled: None }
    }

    /// What a write came to, unless it has waited for too long.
    fn within<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let stalled_for = self.activity.limits().stalled_for;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(stalled_for)));
        std::task::ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing")))
    }

    fn written(&self, polled: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = polled {
            self.activity.passed(*bytes);
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for StallGuard<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(context, buffer);
        self.activity.passed(buffer.filled().len() - before);
        polled
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for StallGuard<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(context, bytes);
        self.written(&polled);
        self.within(polled, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_flush(context);
        self.within(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_shutdown(context);
        self.within(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(context, parts);
        self.written(&polled);
        self.within(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::super::ConnectionLimits;
    use super::*;

    #[tokio::test]
    async fn a_client_that_takes_nothing_ends_its_connection() {
        let limits = ConnectionLimits { stalled_for: Duration::from_millis(20), ..ConnectionLimits::default() };
        let (mut client, server) = duplex(10);
        let mut server = StallGuard::new(server, Arc::new(Activity::new(limits, Instant::now())));
        let (written, _) = tokio::join!(server.write_all(&[0; 30]), async { client.read_exact(&mut [0; 30]).await });
        written.unwrap();
        let stalled = server.write_all(&[0; 30]).await.unwrap_err();
        assert_eq!(stalled.kind(), io::ErrorKind::TimedOut);
    }
}
