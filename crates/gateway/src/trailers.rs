//! Trailers pass, but for fields that mean something in a head: a reader that merges the two would believe them.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderName, header};
use hyper::body::{Frame, SizeHint};

/// Fields that say where a message ends, where it goes, who sends it or what its body is (RFC 9110, 6.5.1).
const OF_A_HEAD: [HeaderName; 14] = [
    header::AUTHORIZATION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::EXPECT,
    header::HOST,
    header::SET_COOKIE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::TE,
    header::UPGRADE,
];

/// The same body; trailers that belong in a head, and those that are `dropped`, end here.
pub(super) fn without(body: Body, dropped: impl Fn(&HeaderName) -> bool + Send + Unpin + 'static) -> Body {
    Body::new(FilteredBody { body, dropped })
}

struct FilteredBody<F> {
    body: Body,
    dropped: F,
}

impl<F: Fn(&HeaderName) -> bool + Unpin> HttpBody for FilteredBody<F> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(polled.map(|frame| {
            frame.map(|frame| match frame.into_trailers() {
                Ok(trailers) => Frame::trailers(self.kept(&trailers)),
                Err(data) => data,
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<F: Fn(&HeaderName) -> bool> FilteredBody<F> {
    fn kept(&self, trailers: &HeaderMap) -> HeaderMap {
        let passes = |name: &HeaderName| !OF_A_HEAD.contains(name) && !(self.dropped)(name);
        trailers.iter().filter(|(name, _)| passes(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, Full};

    use super::*;

    #[tokio::test]
    async fn a_field_of_a_head_is_not_a_trailer() {
        let lines = [("x-sum", "1"), ("content-length", "9"), ("host", "x"), ("x-forwarded-for", "10.0.0.1")];
        let sent: HeaderMap =
            lines.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let body = Full::new(Bytes::from("body")).with_trailers(async move { Some(Ok(sent)) });
        let body = without(Body::new(body), |name| name.as_str().starts_with("x-forwarded-"));
        let got = body.collect().await.unwrap();
        assert_eq!(got.trailers().unwrap().keys().collect::<Vec<_>>(), ["x-sum"]);
        assert_eq!(got.to_bytes(), "body");
    }
}
