//! Answers that say whether the client takes them.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;

use super::activity::RequestInFlight;

/// Bytes that are handed over at once. What was handed over may wait in a buffer for a client that never takes it, so it
/// is never much.
const PIECE_BYTES: usize = 16 * 1024;

/// An answer on its way to a client. A client that asks for more of it has taken what came before.
pub(super) struct AnswerBody {
    body: Body,
    /// What was read of the body and is not handed over.
    left: Bytes,
    in_flight: RequestInFlight,
}

impl AnswerBody {
    pub(super) fn new(body: Body, mut in_flight: RequestInFlight) -> Self {
        in_flight.handed_over(Instant::now());
        Self { body, left: Bytes::new(), in_flight }
    }

    fn hand_over(&mut self) -> Frame<Bytes> {
        self.in_flight.handed_over(Instant::now());
        Frame::data(self.left.split_to(self.left.len().min(PIECE_BYTES)))
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.left.is_empty() {
            return Poll::Ready(Some(Ok(self.hand_over())));
        }
        let polled = match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending => {
                self.in_flight.waits_for_us();
                return Poll::Pending;
            }
            Poll::Ready(polled) => polled,
        };
        Poll::Ready(polled.map(|frame| {
            frame.map(|frame| match frame.into_data() {
                Ok(data) => {
                    self.left = data;
                    self.hand_over()
                }
                Err(other) => {
                    self.in_flight.handed_over(Instant::now());
                    other
                }
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, left) = (self.body.size_hint(), self.left.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + left);
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + left);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt as _;

    use super::super::{Activity, ConnectionLimits};
    use super::*;

    #[tokio::test]
    async fn an_answer_is_handed_over_in_pieces_and_keeps_its_length() {
        let activity = Arc::new(Activity::new(ConnectionLimits::default(), Instant::now()));
        let sent: Vec<u8> = (0..100_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let mut body = AnswerBody::new(Body::from(sent.clone()), activity.begin());
        let mut got = Vec::new();
        while let Some(frame) = body.frame().await {
            let data = frame.unwrap().into_data().unwrap();
            assert!(data.len() <= PIECE_BYTES);
            got.extend_from_slice(&data);
            assert_eq!(body.size_hint().exact(), Some((sent.len() - got.len()) as u64));
            assert_eq!(body.is_end_stream(), got.len() == sent.len());
        }
        assert_eq!(got, sent);
    }
}
