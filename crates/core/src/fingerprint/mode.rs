//! What of a request is digested.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{DECLARATION_INVALID, Error, Result};

/// What of a request is digested. Stored with its version, so that old entries stay comparable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// The bytes as they came.
    #[default]
    Raw,
    /// The canonical JSON of RFC 8785.
    Canonical,
    /// The canonical JSON of the values at these JSON pointers.
    Fields(Arc<[String]>),
}

impl Mode {
    /// Fields a mode may choose.
    pub const FIELDS_MAX: usize = 32;

    /// Digests only the values at these JSON pointers (RFC 6901).
    pub fn fields<P: Into<String>>(pointers: impl IntoIterator<Item = P>) -> Result<Self> {
        let mut pointers: Vec<String> = pointers.into_iter().map(Into::into).collect();
        pointers.sort();
        pointers.dedup();
        let shaped = pointers.iter().all(|pointer| pointer.starts_with('/') && !pointer.contains([',', ' ']));
        if pointers.is_empty() || pointers.len() > Self::FIELDS_MAX || !shaped {
            return Err(Error::new(DECLARATION_INVALID, "fingerprint fields must be JSON pointers")
                .hint(format!("name 1 to {} fields such as \"/amount\" or \"/to/iban\"", Self::FIELDS_MAX)));
        }
        Ok(Self::Fields(pointers.into()))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raw => f.write_str("raw.1"),
            Self::Canonical => f.write_str("canonical.1"),
            Self::Fields(pointers) => write!(f, "fields.1:{}", pointers.join(",")),
        }
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "raw.1" => Ok(Self::Raw),
            "canonical.1" => Ok(Self::Canonical),
            other => match other.strip_prefix("fields.1:") {
                Some(pointers) => Self::fields(pointers.split(',')),
                None => {
                    Err(Error::new(DECLARATION_INVALID, format!("{other:?} is not a fingerprint mode of this version")))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_stored_with_its_version_and_read_back() {
        for mode in [Mode::Raw, Mode::Canonical, Mode::fields(["/b", "/a"]).unwrap()] {
            assert_eq!(mode.to_string().parse::<Mode>().unwrap(), mode);
        }
        assert!("raw.2".parse::<Mode>().is_err());
    }
}
