//! How loud an error is in the log.

use std::time::Duration;

use crate::error::{Code, ErrorClass, Override};
use crate::ledger::named;

named! {
    /// How loud a log line is. Expected failures are never errors.
    Level {
        /// Of interest when somebody looks for it.
        Debug = "DEBUG",
        /// Expected.
        Info = "INFO",
        /// Worth a look when it comes often.
        Warn = "WARN",
        /// Someone must act.
        Error = "ERROR",
    }
}

impl Level {
    /// The level of a class.
    pub const fn of_class(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Duplicate => Self::Debug,
            ErrorClass::Validation | ErrorClass::NotFound | ErrorClass::OptimisticLock => Self::Info,
            ErrorClass::DomainRule | ErrorClass::Conflict | ErrorClass::Authorization | ErrorClass::Contention => {
                Self::Warn
            }
            ErrorClass::Dependency
            | ErrorClass::Contract
            | ErrorClass::Process
            | ErrorClass::Operational
            | ErrorClass::Bug => Self::Error,
        }
    }
}

impl Code {
    /// How loud it is in the log.
    pub fn log_level(self) -> Level {
        let instead = self.descriptor().overrides.iter().find_map(|one| match one {
            Override::Log(level, _) => Some(*level),
            Override::Verdict(..) | Override::Job(..) => None,
        });
        instead.unwrap_or(Level::of_class(self.descriptor().class))
    }

    /// How long a client waits before it sends the same request again: the first wait of the category of the same
    /// name, else a second.
    pub fn backoff(self) -> Duration {
        use crate::retry::{Category, Jitter, RetryTable};
        let category = Category::ALL.iter().find(|category| category.code() == self);
        let row = category.map(|category| RetryTable::default().row(*category));
        let first = row.and_then(|row| row.schedule).map(|schedule| schedule.wait(1, None, Jitter(0)));
        first.unwrap_or_default().max(Duration::from_secs(1))
    }

    /// Whether the same request may be sent again, given whether it carried a key that deduplicates it.
    pub const fn retryable(self, had_key: bool) -> bool {
        use crate::error::Retryability;
        match self.descriptor().retryability {
            Retryability::Safe | Retryability::AfterBackoff => true,
            Retryability::OnlyIfIdempotent => had_key,
            Retryability::Never | Retryability::OperatorDecides => false,
        }
    }
}
