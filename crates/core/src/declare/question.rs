//! How configuration says that a provider is asked: a method, an address, and what a yes looks like.

use crate::error::{DECLARATION_INVALID, Error, Result};

/// Names that an address may hold in braces.
const NAMES: [&str; 3] = ["id", "key", "business_key"];
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// What the table of `ask` or `void` may hold beside it.
const FIELDS: [&str; 6] = ["ask", "void", "took_hold", "result", "settle", "because"];

/// How a provider is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredQuestion {
    /// The method.
    pub method: String,
    /// The address, with `{id}`, `{key}` or `{business_key}` in it.
    pub url: String,
    /// Where in the answer's JSON stands what exists only if it took hold.
    pub took_hold: Option<String>,
    /// Where in the answer's JSON stands the result; what `took_hold` points at without it.
    pub result: Option<String>,
}

impl DeclaredQuestion {
    /// Reads `METHOD ADDRESS`.
    pub fn parse(text: &str, took_hold: Option<&str>) -> Result<Self> {
        let wrong = |what: String| {
            Err(Error::new(DECLARATION_INVALID, what)
                .hint("write \"GET http://provider/path?operation={id}\", with {id}, {key} or {business_key}"))
        };
        let Some((method, url)) = text.split_once(' ') else {
            return wrong(format!("{text:?} is no method and address"));
        };
        if !METHODS.contains(&method) {
            return wrong(format!("{method:?} is no method; use one of {}", METHODS.join(", ")));
        }
        let scheme = url.starts_with("http://") || url.starts_with("https://");
        if !scheme || url.len() > 2_000 || url.contains(char::is_whitespace) {
            return wrong(format!("{url:?} is no http address"));
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
        if let Some(pointer) = took_hold.filter(|pointer| !pointer.starts_with('/')) {
            return Err(Error::new(DECLARATION_INVALID, format!("{pointer:?} is no JSON pointer"))
                .hint("write took_hold = \"/items/0/id\""));
        }
        Ok(Self {
            method: method.to_owned(),
            url: url.to_owned(),
            took_hold: took_hold.map(str::to_owned),
            result: None,
        })
    }
}

/// Reads the question in `on_unknown`, where its policy asks.
pub fn read(on_unknown: &toml::Value) -> Result<Option<DeclaredQuestion>> {
    let Some(table) = on_unknown.as_table() else {
        return Ok(None);
    };
    let text = |name: &str| table.get(name).and_then(toml::Value::as_str);
    let Some(question) = text("ask").or_else(|| text("void")) else {
        return Ok(None);
    };
    if let Some(unknown) = table.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(Error::new(DECLARATION_INVALID, format!("on_unknown has no {unknown:?}"))
            .hint(format!("use {}", FIELDS.join(", "))));
    }
    if text("void").is_some_and(|void| void.contains("{id}")) {
        return Err(Error::new(
            DECLARATION_INVALID,
            "`void` names the operation by {id}, which is not the key that a later attempt sent",
        )
        .hint("write void = \"DELETE https://…/{key}\": after a void every attempt has a key of its own"));
    }
    let result = text("result").map(str::to_owned);
    if let Some(pointer) = result.as_ref().filter(|pointer| !pointer.is_empty() && !pointer.starts_with('/')) {
        return Err(Error::new(DECLARATION_INVALID, format!("{pointer:?} is no JSON pointer"))
            .hint("write result = \"/items/0\", or \"\" for the whole answer"));
    }
    Ok(Some(DeclaredQuestion { result, ..DeclaredQuestion::parse(question, text("took_hold"))? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_its_operation_and_speaks_http() {
        assert!(DeclaredQuestion::parse("GET https://n/?operation={id}", Some("/items/0/id")).is_ok());
        assert!(DeclaredQuestion::parse("DELETE http://n/{key}", None).is_ok());
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
            let error = DeclaredQuestion::parse(text, None).unwrap_err();
            assert_eq!(error.code(), DECLARATION_INVALID, "{text}");
        }
        assert!(DeclaredQuestion::parse("GET http://n/{id}", Some("items")).is_err());
    }

    #[test]
    fn a_void_names_the_key_that_was_sent() {
        let declared = |text: &str| read(&toml::from_str::<toml::Table>(text).unwrap()["on_unknown"]);
        assert!(declared("on_unknown = { void = 'DELETE http://n/{key}' }").unwrap().is_some());
        let error = declared("on_unknown = { void = 'DELETE http://n/{id}' }").unwrap_err();
        assert_eq!(error.code(), DECLARATION_INVALID);
        assert!(declared("on_unknown = { ask = 'GET http://n/{id}' }").unwrap().is_some());
    }
}
