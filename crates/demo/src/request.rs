//! What is asked for: numbered requests, each of one of three kinds; and the three sides they go through.

use std::fmt;

/// One request; every side gets the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Request(u32);

impl Request {
    /// Every request of a run.
    pub(super) fn all(requests: u32) -> impl Iterator<Item = Self> {
        (0..requests).map(Self)
    }

    pub(super) const fn number(self) -> u32 {
        self.0
    }

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Reads an id such as `REQ-000017`.
    pub(super) fn parse(id: &str) -> Option<Self> {
        id.strip_prefix("REQ-")?.parse().ok().map(Self)
    }

    pub(super) const fn kind(self) -> Kind {
        Kind::ALL[(self.0 % 3) as usize]
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "REQ-{:06}", self.0)
    }
}

/// What the provider offers for a request, and so which policy its kind has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// The provider acts once for a key.
    SameKey,
    /// The provider can be asked whether it acted.
    Ask,
    /// The provider offers nothing.
    Escalate,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::SameKey, Self::Ask, Self::Escalate];

    /// Its name in the ledger.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SameKey => "demo.same-key",
            Self::Ask => "demo.ask",
            Self::Escalate => "demo.escalate",
        }
    }
}

/// Who carries the requests out.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Side {
    /// Calls, and tries again when it hears nothing.
    Naive,
    /// The same with a table of processed operations: looks before it calls, writes afterwards.
    Table,
    /// Performs through the ledger.
    Onefold,
}

impl Side {
    pub(super) const ALL: [Self; 3] = [Self::Naive, Self::Table, Self::Onefold];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Table => "table",
            Self::Onefold => "onefold",
        }
    }

    pub(super) const fn index(self) -> usize {
        self as usize
    }

    /// The side with this name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|side| side.name() == name)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back_as_the_request_it_names() {
        for request in Request::all(1_000) {
            assert_eq!(Request::parse(&request.to_string()), Some(request));
        }
        for other in ["", "REQ-", "REQ-x", "17", "req-000017"] {
            assert_eq!(Request::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_side_is_read_back_from_its_name() {
        assert!(Side::ALL.into_iter().all(|side| Side::parse(side.name()) == Some(side)));
        assert_eq!(Side::parse("other"), None);
    }
}
