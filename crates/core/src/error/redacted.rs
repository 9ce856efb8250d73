//! A value that cannot be printed by accident.

use std::fmt;

/// Holds a secret or personal value: it is only shown when it is asked for by name.
///
/// It has neither `Serialize` nor a `Display` that tells anything.
///
/// ```
/// use onefold_core::error::Redacted;
/// let token = Redacted::new("hush");
/// assert_eq!(format!("{token} {token:?}"), "(redacted) (redacted)");
/// assert_eq!(token.reveal(), &"hush");
/// ```
///
/// ```compile_fail
/// let token = onefold_core::error::Redacted::new("hush");
/// serde_json::to_string(&token);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Redacted<T>(T);

impl<T> Redacted<T> {
    /// Hides a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, on purpose.
    pub const fn reveal(&self) -> &T {
        &self.0
    }

    /// The value itself, on purpose.
    pub fn into_revealed(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Redacted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(redacted)")
    }
}

impl<T> fmt::Display for Redacted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(redacted)")
    }
}
