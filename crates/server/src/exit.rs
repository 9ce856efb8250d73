//! Exit codes that mean something: those of sysexits, where it has one.

use onefold_core::Error;
use onefold_core::error::{CONFIGURATION_INVALID, Class, DECLARATION_INVALID, POLICY_NOT_ALLOWED};

/// How a command ends; the number is what a shell sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Refused by a rule or by the present state.
    Refused = 1,
    /// What was given is malformed, or contradicts what stands.
    BadData = 65,
    /// There is no such thing.
    NotFound = 66,
    /// Ledger or server cannot be reached.
    Unavailable = 69,
    /// A defect of this program.
    Defect = 70,
    /// Someone is at it, or it waits: try again later.
    TryLater = 75,
    /// The credential does not allow it.
    NotAllowed = 77,
    /// The configuration is wrong.
    BadConfiguration = 78,
    /// Nobody knows whether it took hold: do not repeat it.
    Unknown = 79,
}

impl Exit {
    /// What an error means to a shell.
    pub fn of(error: &Error) -> Self {
        if [CONFIGURATION_INVALID, DECLARATION_INVALID, POLICY_NOT_ALLOWED].contains(&error.code()) {
            return Self::BadConfiguration;
        }
        match error.code().descriptor().class {
            Class::Validation | Class::Contract => Self::BadData,
            Class::NotFound => Self::NotFound,
            Class::DomainRule | Class::Conflict | Class::Duplicate | Class::OptimisticLock => Self::Refused,
            Class::Contention => Self::TryLater,
            Class::Dependency | Class::Process | Class::Operational => Self::Unavailable,
            Class::Authorization => Self::NotAllowed,
            Class::Bug => Self::Defect,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Says on stderr what is wrong and what to do next.
pub(crate) fn complain(error: &Error) {
    eprintln!("error: {} ({})", error.detail(), error.code());
    eprintln!("  next: {}", error.next_step());
}
