//! Exit codes that mean something: those of sysexits, where it has one.

use std::io::Write as _;

use onefold_core::Error;
use onefold_core::error::{
    COMMIT_UNKNOWN, CONFIGURATION_INVALID, DECLARATION_INVALID, EVENT_IN_FLIGHT, EVENT_TYPE_UNKNOWN, ErrorClass,
    OUTCOME_NOT_RECORDED, OUTPUT_NOT_WRITTEN, POLICY_NOT_ALLOWED,
};

/// How a command ends; the number is what a shell sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Refused by a rule or by the present state.
    Refused = 1,
    /// What was given is malformed, or contradicts what is recorded.
    BadData = 65,
    /// There is no such thing.
    NotFound = 66,
    /// Ledger or server cannot be reached.
    Unavailable = 69,
    /// A defect of this program.
    Defect = 70,
    /// What it printed could not be written.
    OutputLost = 74,
    /// Someone is at it, or it waits: try again later.
    TryLater = 75,
    /// The credential does not allow it.
    NotAllowed = 77,
    /// The configuration is wrong.
    BadConfiguration = 78,
    /// It is unknown whether it took hold: do not repeat it.
    Unknown = 79,
    /// It was attempted, and what came of it is not in the ledger yet.
    NotRecorded = 80,
}

impl Exit {
    /// What an error means to a shell.
    pub fn of(error: &Error) -> Self {
        if [CONFIGURATION_INVALID, DECLARATION_INVALID, POLICY_NOT_ALLOWED].contains(&error.code()) {
            return Self::BadConfiguration;
        }
        if error.code() == OUTCOME_NOT_RECORDED {
            return Self::NotRecorded;
        }
        if error.code() == OUTPUT_NOT_WRITTEN {
            return Self::OutputLost;
        }
        if error.code() == COMMIT_UNKNOWN {
            return Self::Unknown;
        }
        if error.code() == EVENT_IN_FLIGHT {
            return Self::TryLater;
        }
        if error.code() == EVENT_TYPE_UNKNOWN {
            return Self::NotFound;
        }
        match error.code().descriptor().class {
            ErrorClass::Validation | ErrorClass::Contract => Self::BadData,
            ErrorClass::NotFound => Self::NotFound,
            ErrorClass::DomainRule | ErrorClass::Conflict | ErrorClass::Duplicate | ErrorClass::OptimisticLock => {
                Self::Refused
            }
            ErrorClass::Contention => Self::TryLater,
            ErrorClass::Dependency | ErrorClass::Process | ErrorClass::Operational => Self::Unavailable,
            ErrorClass::Authorization => Self::NotAllowed,
            ErrorClass::Bug => Self::Defect,
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
    tell(&format!("error: {} ({})\n  next: {}\n", error.detail(), error.code(), error.next_step()));
}

/// Says something beside the output, on stderr.
pub(crate) fn inform(text: &str) {
    tell_line(&format!("({text})"));
}

/// Writes a line to stderr, if anyone still reads it.
pub(crate) fn tell_line(text: &str) {
    tell(&format!("{text}\n"));
}

/// Writes to stderr. Its reader may be gone, and there is nowhere else to say so.
fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
