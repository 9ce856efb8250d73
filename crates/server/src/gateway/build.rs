//! Declared routes as a table of the gateway.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, StatusCode};

use onefold_core::error::{ALL, CONFIGURATION_INVALID, Code, DECLARATION_INVALID, IDEMPOTENCY_KEY_REUSED};
use onefold_core::retry::Category;
use onefold_core::{Error, Result};
use onefold_http::gateway::identify::{Auth, Certificate, Jwt, Keys, KeysFrom};
use onefold_http::gateway::{Connect, Entry, Forward, Guarded, Table, Upstreams};
use onefold_http::idempotent::{Answers, BodyLimits, Effect, Evidence, Key, RouteSettings};
use onefold_http::{Anonymous, Caller, FromRequest, Identify};
use onefold_runtime::{Dependency, Limits, SystemClock};

use super::declare::{AnswerMeans, DeclaredCaller, DeclaredDependency, DeclaredGateway, DeclaredRoute, KeyRule};

/// How long the head of an answer may take where no route says so.
const OTHERWISE_WITHIN: Duration = Duration::from_mins(1);

/// The table of these routes; `guard` makes the guard of one.
pub(super) fn table(
    declared: &DeclaredGateway,
    callers: &Callers,
    mut guard: impl FnMut(&DeclaredRoute) -> Result<Arc<dyn Guarded>>,
) -> Result<Table> {
    let entry = |route: &DeclaredRoute| -> Result<Entry> {
        Ok(Entry {
            name: route.terms.kind.as_str().into(),
            pattern: route.pattern.clone(),
            forward: Arc::new(forward(route)?),
            identify: callers.of(&route.caller)?,
            tenant_header: route.tenant_header.clone(),
            key_header: route.header.clone(),
            underscored_headers: route.underscored_headers.clone(),
            guard: Some(guard(route)?),
        })
    };
    let table = Table::new(declared.routes.iter().map(entry).collect::<Result<Vec<_>>>()?)?;
    let table = table.trusted(declared.trusted_proxies.clone());
    let Some(upstream) = &declared.otherwise else { return Ok(table) };
    let otherwise = Forward::new(Upstreams::new(vec![upstream.clone()])?, &Connect::default(), OTHERWISE_WITHIN)?;
    Ok(table.otherwise(Arc::new(otherwise), declared.otherwise_lookalikes))
}

fn forward(route: &DeclaredRoute) -> Result<Forward> {
    let forward = Forward::new(Upstreams::new(route.upstreams.clone())?, &route.connect, route.timeout)?;
    let evidence = match evidence(route) {
        Evidence::Header(name) => Some(name),
        Evidence::Answer | Evidence::Body(_) => None,
    };
    let mut forward = forward.reading_headers(route.stored_headers.iter().cloned().chain(evidence));
    if let Some((name, value)) = credential(route)? {
        forward = forward.credential(name, value);
    }
    Ok(if route.preserve_host { forward.preserve_host() } else { forward })
}

/// The header by which a route's upstream knows us, read from its file.
pub(super) fn credential(route: &DeclaredRoute) -> Result<Option<(HeaderName, HeaderValue)>> {
    let Some((name, file)) = &route.credential else { return Ok(None) };
    let wrong = |what: &str| {
        Error::new(CONFIGURATION_INVALID, format!("route {}: {} {what}", route.terms.kind, file.display()))
            .hint("write the header's whole value into the file, such as \"Bearer …\", readable by this user")
    };
    let text = std::fs::read_to_string(file).map_err(|cause| wrong(&format!("cannot be read: {cause}")))?;
    let mut value = HeaderValue::from_str(text.trim()).map_err(|_| wrong("holds what no header may hold"))?;
    if value.is_empty() {
        return Err(wrong("is empty"));
    }
    value.set_sensitive(true);
    Ok(Some((name.clone(), value)))
}

/// What finds out who calls; what asks an address keeps what it knows when routes are read again.
#[derive(Default)]
pub(super) struct Callers(Vec<(DeclaredCaller, Arc<dyn Identify>)>);

impl Callers {
    /// Those of these routes. Routes that declare the same share one; files are read again.
    pub(super) fn follow(&self, routes: &[DeclaredRoute]) -> Result<Self> {
        let mut now = Self::default();
        for DeclaredRoute { caller, .. } in routes {
            if now.known(caller).is_some() {
                continue;
            }
            let kept = self.known(caller).filter(|_| !reads_a_file(caller));
            now.0.push((caller.clone(), kept.map_or_else(|| identify(caller), Ok)?));
        }
        Ok(now)
    }

    fn of(&self, caller: &DeclaredCaller) -> Result<Arc<dyn Identify>> {
        self.known(caller).map_or_else(|| identify(caller), Ok)
    }

    fn known(&self, caller: &DeclaredCaller) -> Option<Arc<dyn Identify>> {
        self.0.iter().find(|(known, _)| known == caller).map(|(_, identify)| Arc::clone(identify))
    }
}

fn reads_a_file(caller: &DeclaredCaller) -> bool {
    match caller {
        DeclaredCaller::Jwt(jwt) => matches!(jwt.keys, KeysFrom::File(_) | KeysFrom::Secret(_)),
        DeclaredCaller::Anonymous | DeclaredCaller::Certificate | DeclaredCaller::Auth(_) => false,
    }
}

