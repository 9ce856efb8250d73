//! The pages of error codes: where a problem's `type` points, and serving them.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use onefold_core::error::{CONFIGURATION_INVALID, Code, ROUTE_NOT_FOUND, runbook};
use onefold_core::{Error, Result};

use crate::extract::Path;
use crate::problem_response::ProblemResponse;

/// What a problem's `type` begins with; the code in small letters with dashes follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorsBase(Arc<str>);

impl ErrorsBase {
    /// Where [`error_pages`] serves them.
    pub const OURS: &str = "/errors/";
    /// Names a code and promises no page: for a place where every path belongs to somebody else.
    pub const UNRESOLVABLE: &str = "urn:onefold:error:";

    /// A base: a path or an `http` address that ends in `/`, or a URN that ends in `:`.
    pub fn parse(text: &str) -> Result<Self> {
        let place = text.starts_with("https://") || text.starts_with("http://") || text.starts_with('/');
        let whole = (place && text.ends_with('/')) || (text.starts_with("urn:") && text.ends_with(':'));
        let plain = text.len() <= 500 && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>?#".contains(&byte));
        if whole && plain {
            return Ok(Self(Arc::from(text)));
        }
        let what = format!("errors_base: {:?} is not a place for pages", text.chars().take(100).collect::<String>());
        Err(Error::new(CONFIGURATION_INVALID, what)
            .hint("write a place whose pages are named by code, such as https://docs.example.com/errors/ or /errors/"))
    }

    /// A base without pages: problems of a service that serves none name their code as a URN.
    pub fn unresolvable() -> Self {
        Self(Arc::from(Self::UNRESOLVABLE))
    }

    /// The base as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ErrorsBase {
    fn default() -> Self {
        Self(Arc::from(Self::OURS))
    }
}

/// Routes that serve the page of each of these codes at `/errors/{code}`, where a problem's `type` points.
///
/// Hand it the codes of one's own service and those of this crate:
/// `error_pages([errors::ALL, onefold::error::ALL].concat())`. A page is what the code's descriptor says.
pub fn error_pages<S: Clone + Send + Sync + 'static>(codes: impl Into<Arc<[Code]>>) -> Router<S> {
    let codes: Arc<[Code]> = codes.into();
    let page = move |Path(name): Path<String>| {
        let codes = Arc::clone(&codes);
        async move { error_page(&codes, &name) }
    };
    Router::new().route("/errors/{code}", get(page))
}

/// The page of the code with this name in small letters with dashes.
pub fn error_page(codes: &[Code], name: &str) -> Result<Response, ProblemResponse> {
    let found = codes.iter().find(|known| known.kebab() == name);
    let found = found.ok_or_else(|| {
        Error::new(ROUTE_NOT_FOUND, "there is no such error code").hint("take the address from the problem's `type`")
    })?;
    Ok(markdown(runbook(*found)))
}

/// A page for people.
pub fn markdown(text: impl Into<String>) -> Response {
    ([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text.into()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_place_or_a_name_that_a_code_can_follow() {
        for good in ["/errors/", "https://docs.example.com/errors/", "http://127.0.0.1:1/e/", "urn:example:error:"] {
            assert_eq!(ErrorsBase::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "errors/", "/errors", "ftp://x/", "urn:example", "/err ors/", "https://x/?a=/", "/\"/"] {
            assert!(ErrorsBase::parse(bad).is_err(), "{bad}");
        }
    }
}
