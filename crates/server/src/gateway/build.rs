//! Declared routes as a table of the gateway.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};

use onefold_config::{CallerDeclaration, CredentialDeclaration};
use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::{Error, Result};
use onefold_gateway::identify::{Auth, Certificate, Jwt, Keys, KeysFrom};
use onefold_gateway::{Forward, RequestGuard, RouteEntry, Table, Upstreams};
use onefold_http::client::{AddressRule, Connect, Protocol};
use onefold_http::idempotent::{AccessLog, RouteContext, RouteSettings, header_name};
use onefold_http::{Anonymous, Caller, FromRequest, Identify};

use super::declare::{CheckedRoute, DeclaredGateway};

/// How long the head of an answer may take where no route says so.
const OTHERWISE_WITHIN: Duration = Duration::from_mins(1);

/// The table of these routes; `guard` makes the guard of one.
pub(super) fn table(
    declared: &DeclaredGateway,
    callers: &Callers,
    mut guard: impl FnMut(&CheckedRoute) -> Result<Arc<dyn RequestGuard>>,
) -> Result<Table> {
    let entry = |route: &CheckedRoute| -> Result<RouteEntry> {
        let declared = &route.declared.forward;
        let tenant_header = declared.tenant_header.as_deref();
        Ok(RouteEntry {
            name: route.name().into(),
            pattern: route.pattern.clone(),
            forward: Arc::new(forward(route)?),
            identify: callers.of(caller(route))?,
            tenant_header: tenant_header.map(|name| header_name("tenant_header", name)).transpose()?,
            key_header: header_name("header", &route.declared.guard.header)?,
            underscored_headers: header_names("underscored_headers", &declared.underscored_headers)?,
            guard: Some(guard(route)?),
        })
    };
    let table = Table::new(declared.routes.iter().map(entry).collect::<Result<Vec<_>>>()?)?;
    let table = table.trusted(declared.trusted_proxies.clone());
    let Some(upstream) = &declared.otherwise else { return Ok(table) };
    let otherwise = Forward::new(Upstreams::new(vec![upstream.clone()])?, &Connect::default(), OTHERWISE_WITHIN)?;
    Ok(table.otherwise(Arc::new(otherwise), declared.declared.access.otherwise_lookalikes))
}

fn header_names(key: &'static str, names: &[String]) -> Result<Vec<HeaderName>> {
    names.iter().map(|name| Ok(header_name(key, name)?)).collect()
}

fn forward(route: &CheckedRoute) -> Result<Forward> {
    let (declared, guard) = (&route.declared.forward, &route.declared.guard);
    let deadline = route.kind.terms.deadline_for;
    let connect = Connect {
        ca: declared.upstream_ca.clone(),
        protocol: match declared.upstream_http2 {
            Some(true) => Protocol::Http2,
            Some(false) => Protocol::Http1,
            None => Protocol::Negotiated,
        },
        within: declared.connect_timeout_within(deadline),
        addresses: AddressRule::Any,
    };
    let upstreams = Upstreams::new(route.upstreams.clone())?;
    let forward = Forward::new(upstreams, &connect, declared.timeout_within(deadline))?;
    let evidence = guard.evidence_header().map(|name| header_name("evidence", name)).transpose()?;
    let read = header_names("stored_headers", &guard.stored_headers)?;
    let mut forward = forward.reading_headers(read.into_iter().chain(evidence));
    if let Some((name, value)) = credential(route)? {
        forward = forward.credential(name, value);
    }
    Ok(if declared.preserve_host { forward.preserve_host() } else { forward })
}

/// The header by which a route's upstream knows us, read from its file.
pub(super) fn credential(route: &CheckedRoute) -> Result<Option<(HeaderName, HeaderValue)>> {
    let Some(CredentialDeclaration { header, file }) = &route.declared.forward.credential else { return Ok(None) };
    let wrong = |what: &str| {
        Error::new(CONFIGURATION_INVALID, format!("route {}: {} {what}", route.name(), file.display()))
            .hint("write the header's whole value into the file, such as \"Bearer …\", readable by this user")
    };
    let text = std::fs::read_to_string(file).map_err(|cause| wrong(&format!("cannot be read: {cause}")))?;
    let mut value =
        HeaderValue::from_str(text.trim()).map_err(|_| wrong("holds characters that a header may not have"))?;
    if value.is_empty() {
        return Err(wrong("is empty"));
    }
    value.set_sensitive(true);
    Ok(Some((header_name("credential.header", header)?, value)))
}

