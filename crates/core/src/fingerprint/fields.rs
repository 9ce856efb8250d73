//! Chosen fields: the canonical JSON of the values at some pointers.

use serde_json::{Map, Value};

use super::canonical;
use crate::error::Result;

/// The form that is digested: pointer → value; an absent field differs from `null`.
pub(super) fn form(input: &[u8], pointers: &[String]) -> Result<Vec<u8>> {
    let request = canonical::read(input)?;
    let chosen: Map<String, Value> = pointers
        .iter()
        .filter_map(|pointer| request.pointer(pointer).map(|value| (pointer.clone(), value.clone())))
        .collect();
    canonical::write(&Value::Object(chosen))
}
