//! Bodies that pass: the rest behind what was read, and one that proves its digest on the way.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use sha2::{Digest as _, Sha256};

/// What was read, and then the rest.
pub(super) struct PrefixedBody {
    start: Option<Bytes>,
    rest: Body,
}

impl PrefixedBody {
    pub(super) fn body(start: Bytes, rest: Body) -> Body {
        Body::new(Self { start: Some(start), rest })
    }
}

impl HttpBody for PrefixedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.start.take() {
            Some(start) => Poll::Ready(Some(Ok(Frame::data(start)))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.start.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let start = self.start.as_ref().map_or(0, Bytes::len) as u64;
        match self.rest.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(rest + start),
            None => SizeHint::default(),
        }
    }
}

/// A body that breaks off, before its last frame, where its bytes are not those of the digest that announced it.
///
/// Each frame waits for the next one: a reader that goes by length alone would never ask what follows the last.
pub(super) struct DigestCheckedBody {
    body: Body,
    hasher: Option<Sha256>,
    sha256: [u8; 32],
    bytes_left: usize,
    waiting: Option<Frame<Bytes>>,
    proof: Proof,
}

/// Whether a body that passes turned out to be another one than announced.
#[derive(Debug, Clone, Default)]
pub(super) struct Proof(Arc<AtomicBool>);

impl Proof {
    pub(super) fn failed(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl DigestCheckedBody {
    pub(super) fn body(body: Body, sha256: [u8; 32], bytes_max: usize) -> (Body, Proof) {
        let proof = Proof::default();
        let hasher = Some(Sha256::new());
        let proved = Self { body, hasher, sha256, bytes_left: bytes_max, waiting: None, proof: proof.clone() };
        (Body::new(proved), proof)
    }

    fn broken(&self, why: &'static str) -> BoxError {
        self.proof.0.store(true, Ordering::Release);
        why.into()
    }

    /// Takes a frame in; the one before it may go out.
    fn take(&mut self, frame: Frame<Bytes>) -> Result<Option<Frame<Bytes>>, BoxError> {
        if let Some(data) = frame.data_ref() {
            let left = self.bytes_left.checked_sub(data.len());
            self.bytes_left = left.ok_or_else(|| self.broken("the body is larger than this route takes"))?;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(data);
            }
        }
        Ok(self.waiting.replace(frame))
    }

    fn ended(&mut self) -> Option<Result<Frame<Bytes>, BoxError>> {
        if let Some(hasher) = self.hasher.take()
            && <[u8; 32]>::from(hasher.finalize()) != self.sha256
        {
            self.waiting = None;
            return Some(Err(self.broken("the body is not the one that its Content-Digest announces")));
        }
        self.waiting.take().map(Ok)
    }
}

impl HttpBody for DigestCheckedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            match std::task::ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Some(taken) = self.take(frame).transpose() {
                        return Poll::Ready(Some(taken));
                    }
                }
                Some(Err(cause)) => {
                    self.broken("the body ended early");
                    return Poll::Ready(Some(Err(cause.into())));
                }
                None => return Poll::Ready(self.ended()),
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        let waiting = self.waiting.as_ref().and_then(Frame::data_ref).map_or(0, Bytes::len) as u64;
        match self.body.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(rest + waiting),
            None => SizeHint::default(),
        }
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
        let (body, proof) = DigestCheckedBody::body(Body::from("hello"), right, 10);
        assert_eq!(body.collect().await.unwrap().to_bytes(), "hello");
        assert!(!proof.failed());
        for (sent, bytes_max) in [("hellO", 10), ("hello", 4), ("hell", 10)] {
            let (mut body, proof) = DigestCheckedBody::body(Body::from(sent), right, bytes_max);
            // Not even one frame of a wrong body goes out before it is known to be wrong.
            assert!(body.frame().await.unwrap().is_err());
            assert!(proof.failed(), "{sent}");
        }
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
