//! What a worker says of a delivery, as a line between two processes.

use std::fmt;
use std::time::Duration;

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// It is done.
    Done,
    /// The provider said no, for good.
    Rejected,
    /// The worker gives up.
    Failed,
    /// Unknown; a person is asked.
    Unknown,
    /// Not now: deliver it again after this long.
    Later(Duration),
}

impl Word {
    /// Reads a word, such as `later 50`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "done" => Some(Self::Done),
            "rejected" => Some(Self::Rejected),
            "failed" => Some(Self::Failed),
            "unknown" => Some(Self::Unknown),
            _ => Some(Self::Later(Duration::from_millis(text.strip_prefix("later ")?.parse().ok()?))),
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Rejected => f.write_str("rejected"),
            Self::Failed => f.write_str("failed"),
            Self::Unknown => f.write_str("unknown"),
            Self::Later(wait) => write!(f, "later {}", wait.as_millis()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_back_as_it_was_said() {
        let words = [Word::Done, Word::Rejected, Word::Failed, Word::Unknown, Word::Later(Duration::from_millis(70))];
        assert!(words.into_iter().all(|word| Word::parse(&word.to_string()) == Some(word)));
        assert_eq!(Word::parse("perhaps"), None);
    }
}
