//! Codes: a registered one, and the name of one as it is stored.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Descriptor;

/// A registered code. It can only be made with its descriptor, by [`codes!`](crate::codes).
#[derive(Clone, Copy)]
pub struct Code(&'static Descriptor);

impl Code {
    /// The code of this descriptor; called by [`codes!`](crate::codes).
    pub const fn of(descriptor: &'static Descriptor) -> Self {
        Self(descriptor)
    }

    /// What is known of it.
    pub const fn descriptor(self) -> &'static Descriptor {
        self.0
    }

    /// Its name, such as `OPERATION_CONFLICT`.
    pub const fn as_str(self) -> &'static str {
        self.0.code
    }

    /// Its name as it is stored beside an outcome.
    pub fn name(self) -> CodeName {
        CodeName(Arc::from(self.0.code))
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.0.code == other.0.code
    }
}

impl Eq for Code {}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.code)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.code)
    }
}

/// The name of a code: ours, a user's own, or one stored by a version that knew more codes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CodeName(Arc<str>);

impl CodeName {
    /// Bytes a name may have.
    pub const BYTES_MAX: usize = 64;

    /// Reads a name: capitals, digits and underscores, a capital first.
    pub fn parse(text: &str) -> Result<Self, String> {
        let shaped = text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if shaped && text.len() <= Self::BYTES_MAX {
            Ok(Self(Arc::from(text)))
        } else {
            Err(format!("an error code is capitals, digits and underscores, at most {} bytes", Self::BYTES_MAX))
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Code> for CodeName {
    fn from(code: Code) -> Self {
        code.name()
    }
}

impl TryFrom<String> for CodeName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<CodeName> for String {
    fn from(name: CodeName) -> Self {
        name.0.to_string()
    }
}

impl fmt::Display for CodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<Code> for CodeName {
    fn eq(&self, other: &Code) -> bool {
        &*self.0 == other.as_str()
    }
}

/// Declares error codes with their complete descriptors, and a slice `ALL` of them.
///
/// A code whose descriptor lacks a part does not compile.
///
/// ```
/// mod errors {
///     onefold_core::codes! {
///         /// Case is in an invalid state for this operation
///         CASE_INVALID_STATE: DomainRule, status 409, retry Never, owner Application, visible External;
///             summary "the case does not allow this operation now",
///             first_check "the case's lifecycle in the audit trail",
///             safe_action "none: the caller chooses another operation",
///             escalation "case team";
///     }
/// }
/// assert_eq!(errors::CASE_INVALID_STATE.descriptor().status, 409);
/// ```
///
/// ```compile_fail
/// mod errors {
///     onefold_core::codes! {
///         /// No guide
///         CASE_INVALID_STATE: DomainRule, status 409, retry Never, owner Application, visible External;
///     }
/// }
/// ```
#[macro_export]
macro_rules! codes {
    ($(
        #[doc = $title:literal]
        $code:ident: $class:ident, status $status:literal, retry $retry:ident, owner $owner:ident, visible $visible:ident
            $(, $projection:ident $instead:ident because $because:literal)*;
            summary $summary:literal, first_check $first_check:literal,
            safe_action $safe_action:literal, escalation $escalation:literal;
    )+) => {
        $(
            #[doc = $title]
            pub const $code: $crate::error::Code = $crate::error::Code::of(&$crate::error::Descriptor {
                code: stringify!($code),
                title: $title.trim_ascii(),
                class: $crate::error::ErrorClass::$class,
                status: $status,
                retryability: $crate::error::Retryability::$retry,
                owner: $crate::error::Owner::$owner,
                visibility: $crate::error::Visibility::$visible,
                overrides: &[$($crate::override_of!($projection $instead $because)),*],
                guide: $crate::error::Guide {
                    summary: $summary,
                    first_check: $first_check,
                    safe_action: $safe_action,
                    escalation: $escalation,
                },
            });
        )+
        /// Every code declared here, in order.
        pub const ALL: &[$crate::error::Code] = &[$($code),+];
    };
}

/// One override of a descriptor; called by [`codes!`](crate::codes).
#[doc(hidden)]
#[macro_export]
macro_rules! override_of {
    (verdict $instead:ident $because:literal) => {
        $crate::error::Override::Verdict($crate::error::Verdict::$instead, $because)
    };
    (job $instead:ident $because:literal) => {
        $crate::error::Override::Job($crate::error::JobAnswer::$instead, $because)
    };
    (log $instead:ident $because:literal) => {
        $crate::error::Override::Log($crate::error::Level::$instead, $because)
    };
}
