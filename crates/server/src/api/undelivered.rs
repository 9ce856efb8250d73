//! Notices an answer of which no byte was handed to the socket. What follows from that for its grants is the
//! rule's to say (`core/ledger/release.rs`): the same grant may have been answered elsewhere too.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// A body that says so if it is dropped before anyone asks for its bytes.
struct UndeliveredBody<F: FnOnce() + Unpin> {
    body: Body,
    tell: Option<F>,
}

/// The same answer; `tell` is called if it is dropped before any of it was handed to the socket.
pub(super) fn told_if_undelivered(response: Response, tell: impl FnOnce() + Send + Unpin + 'static) -> Response {
    response.map(|body| Body::new(UndeliveredBody { body, tell: Some(tell) }))
}

impl<F: FnOnce() + Unpin> hyper::body::Body for UndeliveredBody<F> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.tell = None;
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<F: FnOnce() + Unpin> Drop for UndeliveredBody<F> {
    fn drop(&mut self) {
        if let Some(tell) = self.tell.take() {
            tell();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;
    use http_body_util::BodyExt as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn answer(told: &Arc<AtomicUsize>) -> Response {
        let told = Arc::clone(told);
        told_if_undelivered("granted".into_response(), move || _ = told.fetch_add(1, Ordering::Relaxed))
    }

    #[tokio::test]
    async fn an_answer_that_nobody_reads_is_told_of_and_one_that_is_read_is_not() {
        let told = Arc::new(AtomicUsize::new(0));
        drop(answer(&told));
        assert_eq!(told.load(Ordering::Relaxed), 1);
        assert_eq!(answer(&told).into_body().collect().await.unwrap().to_bytes(), "granted");
        assert_eq!(told.load(Ordering::Relaxed), 1);
    }
}
