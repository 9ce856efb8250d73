//! What an incident is about, and what a person can do about it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, RESOLUTION_REFUSED, Result};
use crate::event::EventId;
use crate::operation::{KindName, OperationId, OperationKey, Tenant};
use crate::outbox::RelayName;

crate::ledger::named! {
    /// The sort of thing that an incident is about.
    SubjectSort {
        /// An operation of the ledger.
        Operation = "OPERATION",
        /// An event of the outbox that was not published.
        Event = "EVENT",
        /// Where a relay publishes to.
        Target = "TARGET",
        /// A relay that stopped.
        Relay = "RELAY",
        /// A consumer that stopped.
        Consumer = "CONSUMER",
        /// A message that was set aside.
        Message = "MESSAGE",
        /// A job of a queue.
        Job = "JOB",
        /// A system outside that operations call.
        Dependency = "DEPENDENCY",
        /// An engine that hands jobs out.
        Engine = "ENGINE",
    }
}

impl SubjectSort {
    /// The verbs that a person has for an incident about it.
    pub const fn verbs(self) -> &'static [&'static str] {
        match self {
            Self::Operation => &["resolve", "retry", "ask"],
            Self::Event
            | Self::Target
            | Self::Relay
            | Self::Consumer
            | Self::Message
            | Self::Job
            | Self::Dependency
            | Self::Engine => &[],
        }
    }

    /// Whether its incident closes by itself, once what it is about is well again.
    pub const fn closes_by_itself(self) -> bool {
        match self {
            Self::Target | Self::Dependency | Self::Engine => true,
            Self::Operation | Self::Event | Self::Relay | Self::Consumer | Self::Message | Self::Job => false,
        }
    }

    /// The word for it in a sentence.
    pub fn word(self) -> String {
        self.as_str().to_lowercase()
    }

    /// Refuses a verb that this sort of subject does not have.
    pub fn check_verb(self, verb: &str) -> Result<()> {
        if self.verbs().contains(&verb) {
            return Ok(());
        }
        let article = if matches!(self, Self::Operation | Self::Event | Self::Engine) { "an" } else { "a" };
        let refused = Error::new(
            RESOLUTION_REFUSED,
            format!("`{verb}` is not a verb for an incident about {article} {}", self.word()),
        );
        Err(match self.verbs() {
            [] if self.closes_by_itself() => {
                refused.hint(format!("it closes by itself once the {} answers again", self.word()))
            }
            [] => refused.hint("its runbook says what to do"),
            verbs => refused.hint(format!("use {}", verbs.join(", "))),
        })
    }
}

/// What an incident is about. One subject has at most one open incident.
///
/// In JSON an operation has its `operationId`, every other subject a `subjectId`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "SubjectText", into = "SubjectText")]
pub struct Subject {
    /// Its sort.
    pub sort: SubjectSort,
    /// The operation's kind, or the name of the relay, consumer, job type, dependency or engine.
    pub kind: KindName,
    /// Which one of that kind.
    pub id: Arc<str>,
}

impl Subject {
    /// An operation.
    pub fn operation(key: &OperationKey) -> Self {
        Self { sort: SubjectSort::Operation, kind: key.kind.clone(), id: Arc::from(key.id.as_str()) }
    }

    /// A dependency, by its name.
    pub fn dependency(name: KindName) -> Self {
        Self { sort: SubjectSort::Dependency, id: Arc::from(name.as_str()), kind: name }
    }

    /// An event that a relay set aside.
    pub fn event(relay: &RelayName, id: EventId) -> Self {
        Self { sort: SubjectSort::Event, kind: relay.into(), id: Arc::from(id.to_string()) }
    }

    /// The target of a relay.
    pub fn target(relay: &RelayName) -> Self {
        Self { sort: SubjectSort::Target, kind: relay.into(), id: Arc::from(relay.as_str()) }
    }

    /// A relay.
    pub fn relay(relay: &RelayName) -> Self {
        Self { sort: SubjectSort::Relay, kind: relay.into(), id: Arc::from(relay.as_str()) }
    }

    /// The operation's key, where it is about an operation.
    pub fn operation_key(&self, tenant: &Tenant) -> Option<OperationKey> {
        let id = OperationId::parse(&self.id).ok().filter(|_| self.sort == SubjectSort::Operation)?;
        Some(OperationKey::new(tenant.clone(), self.kind.clone(), id))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sort {
            SubjectSort::Target
            | SubjectSort::Relay
            | SubjectSort::Consumer
            | SubjectSort::Dependency
            | SubjectSort::Engine => write!(f, "{} {}", self.sort.word(), self.kind),
            SubjectSort::Operation | SubjectSort::Event | SubjectSort::Message | SubjectSort::Job => {
                write!(f, "{} {} ({})", self.sort.word(), self.id, self.kind)
            }
        }
    }
}

/// A subject as JSON writes it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubjectText {
    subject: SubjectSort,
    kind: KindName,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation_id: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_id: Option<Arc<str>>,
}

impl From<Subject> for SubjectText {
    fn from(Subject { sort, kind, id }: Subject) -> Self {
        let (operation_id, subject_id) = match sort {
            SubjectSort::Operation => (Some(id), None),
            SubjectSort::Event
            | SubjectSort::Target
            | SubjectSort::Relay
            | SubjectSort::Consumer
            | SubjectSort::Message
            | SubjectSort::Job
            | SubjectSort::Dependency
            | SubjectSort::Engine => (None, Some(id)),
        };
        Self { subject: sort, kind, operation_id, subject_id }
    }
}

impl TryFrom<SubjectText> for Subject {
    type Error = &'static str;

    fn try_from(text: SubjectText) -> std::result::Result<Self, Self::Error> {
        let id = text.operation_id.or(text.subject_id).ok_or("an incident names its subject")?;
        Ok(Self { sort: text.subject, kind: text.kind, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_of_another_subject_is_refused_with_what_exists() {
        for sort in SubjectSort::ALL {
            for verb in sort.verbs() {
                assert!(sort.check_verb(verb).is_ok(), "{sort} {verb}");
            }
            let error = sort.check_verb("skip").unwrap_err();
            assert_eq!(error.code(), RESOLUTION_REFUSED, "{sort}");
            assert!(error.detail().contains("skip") && error.detail().contains(&sort.word()), "{error}");
        }
        let error = SubjectSort::Operation.check_verb("release").unwrap_err();
        assert_eq!(error.next_step(), "use resolve, retry, ask");
        let error = SubjectSort::Dependency.check_verb("resolve").unwrap_err();
        assert_eq!(error.detail(), "`resolve` is not a verb for an incident about a dependency");
        assert_eq!(error.next_step(), "it closes by itself once the dependency answers again");
    }

    #[test]
    fn a_subject_reads_back_and_only_an_operation_has_an_operation_id() {
        for sort in SubjectSort::ALL {
            let subject = Subject { sort: *sort, kind: KindName::parse("k").unwrap(), id: Arc::from("7") };
            let json = serde_json::to_value(&subject).unwrap();
            let named = if *sort == SubjectSort::Operation { "operationId" } else { "subjectId" };
            assert_eq!(json, serde_json::json!({ "subject": sort.as_str(), "kind": "k", named: "7" }));
            assert_eq!(serde_json::from_value::<Subject>(json).unwrap(), subject);
        }
        assert!(serde_json::from_str::<Subject>(r#"{"subject":"JOB","kind":"k"}"#).is_err());
    }
}
