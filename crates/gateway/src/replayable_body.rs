//! A body that comes back if nothing of it was read, so that another upstream can have it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// Where a lent body comes back to.
#[derive(Clone)]
pub(super) struct ReturnSlot(Arc<Mutex<SlotState>>);

struct SlotState {
    body: Option<Body>,
    /// The sender's body ended before its end, or was malformed.
    broke: bool,
}

impl ReturnSlot {
    pub(super) fn new(body: Body) -> Self {
        Self(Arc::new(Mutex::new(SlotState { body: Some(body), broke: false })))
    }

    /// The body, if it is here: it was not lent yet, or came back untouched.
    pub(super) fn lend(&self) -> Option<ReplayableBody> {
        let body = self.kept().body.take()?;
        Some(ReplayableBody { body: Some(body), slot: self.clone(), touched: false })
    }

    /// Whether the sender's body was malformed, or ended too early.
    pub(super) fn broke(&self) -> bool {
        self.kept().broke
    }

    fn kept(&self) -> MutexGuard<'_, SlotState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A body on its way to an upstream.
pub(super) struct ReplayableBody {
    body: Option<Body>,
    slot: ReturnSlot,
    touched: bool,
}

impl Drop for ReplayableBody {
    fn drop(&mut self) {
        if !self.touched {
            let body = self.body.take();
            self.slot.kept().body = body;
        }
    }
}

impl HttpBody for ReplayableBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        self.touched = true;
        let Some(body) = self.body.as_mut() else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if matches!(polled, Poll::Ready(Some(Err(_)))) {
            self.slot.kept().broke = true;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn a_body_comes_back_untouched_or_not_at_all() {
        let slot = ReturnSlot::new(Body::from("once"));
        let lent = slot.lend().unwrap();
        assert!(slot.lend().is_none() && lent.size_hint().exact() == Some(4));
        drop(lent);
        let mut lent = slot.lend().unwrap();
        assert_eq!(lent.frame().await.unwrap().unwrap().into_data().unwrap(), "once");
        drop(lent);
        assert!(slot.lend().is_none());
    }
}
