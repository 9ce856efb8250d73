//! `[gateway]`: how the gateway listens, and what becomes of requests that no route is for.

use std::path::Path;

use crate::http::Lookalikes;
use crate::limits::{ConnectionLimits, TlsFiles};
use crate::mistake::Mistake;
use crate::setting::declaration;
use crate::table::table;

table! {
    /// `[gateway]`.
    pub struct GatewayDeclaration {
        /// Who may call, and where requests go that no route is for.
        pub access: AccessDeclaration,
        /// What its listener takes on.
        pub limits: ConnectionLimits,
    }
}

declaration! {
    /// Who may call the gateway, and where requests go that no route is for.
    [serde(default)]
    pub struct AccessDeclaration {
        /// `{ certificate = "a.pem", key = "a.key", client_ca = "ca.pem" }`; with `client_ca` every client must present a certificate.
        ["table", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tls: Option<TlsFiles>,
        /// Confirms that it may listen where other machines can reach it although callers are not identified.
        ["true or false", "false"]
        pub open: bool,
        /// Where requests go that match no route: unguarded, with unidentified callers. If it is also the upstream of a guarded route, the log warns at start.
        ["address", "none (404, or 405 where the path is a route's)"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub otherwise: Option<String>,
        /// What `otherwise` does with a request whose path differs from a guarded route's only in case, in blanks around a segment or in a suffix after a dot (`/CHARGES`, `/charges%20`, `/charges.json`): 404, or `"pass"`. Methods that are never guarded, such as GET, pass anyway.
        ["`\"refuse\"` or `\"pass\"`", "\"refuse\""]
        pub otherwise_lookalikes: Lookalikes = Lookalikes::Refuse,
        /// Addresses, networks, or `"unix"`, whose `Forwarded`, `X-Forwarded-…` and tenant headers are believed; from anyone else they are dropped.
        ["list of texts", "[]"]
        pub trusted_proxies: Vec<String>,
    }
}

impl GatewayDeclaration {
    /// Refuses what a gateway cannot listen with.
    pub fn check(&self) -> Result<(), Mistake> {
        self.limits.check()?;
        self.access.tls.as_ref().map_or(Ok(()), TlsFiles::check).map_err(|mistake| mistake.within("tls"))
    }

    /// The same with its relative paths beginning in this folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.access.tls = self.access.tls.map(|tls| tls.in_folder(folder));
        self
    }

    /// Every key, in the order of the guide.
    pub fn settings() -> Vec<crate::Setting> {
        <Self as crate::table::Table>::PARTS.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_the_guide_shows_are_those_that_hold() {
        crate::setting::tests::shown_defaults_hold::<GatewayDeclaration>(&GatewayDeclaration::settings());
    }
}
