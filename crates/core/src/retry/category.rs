//! What a failed call means for retry and incident.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{self, Code};

macro_rules! categories {
    ($($name:ident => $code:ident,)+) => {
        /// What a failed call means for retry and incident. Closed; each is a registry code too.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
        #[expect(missing_docs, reason = "each is documented as a registry code")]
        pub enum Category { $($name,)+ }

        impl Category {
            /// Every category.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The registry code of the same name.
            pub const fn code(self) -> Code {
                match self { $(Self::$name => error::$code,)+ }
            }
        }
    };
}

categories! {
    DownstreamUnavailable => DOWNSTREAM_UNAVAILABLE,
    DownstreamTimeout => DOWNSTREAM_TIMEOUT,
    RateLimited => RATE_LIMITED,
    Maintenance => MAINTENANCE,
    InvalidWorkerContract => INVALID_WORKER_CONTRACT,
    Permission => PERMISSION,
    Contention => CONTENTION,
    StoreUnavailable => STORE_UNAVAILABLE,
    AttemptsExhausted => ATTEMPTS_EXHAUSTED,
    HolderLost => HOLDER_LOST,
    CommandKilled => COMMAND_KILLED,
    DuplicateSuspected => DUPLICATE_SUSPECTED,
    Unexpected => UNEXPECTED,
}

impl Category {
    /// The name in JSON and store, such as `RATE_LIMITED`.
    pub const fn as_str(self) -> &'static str {
        self.code().as_str()
    }

    /// The category with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|category| category.as_str() == text)
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_category_has_one_name_in_code_json_and_store() {
        for category in Category::ALL {
            assert_eq!(Category::parse(category.as_str()), Some(*category));
            assert_eq!(serde_json::to_value(category).unwrap(), category.as_str());
        }
    }
}
