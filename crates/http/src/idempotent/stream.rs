//! Bodies that pass: the rest behind what was read, and one that proves its digest on the way.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use sha2::{Digest as _, Sha256};

/// What was read, and then the rest.
pub(super) struct Rest {
    start: Option<Bytes>,
    rest: Body,
}

impl Rest {
    pub(super) fn body(start: Bytes, rest: Body) -> Body {
        Body::new(Self { start: Some(start), rest })
    }
}

impl HttpBody for Rest {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.start.take() {
            Some(start) => Poll::Ready(Some(Ok(Frame::data(start)))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }
}

/// A body that breaks off where its bytes are not those of the digest that announced it.
pub(super) struct Proved {
    body: Body,
    hasher: Option<Sha256>,
    sha256: [u8; 32],
    left: usize,
}

impl Proved {
    pub(super) fn body(body: Body, sha256: [u8; 32], bytes_max: usize) -> Body {
        Body::new(Self { body, hasher: Some(Sha256::new()), sha256, left: bytes_max })
    }

    fn ended(&mut self) -> Option<Result<Frame<Bytes>, BoxError>> {
        let hasher = self.hasher.take()?;
        let same = <[u8; 32]>::from(hasher.finalize()) == self.sha256;
        (!same).then(|| Err("the body is not the one that its Content-Digest announces".into()))
    }
}

impl HttpBody for Proved {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    if data.len() > self.left {
                        return Poll::Ready(Some(Err("the body is larger than this route takes".into())));
                    }
                    self.left -= data.len();
                    if let Some(hasher) = &mut self.hasher {
                        hasher.update(data);
                    }
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(cause))) => Poll::Ready(Some(Err(cause.into()))),
            Poll::Ready(None) => Poll::Ready(self.ended()),
            Poll::Pending => Poll::Pending,
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The SHA-256 of a `Content-Digest` (RFC 9530).
pub(super) fn content_digest(value: &[u8]) -> Option<[u8; 32]> {
    let digests: sfv::Dictionary = sfv::Parser::new(value).parse().ok()?;
    match digests.get("sha-256")? {
        sfv::ListEntry::Item(item) => item.bare_item.as_byte_sequence()?.try_into().ok(),
        sfv::ListEntry::InnerList(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn a_body_proves_its_digest_or_breaks_off() {
        let right: [u8; 32] = Sha256::digest(b"hello").into();
        let whole = Proved::body(Body::from("hello"), right, 10).collect().await.unwrap().to_bytes();
        assert_eq!(whole, "hello");
        assert!(Proved::body(Body::from("hellO"), right, 10).collect().await.is_err());
        assert!(Proved::body(Body::from("hello"), right, 4).collect().await.is_err());
    }

    #[test]
    fn only_a_sha_256_is_read() {
        let value = b"sha-512=:AAAA:, sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:";
        assert_eq!(content_digest(value), Some(Sha256::digest(b"hello").into()));
        for bad in [&b""[..], b"sha-256=abc", b"sha-512=:AAAA:", b"sha-256=:AAAA:", b"sha-256"] {
            assert_eq!(content_digest(bad), None, "{bad:?}");
        }
    }
}
