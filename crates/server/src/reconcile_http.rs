//! Questions that configuration declares, asked over HTTP.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use onefold_config::DeclaredQuestion;
use onefold_core::effect::{KindSpec, Policy};
use onefold_core::error::DECLARATION_INVALID;
use onefold_core::{Error, Result};
use onefold_http::client::{Connect, HttpClient, Protocol};
use onefold_runtime::{Ask, IntoReconciler as _, PendingQuestion, ProviderAnswer, Reconciler, Void};

/// Bytes of a provider's answer that are read.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// A header by which a provider knows us.
type Credential = (HeaderName, HeaderValue);

/// Calls to providers and webhooks.
pub(crate) type ProviderClient = HttpClient<Full<Bytes>>;

/// How a kind's provider is asked, where its policy asks.
///
/// `credential` is what the provider knows us by.
pub(crate) fn of(
    question: Option<&DeclaredQuestion>,
    terms: &KindSpec,
    credential: Option<Credential>,
) -> Result<Option<Reconciler>> {
    match (terms.contract.policy(), question) {
        (Policy::Ask { .. } | Policy::Void, Some(question)) => reconciler(question, terms, credential).map(Some),
        _ => Ok(None),
    }
}

fn reconciler(question: &DeclaredQuestion, terms: &KindSpec, credential: Option<Credential>) -> Result<Reconciler> {
    let client = client()?;
    let question = Arc::new((question.clone(), credential));
    let voids = matches!(terms.contract.policy(), Policy::Void);
    let settle = if let Policy::Ask { settle } = terms.contract.policy() { *settle } else { Duration::ZERO };
    let ask = move |asked: PendingQuestion| {
        let (client, question) = (client.clone(), Arc::clone(&question));
        async move { ask(&client, &question.0, question.1.as_ref(), &asked, voids).await }
    };
    let reconciler =
        if voids { Void::with(ask).into_reconciler() } else { Ask::with(ask).settle(settle).into_reconciler() };
    reconciler.ok_or_else(|| Error::new(DECLARATION_INVALID, "this policy has no question to ask"))
}

/// One client for questions and webhooks; made when the first of them needs it.
pub(crate) fn client() -> Result<ProviderClient> {
    static CLIENT: OnceLock<ProviderClient> = OnceLock::new();
    if let Some(client) = CLIENT.get() {
        return Ok(client.clone());
    }
    let client = Connect { protocol: Protocol::Http1, ..Connect::default() }.client()?;
    Ok(CLIENT.get_or_init(|| client).clone())
}

async fn ask(
    client: &ProviderClient,
    question: &DeclaredQuestion,
    credential: Option<&Credential>,
    asked: &PendingQuestion,
    voids: bool,
) -> ProviderAnswer {
    let Some(mut request) = request(question, asked) else {
        return ProviderAnswer::cannot_tell();
    };
    if let Some((name, value)) = credential {
        request.headers_mut().insert(name.clone(), value.clone());
    }
    let Ok(response) = client.request(request).await else {
        return ProviderAnswer::unreachable();
    };
    let status = response.status();
    if status.is_server_error() {
        return ProviderAnswer::unreachable();
    }
    let body = match Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return ProviderAnswer::unreachable(),
    };
    understand(question, voids, status, &body)
}

fn request(question: &DeclaredQuestion, asked: &PendingQuestion) -> Option<Request<Full<Bytes>>> {
    let values = [
        ("{id}", asked.entry().key.id.as_str()),
        ("{key}", asked.key()),
        ("{business_key}", asked.business_key().unwrap_or_default()),
    ];
    let url = filled(&question.url, &values)?;
    let method = Method::from_bytes(question.method.as_bytes()).ok()?;
    Request::builder().method(method).uri(url).header("accept", "application/json").body(Full::default()).ok()
}

/// The address with its values. None where one is absent, or would lead to another place.
fn filled(template: &str, values: &[(&str, &str)]) -> Option<String> {
    let used = values.iter().filter(|(name, _)| template.contains(name));
    let mut url = template.to_owned();
    for (name, value) in used {
        if ["", ".", ".."].contains(value) {
            return None;
        }
        url = url.replace(name, &encoded(value));
    }
    Some(url)
}

