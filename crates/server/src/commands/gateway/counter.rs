//! How many effects the upstream says it had, at an address that the user names.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Request, Uri};
use onefold_core::error::{DOWNSTREAM_UNAVAILABLE, REQUEST_INVALID};
use onefold_core::{Error, Result};

use crate::reconcile_http::{ProviderClient, client};

/// Bytes of the counter's answer that are read.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Where effects are counted: `http://127.0.0.1:8181/stats#/charges`.
pub(super) struct Counter {
    client: ProviderClient,
    address: Uri,
    /// A place in a JSON answer; else the answer is the number itself.
    pointer: Option<String>,
}

impl Counter {
    pub(super) fn at(text: &str) -> Result<Self> {
        let (address, pointer) = text.split_once('#').map_or((text, None), |(address, at)| (address, Some(at)));
        let address = address.parse().ok().filter(|uri: &Uri| uri.host().is_some() && uri.scheme().is_some());
        let shaped = pointer.is_none_or(|pointer| pointer.starts_with('/'));
        let address = address.filter(|_| shaped).ok_or_else(|| {
            Error::new(REQUEST_INVALID, format!("--effects: {text:?} is not the address of a counter"))
                .hint("write http://127.0.0.1:8181/count, or http://127.0.0.1:8181/stats#/charges for a place in JSON")
        })?;
        Ok(Self { client: client()?, address, pointer: pointer.map(str::to_owned) })
    }

    /// How many effects there were until now.
    pub(super) async fn read(&self) -> Result<u64> {
        let failed = |what: &str| {
            Error::new(DOWNSTREAM_UNAVAILABLE, format!("--effects: {} {what}", self.address))
                .hint("name an address that answers GET with the number of effects, or leave --effects out")
        };
        // A connection each: one that its server has closed since the last count would be an error.
        let request = Request::get(self.address.clone()).header("connection", "close").body(Full::<Bytes>::default());
        let request = request.map_err(|_| failed("is not an address"))?;
        let answer = self.client.request(request).await.map_err(|cause| failed("does not answer").caused_by(cause))?;
        if !answer.status().is_success() {
            return Err(failed(&format!("answers {}", answer.status().as_u16())));
        }
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|_| failed("does not answer whole"))?.to_bytes();
        number(&body, self.pointer.as_deref()).ok_or_else(|| failed("answers with something that is not a number"))
    }
}

fn number(body: &[u8], pointer: Option<&str>) -> Option<u64> {
    match pointer {
        None => std::str::from_utf8(body).ok()?.trim().parse().ok(),
        Some(pointer) => serde_json::from_slice::<serde_json::Value>(body).ok()?.pointer(pointer)?.as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_number_or_a_place_in_json() {
        assert_eq!(number(b" 7\n", None), Some(7));
        assert_eq!(number(br#"{"charges": {"count": 7}}"#, Some("/charges/count")), Some(7));
        for (body, pointer) in [("seven", None), ("-1", None), ("{}", Some("/a")), ("7", Some("/a")), ("", None)] {
            assert_eq!(number(body.as_bytes(), pointer), None, "{body}");
        }
    }
}
