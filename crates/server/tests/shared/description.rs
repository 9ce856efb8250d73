//! What the committed description says of a call.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

/// The extension of an operation that lists the codes it can answer.
pub(crate) const CODES: &str = "x-onefold-codes";

pub(crate) fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json")
}

fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| serde_json::from_slice(&std::fs::read(file()).unwrap()).unwrap())
}

/// The operation that a call reaches, by its route.
fn operation(method: &str, path: &str) -> Option<(&'static str, &'static Value)> {
    let path = path.split('?').next().unwrap_or_default();
    let routes = document()["paths"].as_object().unwrap().iter().filter(|(route, _)| leads(route, path));
    // As in the router, a route that names the segment wins over one that takes any.
    let (route, operations) = routes.min_by_key(|(route, _)| route.matches('{').count())?;
    Some((route.as_str(), operations.get(method.to_ascii_lowercase())?))
}

/// Fails unless the committed description says that this call can be answered so. What is not an operation has none.
pub(crate) fn describes(method: &str, path: &str, status: u16, code: &str) {
    let Some((route, operation)) = operation(method, path) else { return };
    let codes = operation[CODES].as_array().unwrap();
    assert!(codes.iter().any(|known| known == code), "{method} {route} is not described with {code}");
    let described = operation["responses"][status.to_string()]["description"].as_str().unwrap_or_default();
    assert!(described.contains(code), "{method} {route} is not described with {code} under {status}");
}

/// Fails unless a success has the fields that the committed description says: those required, and no others.
pub(crate) fn describes_success(method: &str, path: &str, body: &Value) {
    let Some((route, operation)) = operation(method, path) else { return };
    let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
    if let Err(why) = fits(schema, body) {
        panic!("{method} {route} is described otherwise: {why}: {body}");
    }
}

/// Whether the names of a value's fields are those of a schema; types are left to the suite `fuzz-api`.
fn fits(schema: &Value, body: &Value) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        return fits(document().pointer(&name[1..]).unwrap(), body);
    }
    if let Some(parts) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        let tried: Vec<String> = parts.iter().filter_map(|part| fits(part, body).err()).collect();
        return if tried.len() < parts.len() { Ok(()) } else { Err(tried.join("; ")) };
    }
    match body {
        Value::Array(items) => items.iter().try_for_each(|item| fits(&schema["items"], item)),
        Value::Object(fields) => {
            // An object without properties is somebody's payload.
            let Some(known) = schema["properties"].as_object() else { return Ok(()) };
            for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                fields.get(required).ok_or_else(|| format!("{required} is required"))?;
            }
            for (name, value) in fields {
                let part = known.get(name).ok_or_else(|| format!("{name} is not described"))?;
                fits(part, value)?;
            }
            let tag = known.get("claim").and_then(|tag| tag["enum"][0].as_str());
            if tag.is_some_and(|tag| body["claim"] != tag) { Err("another answer".to_owned()) } else { Ok(()) }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn leads(route: &str, path: &str) -> bool {
    let (route, path): (Vec<&str>, Vec<&str>) = (route.split('/').collect(), path.split('/').collect());
    route.len() == path.len() && route.iter().zip(&path).all(|(known, one)| known.starts_with('{') || known == one)
}
