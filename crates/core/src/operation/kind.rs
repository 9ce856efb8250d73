//! What sort of operation it is, and for whom.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{DECLARATION_INVALID, Error, Result};

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $bytes_max:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(Arc<str>);

        impl $type {
            /// Bytes a name may have.
            pub const BYTES_MAX: usize = $bytes_max;

            /// Reads a name: ASCII letters, digits and `. _ - /`.
            pub fn parse(text: &str) -> Result<Self> {
                let shaped = text.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
                if text.is_empty() || text.len() > Self::BYTES_MAX || !shaped {
                    return Err(Error::new(
                        DECLARATION_INVALID,
                        format!("{:?} is not a {} name", text.chars().take(40).collect::<String>(), $what),
                    )
                    .hint(format!("use 1 to {} ASCII letters, digits and . _ - /", Self::BYTES_MAX)));
                }
                Ok(Self(Arc::from(text)))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $type {
            type Error = Error;
            fn try_from(text: String) -> Result<Self> {
                Self::parse(&text)
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0.to_string()
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// What sort of operation it is: job type, route name, consumer. Terms are declared per kind.
    KindName, "kind", 100
}

name! {
    /// For whom: operations of different tenants never meet.
    Tenant, "tenant", 64
}

impl Default for Tenant {
    fn default() -> Self {
        Self(Arc::from("default"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outside_the_alphabet_are_refused_with_a_hint() {
        for bad in ["", "two words", "ümlaut", "a:b", "line\n", &"k".repeat(101)] {
            let error = KindName::parse(bad).unwrap_err();
            assert!(error.to_string().contains("ASCII letters"), "{error}");
        }
        assert_eq!(KindName::parse("notice.issue-formal").unwrap().as_str(), "notice.issue-formal");
    }
}