fn identify(caller: &DeclaredCaller) -> Result<Arc<dyn Identify>> {
    let connect = Connect::default();
    Ok(match caller {
        DeclaredCaller::Anonymous => Arc::new(Anonymous),
        DeclaredCaller::Certificate => Arc::new(Certificate),
        DeclaredCaller::Jwt(declared) => {
            let mut jwt = Jwt::new(Keys::open(&declared.keys, &connect)?);
            if let Some(subject) = &declared.subject {
                jwt = jwt.subject(subject);
            }
            if let Some(issuer) = &declared.issuer {
                jwt = jwt.issuer(issuer);
            }
            if let Some(audience) = &declared.audience {
                jwt = jwt.audience(audience);
            }
            if let Some(claim) = &declared.tenant_claim {
                jwt = jwt.tenant_claim(claim);
            }
            if let Some(leeway) = declared.leeway {
                jwt = jwt.leeway(leeway);
            }
            Arc::new(jwt)
        }
        DeclaredCaller::Auth(declared) => {
            let auth = Auth::new(&declared.url, declared.subject_header.clone(), &connect, declared.timeout)?;
            match &declared.tenant_header {
                Some(name) => Arc::new(auth.tenant_header(name.clone())),
                None => Arc::new(auth),
            }
        }
    })
}

/// The dependencies of a gateway; one whose limits did not change keeps what it knows when they are read again.
#[derive(Default)]
pub(super) struct Dependencies(BTreeMap<String, (Limits, Dependency)>);

impl Dependencies {
    /// Those that are declared now.
    pub(super) fn follow(&self, declared: &[DeclaredDependency]) -> Self {
        let made = declared.iter().map(|declared| {
            let known = self.0.get(&declared.name).filter(|(limits, _)| *limits == declared.limits);
            let dependency = known.map_or_else(
                || Dependency::new(&declared.name, declared.limits, Arc::new(SystemClock)),
                |(_, dependency)| dependency.clone(),
            );
            (declared.name.clone(), (declared.limits, dependency))
        });
        Self(made.collect())
    }

    fn of(&self, route: &DeclaredRoute) -> Option<Dependency> {
        self.0.get(route.terms.dependency.as_deref()?).map(|(_, dependency)| dependency.clone())
    }
}

/// How a declared route speaks HTTP. Who calls was found out before, on every request.
pub(super) fn settings(route: &DeclaredRoute, dependencies: &Dependencies) -> Result<RouteSettings> {
    let defaults = RouteSettings::default();
    let caller = FromRequest(|parts: &axum::http::request::Parts| {
        Ok(parts.extensions.get::<Caller>().cloned().unwrap_or(Caller::Anonymous))
    });
    let mut stored_headers = defaults.stored_headers.clone();
    stored_headers.extend(route.stored_headers.iter().filter(|name| !defaults.stored_headers.contains(name)).cloned());
    Ok(RouteSettings {
        key: match route.key {
            KeyRule::Required => Key::Required,
            KeyRule::Optional => Key::Optional,
        },
        header: route.header.clone(),
        caller: Arc::new(caller),
        replays_to_anyone: route.anonymous_replay,
        methods: [Method::POST, Method::PATCH].into_iter().chain(route.idempotent_methods.iter().cloned()).collect(),
        answers: answers(route),
        stored_headers,
        body: BodyLimits {
            bytes_max: route.body_bytes_max,
            read_within: route.body_read_timeout,
            answer_bytes_max: route.answer_bytes_max,
            ..BodyLimits::default()
        },
        in_flight_max: route.in_flight_max,
        waiters_max: route.waiters,
        wait: route.wait,
        in_flight_status: StatusCode::from_u16(route.in_flight_status).unwrap_or(StatusCode::CONFLICT),
        reused: reused(route)?,
        evidence: evidence(route),
        dependency: dependencies.of(route),
        // Whatever the upstream is asked about later, it was told under this key.
        provider_key: route.provider_key.clone().or_else(|| Some(route.header.clone())),
        business_key: route.business_key.clone(),
        streams: route.streams,
        open: route.open,
        access_log: route.access_log,
        ..defaults
    })
}

fn answers(route: &DeclaredRoute) -> Answers {
    let answers = route.answers.iter().fold(Answers::default(), |answers, (status, means)| {
        let effect = match means {
            AnswerMeans::None => Effect::None,
            AnswerMeans::Applied => Effect::Applied,
            AnswerMeans::Final => Effect::Final,
            AnswerMeans::Unknown => Effect::Unknown(Category::Unexpected),
        };
        answers.with(*status, effect)
    });
    if route.trust_effect_header { answers.trusting_upstream() } else { answers }
}

fn reused(route: &DeclaredRoute) -> Result<(StatusCode, Code)> {
    let Some((status, code)) = &route.reused else {
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, IDEMPOTENCY_KEY_REUSED));
    };
    let code = match code {
        None => IDEMPOTENCY_KEY_REUSED,
        Some(name) => ALL.iter().copied().find(|code| code.as_str() == name).ok_or_else(|| {
            Error::new(DECLARATION_INVALID, format!("route {}: there is no code {name}", route.terms.kind))
                .hint("`onefold errors` lists every code")
        })?,
    };
    Ok((StatusCode::from_u16(*status).unwrap_or(StatusCode::UNPROCESSABLE_ENTITY), code))
}

fn evidence(route: &DeclaredRoute) -> Evidence {
    match route.evidence.as_deref() {
        None => Evidence::default(),
        Some(text) => match text.strip_prefix("header:").and_then(|name| name.parse().ok()) {
            Some(name) => Evidence::Header(name),
            None => Evidence::Body(text.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(caller: &str) -> Vec<DeclaredRoute> {
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
            assert_eq!(Arc::ptr_eq(before, &again.of(&routes[0].caller).unwrap()), kept, "{caller}");
        }
        let other = Callers::default().follow(&routes("\"certificate\"")).unwrap();
        assert!(other.known(&DeclaredCaller::Anonymous).is_none());
    }
}
