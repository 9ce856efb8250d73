//! Who calls, from what a request carries. Each runs on every request.

mod auth;
mod certificate;
mod jwks;
mod jwt;

pub use auth::Auth;
pub use certificate::Certificate;
pub use jwks::{Keys, KeysFrom};
pub use jwt::Jwt;

use axum::response::Response;
use onefold_core::Error;
use onefold_core::error::AUTHENTICATION_REQUIRED;

/// The answer to a request that does not say who calls. It does not say what was wrong with a credential.
fn refused(what: &'static str) -> Response {
    super::problem(Error::new(AUTHENTICATION_REQUIRED, what).hint("send a valid credential"))
}