/// What an answer means. Whatever is not plainly a yes or a no tells nothing.
fn understand(question: &DeclaredQuestion, voids: bool, status: StatusCode, body: &[u8]) -> ProviderAnswer {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let found = question
        .took_hold
        .as_deref()
        .map(|pointer| json.as_ref().and_then(|json| json.pointer(pointer).filter(|value| !value.is_null()).cloned()));
    // A page of some proxy before the provider is not the provider's answer, neither to a yes nor to a no.
    let not_the_providers = !body.is_empty() && json.is_none();
    let nothing_to_point_at = status.is_success() && found.is_some() && json.is_none() && !(voids && body.is_empty());
    // What is accepted for later is not refused yet.
    let not_done_yet = voids && status == StatusCode::ACCEPTED;
    if not_the_providers || nothing_to_point_at || not_done_yet {
        return ProviderAnswer::cannot_tell();
    }
    // A result that is not there is not made up: duplicates are told that it is not kept.
    let took_hold = |value: Option<&serde_json::Value>| {
        let result = match &question.result {
            None => value,
            Some(pointer) => json.as_ref().and_then(|json| json.pointer(pointer)),
        };
        let result = result.filter(|result| !result.is_null());
        result.map_or_else(ProviderAnswer::took_hold_without_result, ProviderAnswer::took_hold)
    };
    match (status, found) {
        (status, Some(Some(value))) if status.is_success() || status == StatusCode::CONFLICT => {
            let reference = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            took_hold(Some(&value)).evidence(reference.chars().take(200).collect::<String>())
        }
        (status, None) if status.is_success() && !voids => took_hold(json.as_ref()),
        // A voided key is refused from now on; an answer without the pointer's value is a plain no.
        (status, _) if status.is_success() => ProviderAnswer::did_not(),
        (StatusCode::NOT_FOUND, _) if !voids => ProviderAnswer::did_not(),
        _ => ProviderAnswer::cannot_tell(),
    }
}

/// Percent-encodes everything that could end or bend an address.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_yes_a_no_or_nothing() {
        let pointed = DeclaredQuestion::parse("GET http://n/{id}", Some("/items/0/id"), None).unwrap();
        let plain = DeclaredQuestion::parse("GET http://n/{id}", None, None).unwrap();
        let rows = [
            (&pointed, false, 200, r#"{"items":[{"id":"NTC-1"}]}"#, "TookHold"),
            (&pointed, false, 200, r#"{"items":[]}"#, "DidNot"),
            (&pointed, false, 404, "", "DidNot"),
            (&pointed, false, 200, "<html>maintenance</html>", "CannotTell"),
            (&pointed, false, 200, "", "CannotTell"),
            (&pointed, true, 200, "<html>maintenance</html>", "CannotTell"),
            (&pointed, true, 204, "", "DidNot"),
            (&pointed, false, 500, "", "CannotTell"),
            (&pointed, false, 401, "", "CannotTell"),
            (&plain, false, 200, "{}", "TookHold"),
            (&plain, false, 404, "", "DidNot"),
            (&plain, true, 204, "", "DidNot"),
            (&plain, true, 404, "", "CannotTell"),
            (&plain, true, 200, "<html>maintenance</html>", "CannotTell"),
            (&plain, true, 202, "", "CannotTell"),
            (&plain, true, 200, "{}", "DidNot"),
            (&plain, false, 200, "<html>maintenance</html>", "CannotTell"),
            (&plain, false, 404, "default backend - 404", "CannotTell"),
            (&pointed, false, 404, "<html>no such host</html>", "CannotTell"),
            (&plain, false, 404, r#"{"error":"no such notice"}"#, "DidNot"),
            (&pointed, true, 409, r#"{"items":[{"id":"NTC-1"}]}"#, "TookHold"),
            (&pointed, true, 409, "{}", "CannotTell"),
        ];
        for (question, voids, status, body, meaning) in rows {
            let answer = understand(question, voids, StatusCode::from_u16(status).unwrap(), body.as_bytes());
            assert!(format!("{answer:?}").contains(meaning), "{status} {body}: {answer:?}");
        }
    }

    #[test]
    fn a_result_that_the_provider_does_not_tell_is_not_made_up() {
        let mut pointed = DeclaredQuestion::parse("GET http://n/{id}", Some("/id"), None).unwrap();
        let plain = DeclaredQuestion::parse("GET http://n/{id}", None, None).unwrap();
        let kept = |question: &DeclaredQuestion, body: &str| {
            let answer = format!("{:?}", understand(question, false, StatusCode::OK, body.as_bytes()));
            assert!(answer.contains("TookHold"), "{answer}");
            answer.contains("Kept")
        };
        assert!(kept(&pointed, r#"{"id":"NTC-1"}"#) && kept(&plain, "{}"));
        assert!(!kept(&plain, "") && !kept(&plain, "null"));
        pointed.result = Some("/notice".to_owned());
        assert!(kept(&pointed, r#"{"id":"NTC-1","notice":{"state":"sent"}}"#));
        assert!(!kept(&pointed, r#"{"id":"NTC-1"}"#));
    }

    #[test]
    fn a_value_that_is_absent_or_a_step_in_the_path_asks_nobody() {
        let url = "https://p/customers/{business_key}/payments/{key}";
        let with = |business_key| filled(url, &[("{key}", "k/1"), ("{business_key}", business_key)]);
        assert_eq!(with("c 7").unwrap(), "https://p/customers/c%207/payments/k%2F1");
        for bad in ["", ".", ".."] {
            assert_eq!(with(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn an_id_cannot_bend_the_address() {
        assert_eq!(encoded("a b/../?x=1&y#%Ü"), "a%20b%2F..%2F%3Fx%3D1%26y%23%25%C3%9C");
    }
}
