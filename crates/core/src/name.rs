//! Names that label things: parsed once, compared and shown often.

/// A name of ASCII letters, digits and some signs, up to a number of bytes.
macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $bytes_max:literal, $signs:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(std::sync::Arc<str>);

        impl $type {
            /// Bytes a name may have.
            pub const BYTES_MAX: usize = $bytes_max;

            #[doc = concat!("Reads a name: ASCII letters, digits and `", $signs, "`.")]
            pub fn parse(text: &str) -> $crate::error::Result<Self> {
                let shaped = text.chars().all(|c| c.is_ascii_alphanumeric() || $signs.contains(c));
                if text.is_empty() || text.len() > Self::BYTES_MAX || !shaped {
                    return Err($crate::name::refused(text, $what, $signs, Self::BYTES_MAX));
                }
                Ok(Self(std::sync::Arc::from(text)))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $type {
            type Error = $crate::error::Error;
            fn try_from(text: String) -> $crate::error::Result<Self> {
                Self::parse(&text)
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0.to_string()
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

pub(crate) use name;

use crate::error::{DECLARATION_INVALID, Error};

/// What is said about text that is not such a name.
pub(crate) fn refused(text: &str, what: &str, signs: &str, bytes_max: usize) -> Error {
    let shown: String = text.chars().take(40).collect();
    let signs: Vec<String> = signs.chars().map(String::from).collect();
    Error::new(DECLARATION_INVALID, format!("{shown:?} is not a {what} name"))
        .hint(format!("use 1 to {bytes_max} ASCII letters, digits and {}", signs.join(" ")))
}