/// Who calls a route; one that does not say it is refused when the file is read.
fn caller(route: &CheckedRoute) -> &CallerDeclaration {
    route.declared.forward.caller.as_ref().unwrap_or(&CallerDeclaration::Anonymous)
}

/// What finds out who calls; what asks an address keeps what it knows when routes are read again.
#[derive(Default)]
pub(super) struct Callers(Vec<(CallerDeclaration, Arc<dyn Identify>)>);

impl Callers {
    /// Those of these routes. Routes that declare the same share one; files are read again.
    pub(super) fn follow(&self, routes: &[CheckedRoute]) -> Result<Self> {
        let mut now = Self::default();
        for caller in routes.iter().map(caller) {
            if now.known(caller).is_some() {
                continue;
            }
            let kept = self.known(caller).filter(|_| !reads_a_file(caller));
            now.0.push((caller.clone(), kept.map_or_else(|| identify(caller), Ok)?));
        }
        Ok(now)
    }

    fn of(&self, caller: &CallerDeclaration) -> Result<Arc<dyn Identify>> {
        self.known(caller).map_or_else(|| identify(caller), Ok)
    }

    fn known(&self, caller: &CallerDeclaration) -> Option<Arc<dyn Identify>> {
        self.0.iter().find(|(known, _)| known == caller).map(|(_, identify)| Arc::clone(identify))
    }
}

fn reads_a_file(caller: &CallerDeclaration) -> bool {
    match caller {
        CallerDeclaration::Jwt(jwt) => KeysFrom::declared(jwt).is_ok_and(|keys| keys.is_file()),
        CallerDeclaration::Anonymous | CallerDeclaration::Certificate | CallerDeclaration::Auth(_) => false,
    }
}

fn identify(caller: &CallerDeclaration) -> Result<Arc<dyn Identify>> {
    let connect = Connect::default();
    Ok(match caller {
        CallerDeclaration::Anonymous => Arc::new(Anonymous),
        CallerDeclaration::Certificate => Arc::new(Certificate),
        CallerDeclaration::Jwt(declared) => {
            Arc::new(Jwt::new(Keys::open(&KeysFrom::declared(declared)?, &connect)?, declared.clone()))
        }
        CallerDeclaration::Auth(declared) => Arc::new(Auth::new(declared, &connect)?),
    })
}

/// How a declared route speaks HTTP. Who calls was found out before, on every request.
pub(super) fn settings(route: &CheckedRoute) -> Result<RouteSettings> {
    let caller = FromRequest(|parts: &axum::http::request::Parts| {
        Ok(parts.extensions.get::<Caller>().cloned().unwrap_or(Caller::Anonymous))
    });
    // Whatever the upstream is asked about later, it was told under this key.
    let provider_key = route.declared.provider_key().unwrap_or(&route.declared.guard.header);
    let context = RouteContext {
        caller: Arc::new(caller),
        provider_key: Some(header_name("on_unknown.same_key", provider_key)?),
        access_log: AccessLog::Ours,
    };
    Ok(RouteSettings::resolve(route.declared.guard.clone(), route.kind.terms.contract.class(), context)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(caller: &str) -> Vec<CheckedRoute> {
        let route = |name: &str| {
            format!(
                "[[route]]\nname = \"{name}\"\nmatch = \"POST /{name}\"\nupstream = \"http://127.0.0.1:1\"\nclass = \"external-command\"\ncaller = {caller}\n"
            )
        };
        super::super::declare::read("x.toml", &(route("a") + &route("b"))).unwrap().unwrap().routes
    }

    #[test]
    fn keys_from_an_address_stay_known_and_files_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret.key");
        std::fs::write(&secret, "0123456789abcdef0123456789abcdef").unwrap();
        let rows = [
            ("{ jwt = { jwks = \"http://127.0.0.1:1/keys\" } }".to_owned(), true),
            (format!("{{ jwt = {{ hs256 = {:?} }} }}", secret.display().to_string()), false),
        ];
        for (caller, kept) in rows {
            let routes = routes(&caller);
            let first = Callers::default().follow(&routes).unwrap();
            let again = first.follow(&routes).unwrap();
            let [(_, before)] = first.0.as_slice() else { panic!("two routes share one") };
            assert_eq!(Arc::ptr_eq(before, &again.of(super::caller(&routes[0])).unwrap()), kept, "{caller}");
        }
        let other = Callers::default().follow(&routes("\"certificate\"")).unwrap();
        assert!(other.known(&CallerDeclaration::Anonymous).is_none());
    }
}
