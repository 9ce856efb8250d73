//! How configuration says that a provider is asked: a method, an address, and what a yes looks like.

use onefold_core::error::DECLARATION_INVALID;
use onefold_core::{Error, Result};

/// Names that an address may hold in braces.
const NAMES: [&str; 3] = ["id", "key", "business_key"];
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// How a provider is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredQuestion {
    /// The method.
    pub method: String,
    /// The address, with `{id}`, `{key}` or `{business_key}` in it.
    pub url: String,
    /// Where in the answer's JSON something is that exists only if it took hold.
    pub took_hold: Option<String>,
    /// Where in the answer's JSON the result is; what `took_hold` points at without it.
    pub result: Option<String>,
}

impl DeclaredQuestion {
    /// Reads `METHOD ADDRESS`, and where in the answer to look.
    pub fn parse(text: &str, took_hold: Option<&str>, result: Option<&str>) -> Result<Self> {
        let wrong = |what: String| {
            Err(Error::new(DECLARATION_INVALID, what)
                .hint("write \"GET http://provider/path?operation={id}\", with {id}, {key} or {business_key}"))
        };
        let Some((method, url)) = text.split_once(' ') else {
            return wrong(format!("{text:?} is not a method and an address"));
        };
        if !METHODS.contains(&method) {
            return wrong(format!("{method:?} is not a method; use one of {}", METHODS.join(", ")));
        }
        let scheme = url.starts_with("http://") || url.starts_with("https://");
        if !scheme || url.len() > 2_000 || url.contains(char::is_whitespace) {
            return wrong(format!("{url:?} is not an http address"));
        }
        let authority = url.split("://").nth(1).and_then(|rest| rest.split(['/', '?']).next()).unwrap_or_default();
        if authority.contains(['{', '@']) {
            return wrong("scheme, host and port of an address are fixed".to_owned());
        }
        let names: Vec<&str> = url.split('{').skip(1).map(|rest| rest.split('}').next().unwrap_or(rest)).collect();
        if let Some(unknown) = names.iter().find(|name| !NAMES.contains(name)) {
            return wrong(format!("an address has no {{{unknown}}}"));
        }
        if !names.contains(&"id") && !names.contains(&"key") {
            return wrong("the address does not say which operation is meant".to_owned());
        }
        let pointer = |key: &str, pointer: &str| {
            Err(Error::new(DECLARATION_INVALID, format!("{pointer:?} is not a JSON pointer"))
                .hint(format!("write {key} = \"/items/0/id\"")))
        };
        if let Some(given) = took_hold.filter(|given| !given.starts_with('/')) {
            return pointer("took_hold", given);
        }
        // An empty one is the whole answer.
        if let Some(given) = result.filter(|given| !given.is_empty() && !given.starts_with('/')) {
            return pointer("result", given);
        }
        Ok(Self {
            method: method.to_owned(),
            url: url.to_owned(),
            took_hold: took_hold.map(str::to_owned),
            result: result.map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_its_operation_and_speaks_http() {
        assert!(DeclaredQuestion::parse("GET https://n/?operation={id}", Some("/items/0/id"), None).is_ok());
        assert!(DeclaredQuestion::parse("DELETE http://n/{key}", None, None).is_ok());
        let bad = [
            "GET",
            "LOOK http://n/{id}",
            "GET n/{id}",
            "GET http://n/",
            "GET http://n/{job_key}",
            "GET http://n/{id} x",
            "GET http://{id}/x",
            "GET http://n:{id}/x",
            "GET http://{business_key}?id={id}",
        ];
        for text in bad {
            let error = DeclaredQuestion::parse(text, None, None).unwrap_err();
            assert_eq!(error.code(), DECLARATION_INVALID, "{text}");
        }
        assert!(DeclaredQuestion::parse("GET http://n/{id}", Some("items"), None).is_err());
    }
}
