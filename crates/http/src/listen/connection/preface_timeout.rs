//! A deadline for the first bytes of a connection.
//!
//! The server below finds out from them which HTTP is spoken, and waits for them without a clock. Only then do the
//! limits of HTTP/1.1 and HTTP/2 begin.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// What every HTTP/2 connection begins with.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A client's connection; reading from it fails where it does not say in time which HTTP it speaks.
pub(super) struct PrefaceTimeout<I> {
    io: I,
    /// None once it is known.
    waiting: Option<PendingPreface>,
}

struct PendingPreface {
    deadline: Pin<Box<Sleep>>,
    /// How much of the preface has arrived.
    matched: usize,
}

impl<I> PrefaceTimeout<I> {
    /// This connection, whose first bytes may take `within`.
    pub(super) fn new(io: I, within: Duration) -> Self {
        Self { io, waiting: Some(PendingPreface { deadline: Box::pin(tokio::time::sleep(within)), matched: 0 }) }
    }
}

impl PendingPreface {
    /// Whether these bytes, after those before, leave open what is spoken.
    fn goes_on(&mut self, bytes: &[u8]) -> bool {
        let expected = &PREFACE[self.matched..];
        self.matched += bytes.len();
        bytes.len() < expected.len() && expected.starts_with(bytes)
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for PrefaceTimeout<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.io).poll_read(context, buffer);
        let Some(waiting) = &mut this.waiting else { return polled };
        if polled.is_pending() {
            std::task::ready!(waiting.deadline.as_mut().poll(context));
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the first bytes took too long")));
        }
        if !waiting.goes_on(&buffer.filled()[before..]) {
            this.waiting = None;
        }
        polled
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for PrefaceTimeout<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const WITHIN: Duration = Duration::from_millis(50);

    /// Whether reading more than `sent` fails, with every piece read by itself.
    async fn ends(sent: &[&str]) -> bool {
        let (mut client, server) = duplex(256);
        let mut server = PrefaceTimeout::new(server, WITHIN);
        for piece in sent {
            client.write_all(piece.as_bytes()).await.unwrap();
            server.read_exact(&mut vec![0; piece.len()]).await.unwrap();
        }
        let more = tokio::time::timeout(WITHIN * 4, server.read_u8()).await;
        more.is_ok_and(|read| read.unwrap_err().kind() == io::ErrorKind::TimedOut)
    }

    #[tokio::test]
    async fn a_connection_that_does_not_say_what_it_speaks_ends() {
        for sent in [&[][..], &["P"], &["PRI * HTTP/2"], &["PRI", " * HTTP/2.0\r\n\r\nSM\r\n\r"]] {
            assert!(ends(sent).await, "{sent:?}");
        }
    }

    #[tokio::test]
    async fn one_that_does_is_not_hurried() {
        for sent in
            [&["G"][..], &["PR", "OPFIND"], &["PRI", " * HTTP/2.0\r\n\r\nSM\r\n\r\n"], &["POST / HTTP/1.1\r\n\r\n"]]
        {
            assert!(!ends(sent).await, "{sent:?}");
        }
    }
}
