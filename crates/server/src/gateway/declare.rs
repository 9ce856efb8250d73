//! `[gateway]` and `[[route]]`: what `crates/config` declares, with its addresses and paths as the gateway reads them.

use onefold_config::{DeclaredKind, GatewayDeclaration, Mistake, RouteDeclaration};
use onefold_core::{Error, Result};
use onefold_gateway::{Pattern, Upstream};
use onefold_http::listen::TrustedProxies;

/// The gateway as configuration declares it.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredGateway {
    pub(crate) declared: GatewayDeclaration,
    /// Where requests go that no route is for.
    pub(crate) otherwise: Option<Upstream>,
    pub(crate) trusted_proxies: TrustedProxies,
    pub(crate) routes: Vec<CheckedRoute>,
}

/// A route of the configuration, checked.
#[derive(Debug, Clone)]
pub(crate) struct CheckedRoute {
    pub(crate) declared: RouteDeclaration,
    /// Its kind is its name.
    pub(crate) kind: DeclaredKind,
    pub(crate) pattern: Pattern,
    pub(crate) upstreams: Vec<Upstream>,
}

/// The gateway that `text` declares; `file` is named in every error. Without a `[[route]]` there is none.
pub(crate) fn read(file: &str, text: &str) -> Result<Option<DeclaredGateway>> {
    let routes = onefold_config::routes(file, text, CheckedRoute::read)?;
    let gateway = onefold_config::gateway(file, text, |declared| DeclaredGateway::read(declared, routes))?;
    Ok(Some(gateway).filter(|gateway| !gateway.routes.is_empty()))
}

impl DeclaredGateway {
    fn read(declared: GatewayDeclaration, routes: Vec<CheckedRoute>) -> Result<Self, Mistake> {
        let otherwise = declared.access.otherwise.as_deref().map(Upstream::parse).transpose();
        let otherwise = otherwise.map_err(|error| Mistake::value("otherwise", error))?;
        let proxies = &declared.access.trusted_proxies;
        let wrong = |(at, error)| Mistake::value(format!("trusted_proxies.{at}"), error);
        each(proxies, |proxy| TrustedProxies::parse([proxy])).map_err(wrong)?;
        let trusted_proxies = TrustedProxies::parse(proxies.iter().map(String::as_str)).map_err(Mistake::name)?;
        Ok(Self { declared, otherwise, trusted_proxies, routes })
    }
}

impl CheckedRoute {
    fn read(declared: RouteDeclaration, kind: DeclaredKind) -> Result<Self, Mistake> {
        let pattern = Pattern::parse(&declared.forward.r#match).map_err(|error| Mistake::value("match", error))?;
        let addresses = &declared.forward.upstream;
        let upstreams = each(addresses, Upstream::parse).map_err(|(at, error)| {
            let key = if addresses.len() == 1 { "upstream".to_owned() } else { format!("upstream.{at}") };
            Mistake::value(key, error)
        })?;
        Ok(Self { declared, kind, pattern, upstreams })
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.kind.terms.kind.as_str()
    }
}

/// Each text, read; or the place of the first that cannot be.
fn each<T>(texts: &[String], read: impl Fn(&str) -> Result<T>) -> Result<Vec<T>, (usize, Error)> {
    texts.iter().enumerate().map(|(at, text)| read(text).map_err(|error| (at, error))).collect()
}

#[cfg(test)]
mod tests;
