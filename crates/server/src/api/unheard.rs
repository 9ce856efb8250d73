//! A grant whose caller is gone before a byte of the answer was handed to the socket has not been acted on.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// A body that undoes something if nobody ever asks for its bytes.
struct Unheard<F: FnOnce() + Unpin> {
    body: Body,
    undo: Option<F>,
}

/// The same answer, undone if it is dropped before any of it was handed to the socket.
pub(super) fn undone_if_unheard(response: Response, undo: impl FnOnce() + Send + Unpin + 'static) -> Response {
    response.map(|body| Body::new(Unheard { body, undo: Some(undo) }))
}

impl<F: FnOnce() + Unpin> hyper::body::Body for Unheard<F> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.undo = None;
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<F: FnOnce() + Unpin> Drop for Unheard<F> {
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take() {
            undo();
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

    fn answer(undone: &Arc<AtomicUsize>) -> Response {
        let undone = Arc::clone(undone);
        undone_if_unheard("granted".into_response(), move || _ = undone.fetch_add(1, Ordering::Relaxed))
    }

    #[tokio::test]
    async fn an_answer_that_nobody_reads_is_undone_and_one_that_is_read_is_not() {
        let undone = Arc::new(AtomicUsize::new(0));
        drop(answer(&undone));
        assert_eq!(undone.load(Ordering::Relaxed), 1);
        assert_eq!(answer(&undone).into_body().collect().await.unwrap().to_bytes(), "granted");
        assert_eq!(undone.load(Ordering::Relaxed), 1);
    }
}
