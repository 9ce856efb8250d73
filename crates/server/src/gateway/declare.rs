//! `[gateway]`, `[[route]]` and `[dependency]` as configuration writes them. A mistake is shown where it stands.

mod caller;
mod dependency;
mod route;
mod text;

pub(crate) use caller::DeclaredCaller;
pub(crate) use dependency::DeclaredDependency;
pub(crate) use route::{AnswerMeans, DeclaredRoute, KeyRule};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onefold_core::Result;
use onefold_core::declare::{Place, suggestion};
use onefold_http::connection::ConnectionLimits;
use onefold_http::gateway::{Lookalikes, TlsFiles, TrustedProxies, Upstream};
use serde::Deserialize;
use serde_spanned::Spanned;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    gateway: GatewayText,
    #[serde(default)]
    route: Vec<text::RouteText>,
    #[serde(default)]
    dependency: BTreeMap<Spanned<String>, dependency::DependencyText>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct GatewayText {
    tls: Option<TlsText>,
    #[serde(default)]
    open: bool,
    otherwise: Option<Spanned<String>>,
    otherwise_lookalikes: Option<Spanned<String>>,
    #[serde(default)]
    trusted_proxies: Vec<Spanned<String>>,
    connections_max: Option<Spanned<usize>>,
    headers_within: Option<Spanned<String>>,
    headers_bytes_max: Option<Spanned<u32>>,
    streams_max: Option<Spanned<u32>>,
    idle_for: Option<Spanned<String>>,
    stalled_for: Option<Spanned<String>>,
    connection_for: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsText {
    certificate: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
}

/// The gateway as configuration declares it.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeclaredGateway {
    pub(crate) tls: Option<TlsFiles>,
    /// Listening where anyone can call is meant.
    pub(crate) open: bool,
    /// Where requests go that no route is for.
    pub(crate) otherwise: Option<Upstream>,
    /// What becomes of requests for it whose path is a guarded route's in another spelling.
    pub(crate) otherwise_lookalikes: Lookalikes,
    pub(crate) trusted_proxies: TrustedProxies,
    pub(crate) limits: ConnectionLimits,
    pub(crate) routes: Vec<DeclaredRoute>,
    pub(crate) dependencies: Vec<DeclaredDependency>,
}

/// The gateway that `text` declares; `file` is named in every error. Without a `[[route]]` there is none.
pub(crate) fn read(file: &str, text: &str) -> Result<Option<DeclaredGateway>> {
    let place = Place::new(file, text);
    // Relative paths begin where the file is.
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let File { gateway, route, dependency } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let known: Vec<String> = dependency.keys().map(|name| name.get_ref().clone()).collect();
    let mut routes: Vec<DeclaredRoute> = Vec::new();
    for declared in route {
        if let Some(name) = declared.dependency.as_ref().filter(|name| !known.contains(name.get_ref())) {
            let what = format!("there is no dependency {:?}", name.get_ref());
            let hint = match suggestion(name.get_ref(), known.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("declare [dependency.{}]", name.get_ref()),
            };
            return Err(place.error(name.span(), &what, &hint));
        }
        let name = declared.name.clone();
        if routes.iter().any(|before| before.terms.kind.as_str() == name.get_ref()) {
            let what = format!("two routes are called {:?}", name.get_ref());
            return Err(place.error(name.span(), &what, "a key belongs to a route's name: give each its own"));
        }
        routes.push(route::read(&place, declared, folder)?);
    }
    let dependencies = dependency.into_iter().map(|(name, declared)| dependency::read(&place, name, declared));
    let dependencies: Vec<DeclaredDependency> = dependencies.collect::<Result<_>>()?;
    let declared = settings(&place, gateway, folder)?;
    if routes.is_empty() {
        return Ok(None);
    }
    Ok(Some(DeclaredGateway { routes, dependencies, ..declared }))
}

fn settings(place: &Place<'_>, text: GatewayText, folder: &Path) -> Result<DeclaredGateway> {
    let upstream = |text: &Spanned<String>| {
        Upstream::parse(text.get_ref()).map_err(|error| place.wrap(text.span(), "otherwise", &error))
    };
    for proxy in &text.trusted_proxies {
        TrustedProxies::parse([proxy.get_ref().as_str()])
            .map_err(|error| place.wrap(proxy.span(), "trusted_proxies", &error))?;
    }
    let defaults = ConnectionLimits::default();
    let lasting = |given: Option<Spanned<String>>, default: Duration| match given {
        None => Ok(default),
        Some(given) => positive(place, &given),
    };
    let limits = ConnectionLimits {
        connections_max: within(place, text.connections_max, 1..=100_000, defaults.connections_max)?,
        headers_within: lasting(text.headers_within, defaults.headers_within)?,
        headers_bytes_max: within(place, text.headers_bytes_max, 8_192..=1_048_576, defaults.headers_bytes_max)?,
        streams_max: within(place, text.streams_max, 1..=10_000, defaults.streams_max)?,
        idle_for: lasting(text.idle_for, defaults.idle_for)?,
        stalled_for: lasting(text.stalled_for, defaults.stalled_for)?,
        connection_for: lasting(text.connection_for, defaults.connection_for)?,
    };
    Ok(DeclaredGateway {
        tls: text.tls.map(|tls| TlsFiles {
            certificate: folder.join(tls.certificate),
            key: folder.join(tls.key),
            client_ca: tls.client_ca.map(|file| folder.join(file)),
        }),
        open: text.open,
        otherwise: text.otherwise.as_ref().map(upstream).transpose()?,
        otherwise_lookalikes: lookalikes(place, text.otherwise_lookalikes.as_ref())?,
        trusted_proxies: TrustedProxies::parse(text.trusted_proxies.iter().map(|proxy| proxy.get_ref().as_str()))?,
        limits,
        routes: Vec::new(),
        dependencies: Vec::new(),
    })
}

fn lookalikes(place: &Place<'_>, text: Option<&Spanned<String>>) -> Result<Lookalikes> {
    match text.map(|text| (text.get_ref().as_str(), text.span())) {
        None | Some(("refuse", _)) => Ok(Lookalikes::Refuse),
        Some(("pass", _)) => Ok(Lookalikes::Pass),
        Some((other, span)) => {
            let what = format!("{other:?} does not say what becomes of lookalikes");
            Err(place.error(span, &what, "write \"refuse\" or \"pass\""))
        }
    }
}

/// A duration longer than zero.
fn positive(place: &Place<'_>, text: &Spanned<String>) -> Result<Duration> {
    let read = place.duration(text)?;
    if read.is_zero() {
        return Err(place.error(text.span(), "this must be longer than zero", "write \"10s\""));
    }
    Ok(read)
}

/// A number in its limits, or what holds without one.
fn within<T>(
    place: &Place<'_>,
    given: Option<Spanned<T>>,
    limits: std::ops::RangeInclusive<T>,
    otherwise: T,
) -> Result<T>
where
    T: PartialOrd + std::fmt::Display + Copy,
{
    match given {
        None => Ok(otherwise),
        Some(given) if limits.contains(given.get_ref()) => Ok(given.into_inner()),
        Some(given) => {
            let hint = format!("give a number from {} to {}", limits.start(), limits.end());
            Err(place.error(given.span(), &format!("{} is outside its limits", given.get_ref()), &hint))
        }
    }
}

#[cfg(test)]
mod tests;
