//! Who is let in: by the right name, from the right page, with a known token.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use onefold_core::Error;
use onefold_core::error::{REQUEST_ORIGIN_REFUSED, REQUEST_TOO_LARGE};
use onefold_core::operation::OperationKey;
use onefold_http::{ErrorsBase, catching_panics, correlating};

use super::problem_response::Problem;
use crate::identity::{Credentials, Identity};

/// Answered without a token.
const OPEN: [&str; 3] = ["/health", "/ready", "/openapi.json"];
/// Pages that are the same in every copy of this program; the person on duty at night may have no token.
const OPEN_BELOW: [&str; 2] = ["/errors/", "/runbooks/"];

fn open(path: &str) -> bool {
    OPEN.contains(&path) || OPEN_BELOW.iter().any(|below| path.starts_with(below))
}

/// The names this server answers to.
#[derive(Debug, Clone)]
pub(crate) struct AdmissionRules {
    names: Vec<String>,
}

impl AdmissionRules {
    /// A gate for this address and these names.
    pub(crate) fn new(listen: SocketAddr, hosts: &[String]) -> Self {
        let port = listen.port();
        let mut names = vec![listen.to_string()];
        if listen.ip().is_loopback() {
            names.extend(["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}")));
        }
        names.extend(hosts.iter().map(|host| host.to_ascii_lowercase()));
        Self { names }
    }

    fn knows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        // A configured name without a port is that name on any port: a proxy may be in front of it.
        let bare = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        self.names.iter().any(|name| *name == host || (!name.contains(':') && name == bare))
    }

    /// Refuses a name that is not ours, which is how a web page reaches a local server, and a page that is not ours.
    fn check(&self, headers: &HeaderMap, authority: Option<&str>) -> Result<(), Error> {
        // An absolute target says which host is meant, whatever `Host` says (RFC 9112, 3.2.2).
        let host = authority.or_else(|| headers.get(header::HOST).and_then(|value| value.to_str().ok()));
        match host {
            Some(host) if self.knows(host) => {}
            Some(host) => return Err(refused("Host", host)),
            None => return Err(refused("Host", "nothing")),
        }
        let Some(origin) = headers.get(header::ORIGIN) else {
            return Ok(());
        };
        let origin = origin.to_str().unwrap_or("?");
        let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if name.is_some_and(|name| self.knows(name)) { Ok(()) } else { Err(refused("Origin", origin)) }
    }
}

fn refused(header: &str, value: &str) -> Error {
    let value: String = value.chars().take(100).collect();
    Error::new(REQUEST_ORIGIN_REFUSED, format!("{header} {value:?} is not one of this server's names"))
}

/// What a request passes before it reaches its handler.
pub(crate) struct Admission {
    pub(crate) rules: AdmissionRules,
    pub(crate) credentials: Arc<Credentials>,
    pub(crate) body_bytes_max: usize,
    pub(crate) errors_base: ErrorsBase,
}

/// Lets a request in with its identity, or answers why not; under its correlation id, and whatever panics.
pub(crate) async fn guard(State(admission): State<Arc<Admission>>, request: Request, next: Next) -> Response {
    let errors_base = admission.errors_base.clone();
    let answer = |mut request: Request| async move {
        match admission.admit(&mut request).await {
            Ok(()) => next.run(request).await,
            Err(error) => Problem::from(error).into_response(),
        }
    };
    correlating(errors_base, request, |request| catching_panics(answer(request))).await
}

impl Admission {
    async fn admit(&self, request: &mut Request) -> Result<(), Error> {
        let authority = request.uri().authority().map(axum::http::uri::Authority::as_str);
        self.rules.check(request.headers(), authority)?;
        if !open(request.uri().path()) {
            let bearer = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
            let secret = bearer.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim);
            let identity = self.credentials.identify(secret).await?;
            say_who_and_what(&self.credentials, &identity, request.uri().path());
            request.extensions_mut().insert(identity);
        }
        announced(self.body_bytes_max, request.headers())?;
        DefaultBodyLimit::max(self.body_bytes_max).apply(request);
        Ok(())
    }
}

/// Log lines name the actor by a pseudonym and the operation by its id; neither is ever a metric's label.
fn say_who_and_what(credentials: &Credentials, who: &Identity, path: &str) {
    let span = tracing::Span::current();
    if span.is_disabled() {
        return;
    }
    span.record("actor", credentials.pseudonym(who));
    let reference = path.strip_prefix("/v1/operations/").and_then(|rest| rest.split('/').next());
    let key = reference.and_then(|reference| OperationKey::from_reference(who.tenant.clone(), reference).ok());
    if let Some(key) = key {
        span.record("operation_id", key.id.as_str());
    }
}

/// Refuses a body that says itself that it is too large, before it is waited for.
fn announced(body_bytes_max: usize, headers: &HeaderMap) -> Result<(), Error> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > body_bytes_max as u64) {
        return Err(Error::new(REQUEST_TOO_LARGE, "the body is larger than `body_bytes_max`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn headers(set: &[(&'static str, &'static str)]) -> HeaderMap {
        set.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_our_own_names_and_pages_are_let_in() {
        let gate = AdmissionRules::new("127.0.0.1:7070".parse().unwrap(), &["Ledger.internal".to_owned()]);
        let rows: [(&[_], bool); 9] = [
            (&[("host", "127.0.0.1:7070")], true),
            (&[("host", "LOCALHOST:7070")], true),
            (&[("host", "ledger.internal")], true),
            (&[("host", "ledger.internal:8443")], true),
            (&[("host", "evil.example:7070")], false),
            (&[("host", "127.0.0.1:7071")], false),
            (&[("host", "localhost:7070"), ("origin", "http://localhost:7070")], true),
            (&[("host", "localhost:7070"), ("origin", "https://evil.example")], false),
            (&[("host", "localhost:7070"), ("origin", "null")], false),
        ];
        for (set, let_in) in rows {
            assert_eq!(gate.check(&headers(set), None).is_ok(), let_in, "{set:?}");
        }
        assert!(gate.check(&HeaderMap::new(), None).is_err());
        assert!(gate.check(&HeaderMap::new(), Some("localhost:7070")).is_ok());
        let ours = headers(&[("host", "localhost:7070")]);
        assert!(gate.check(&ours, Some("evil.example")).is_err(), "the target replaces the header");
    }
}
