//! Chosen fields: the canonical JSON of the values at some pointers.

use serde_json::Value;

use super::canonical;
use crate::error::Result;

/// The form that is digested: pointer → value; an absent field differs from `null`.
pub(super) fn form(input: &[u8], pointers: &[String]) -> Result<Vec<u8>> {
    canonical::read(input)?.form(|request| {
        let found = |pointer: &String| request.pointer(pointer).map(|value| (pointer.clone(), value.clone()));
        Value::Object(pointers.iter().filter_map(found).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_chosen_numbers_are_compared_exactly() {
        let pointers = ["/amount".to_owned()];
        let form = |amount: &str, note: &str| {
            form(format!("{{\"amount\":{amount},\"note\":{note}}}").as_bytes(), &pointers).unwrap()
        };
        assert_ne!(form("1234567890123456.78", "1"), form("1234567890123456.75", "1"));
        assert_eq!(form("5", "1234567890123456.78"), form("5.0", "1"));
    }
}
