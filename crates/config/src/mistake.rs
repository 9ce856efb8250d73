//! A mistake in a declaration: which key, and which rule it breaks.

use std::borrow::Cow;

use onefold_core::Error;
use onefold_core::error::DECLARATION_INVALID;

/// A mistake in a declaration.
#[derive(Debug)]
pub struct Mistake {
    at: MistakeAt,
    error: Error,
}

/// The position of a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MistakeAt {
    /// At the name of what is declared.
    Name,
    /// At the value of this key, such as `lease`, `breaker.failures` or `stored_headers.0`.
    Value(Cow<'static, str>),
}

impl Mistake {
    /// What is declared breaks this rule as a whole.
    pub fn name(error: Error) -> Self {
        Self { at: MistakeAt::Name, error }
    }

    /// The value of this key breaks this rule. Keys of tables in it and places in lists follow after dots.
    pub fn value(key: impl Into<Cow<'static, str>>, error: Error) -> Self {
        Self { at: MistakeAt::Value(key.into()), error }
    }

    /// Something that has to be said is missing.
    pub(crate) fn missing(what: &str, hint: &str) -> Self {
        Self::name(Error::new(DECLARATION_INVALID, what).hint(hint))
    }

    /// The value of this key is wrong, and what to write instead.
    pub(crate) fn wrong(key: impl Into<Cow<'static, str>>, what: impl Into<String>, hint: &str) -> Self {
        Self::value(key, Error::new(DECLARATION_INVALID, what.into()).hint(hint))
    }

    /// The same mistake in a table at this key.
    pub(crate) fn within(self, key: &str) -> Self {
        let at = match self.at {
            MistakeAt::Name => Cow::Owned(key.to_owned()),
            MistakeAt::Value(inner) => Cow::Owned(format!("{key}.{inner}")),
        };
        Self { at: MistakeAt::Value(at), error: self.error }
    }

    /// As it is told to those who wrote no file: what it is about, and the key.
    pub fn of(self, who: &str) -> Error {
        let key = match &self.at {
            MistakeAt::Name => String::new(),
            MistakeAt::Value(key) => format!(" {key}:"),
        };
        let what = format!("{who}:{key} {}", self.error.detail());
        Error::new(self.error.code(), what).hint(self.error.next_step())
    }

    /// Its position.
    #[cfg_attr(not(feature = "toml"), expect(dead_code, reason = "only a file has places"))]
    pub(crate) fn at(&self) -> &MistakeAt {
        &self.at
    }

    /// The rule that is broken.
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl From<Mistake> for Error {
    /// The rule that is broken, for those who wrote no file.
    fn from(mistake: Mistake) -> Self {
        mistake.error
    }
}
