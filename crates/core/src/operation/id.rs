//! The id of an operation: business identity, never made up.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::error::{Error, OPERATION_ID_INVALID, Result};

/// The id of one logical business action. It does not change between attempts.
///
/// ```
/// use onefold_core::operation::OperationId;
/// let id = OperationId::parse("CASE-2026-000091:ISSUE_NOTICE:NOTICE_OF_BREACH")?;
/// assert!(OperationId::parse("").is_err());
/// # Ok::<(), onefold_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OperationId(Arc<str>);

impl OperationId {
    /// Bytes an id may have as a caller gives it.
    pub const BYTES_MAX: usize = 255;
    /// Bytes an id may have as it is stored, with what the product appends to it.
    pub const STORED_BYTES_MAX: usize = 1024;

    /// Reads an id as a caller gives it.
    pub fn parse(text: &str) -> Result<Self> {
        Self::bounded(text, Self::BYTES_MAX)
    }

    /// Reads an id as it is stored: one that a caller gave, or one derived from it.
    pub fn stored(text: &str) -> Result<Self> {
        Self::bounded(text, Self::STORED_BYTES_MAX)
    }

    fn bounded(text: &str, bytes_max: usize) -> Result<Self> {
        let invalid = |detail: String| Err(Error::new(OPERATION_ID_INVALID, detail));
        if text.is_empty() {
            return invalid("the operation id is empty; no id is ever made up".into());
        }
        if text.len() > bytes_max {
            return invalid(format!("the operation id has {} bytes, more than {bytes_max}", text.len()));
        }
        if let Some(at) = text.find(char::is_control) {
            return invalid(format!("the operation id has a control character at byte {at}"));
        }
        Ok(Self(Arc::from(text)))
    }

    /// The id of an operation that belongs to this one, such as `…:COMPENSATE`.
    pub fn derived(&self, suffix: &str) -> Result<Self> {
        Self::stored(&format!("{}:{}", self.0, template_value(suffix)))
    }

    /// The id of what a caller asks for under its own key: `{key}@{mark}`, `@` and `%` in the key encoded. The mark comes
    /// last, so that rising keys give rising ids.
    pub fn of_caller(key: &str, mark: [u8; 16]) -> Result<Self> {
        let key = Self::parse(key)?.0.replace('%', "%25").replace('@', "%40");
        Self::stored(&format!("{key}@{}", URL_SAFE_NO_PAD.encode(mark)))
    }

    /// The key that its caller gave: what comes before the mark, decoded; the whole id where it has none.
    pub fn callers_key(&self) -> String {
        let key = self.0.rsplit_once('@').map_or(&*self.0, |(key, _)| key);
        key.replace("%40", "@").replace("%25", "%")
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A value as an id holds it: `:` and `%` encoded, so that different values cannot give one id.
pub(super) fn template_value(value: &str) -> String {
    value.replace('%', "%25").replace(':', "%3A")
}

/// What names an operation: an id, or text that is read as a caller gives it. Invalid text is refused when the operation
/// is performed or claimed.
pub trait IntoOperationId {
    /// The id, or why it is not one.
    fn into_operation_id(self) -> Result<OperationId>;
}

impl IntoOperationId for OperationId {
    fn into_operation_id(self) -> Result<OperationId> {
        Ok(self)
    }
}

impl IntoOperationId for Result<OperationId> {
    fn into_operation_id(self) -> Result<OperationId> {
        self
    }
}

macro_rules! texts {
    ($($text:ty),+) => {$(
        impl IntoOperationId for $text {
            fn into_operation_id(self) -> Result<OperationId> {
                OperationId::parse(&self)
            }
        }
    )+};
}

texts!(&str, &String, String);

impl TryFrom<String> for OperationId {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        Self::stored(&text)
    }
}

impl From<OperationId> for String {
    fn from(id: OperationId) -> Self {
        id.0.to_string()
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_are_empty_too_long_or_hold_control_characters_are_refused() {
        for bad in ["", "a\nb", "\u{0}", "tab\there", "del\u{7f}", &"x".repeat(256)] {
            assert_eq!(OperationId::parse(bad).unwrap_err().code(), OPERATION_ID_INVALID, "{bad:?}");
        }
        assert!(OperationId::parse(&"x".repeat(255)).is_ok());
        assert!(OperationId::stored(&"x".repeat(1024)).is_ok());
        assert!(OperationId::stored(&"x".repeat(1025)).is_err());
    }

    #[test]
    fn two_callers_with_one_key_have_two_ids_and_each_leads_back_to_the_key() {
        let id = |key: &str, mark: u8| OperationId::of_caller(key, [mark; 16]).unwrap();
        assert_eq!(id("K-1", 0).as_str(), "K-1@AAAAAAAAAAAAAAAAAAAAAA");
        assert_ne!(id("K-1", 0), id("K-1", 1));
        assert_ne!(id("K@", 0), id("K%40", 0));
        for key in ["K-1", "a@b", "50%", "%40", "%2540@"] {
            assert_eq!(id(key, 7).callers_key(), key);
        }
        assert!(id("K-1", 1) < id("K-2", 0));
    }

    #[test]
    fn a_derived_id_cannot_meet_another_one() {
        let id = OperationId::parse("A").unwrap();
        assert_eq!(id.derived("COMPENSATE").unwrap().as_str(), "A:COMPENSATE");
        assert_ne!(id.derived("B:C").unwrap(), OperationId::parse("A:B").unwrap().derived("C").unwrap());
    }
}
