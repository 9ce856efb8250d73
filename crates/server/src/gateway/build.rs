//! Declared routes as a table of the gateway.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::Result;
use onefold_http::gateway::identify::{Auth, Certificate, Jwt, Keys};
use onefold_http::gateway::{Connect, Entry, Forward, Guarded, Table, Upstreams};
use onefold_http::{Anonymous, Identify};

use super::declare::{DeclaredCaller, DeclaredGateway, DeclaredRoute};

/// How long the head of an answer may take where no route says so.
const OTHERWISE_WITHIN: Duration = Duration::from_mins(1);

/// The table of these routes; `guard` makes the guard of one.
pub(super) fn table(
    declared: &DeclaredGateway,
    guard: impl Fn(&DeclaredRoute) -> Result<Option<Arc<dyn Guarded>>>,
) -> Result<Table> {
    let entry = |route: &DeclaredRoute| -> Result<Entry> {
        Ok(Entry {
            name: route.terms.kind.as_str().into(),
            pattern: route.pattern.clone(),
            forward: Arc::new(forward(route)?),
            identify: identify(route)?,
            tenant_header: route.tenant_header.clone(),
            key_header: route.header.clone(),
            guard: guard(route)?,
        })
    };
    let table = Table::new(declared.routes.iter().map(entry).collect::<Result<Vec<_>>>()?)?;
    let table = table.trusted(declared.trusted_proxies.clone());
    let Some(upstream) = &declared.otherwise else { return Ok(table) };
    let otherwise = Forward::new(Upstreams::new(vec![upstream.clone()])?, &Connect::default(), OTHERWISE_WITHIN)?;
    Ok(table.otherwise(Arc::new(otherwise)))
}

fn forward(route: &DeclaredRoute) -> Result<Forward> {
    let forward = Forward::new(Upstreams::new(route.upstreams.clone())?, &route.connect, route.timeout)?;
    Ok(if route.preserve_host { forward.preserve_host() } else { forward })
}

fn identify(route: &DeclaredRoute) -> Result<Arc<dyn Identify>> {
    let connect = Connect::default();
    Ok(match &route.caller {
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
