//! `[[relay]]`: a name, the events that it wants and one target.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onefold_core::outbox::{
    Begin, DestinationTemplate, EventPattern, EventPatterns, OwnColumns, OwnTable, RelayName, RelayRetry, RelaySpec,
};
use onefold_core::retry::Schedule;
use onefold_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::broker::BrokerSort;
use crate::http::WebAddress;
use crate::mistake::Mistake;
use crate::setting::declaration;
use crate::values::{durations, required_duration};

declaration! {
    /// A relay: what it publishes, and where.
    [serde(default)]
    pub struct RelayDeclaration {
        /// Its name. It labels metrics and is the key of its place in the outbox: a new name is a new relay.
        ["text", "required"]
        pub name: String,
        /// The events that it wants: types, `prefix.*` or `*`.
        ["list of patterns", "required"]
        pub events: Vec<String>,
        /// Where they go: `{ webhook = "https://…", secret_file = … }`, or, for a `[broker.NAME]`, `{ broker = NAME, topic = … }` with Kafka, `{ broker = NAME, exchange = …, routing_key = … }` with RabbitMQ and `{ broker = NAME, subject = … }` with NATS.
        ["table", "required"]
        pub to: TargetDeclaration,
        /// A table of one's own whose rows are published instead of what was staged, such as `"app.outbox"`; PostgreSQL only, and in no order that could be promised. Names are taken letter by letter.
        ["text", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub table: Option<String>,
        /// With `table`: what its columns are called, where that is not `id`, `aggregate_type`, `aggregate_id`, `type`, `payload`, `created_at`, `published_at`, `next_attempt_at` and `attempts`. `tenant`, `schema_version`, `content_type`, `headers`, `correlation_id` and `error` are read or written where they are named.
        ["`{ id = …, type = …, … }`", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub columns: Option<OwnColumns>,
        /// A `[dependency.NAME]` that the target is: its breaker, bulkhead and rate hold for what is sent, too. An event is a call, with Kafka a page.
        ["name", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub depends_on: Option<String>,
        /// Where a relay that is new begins: `"now"`, `"oldest"` for the oldest event that is kept, or a time such as `"2026-11-18T08:00:00Z"`. Read once.
        ["text", "\"now\""]
        pub begin: String = "now".to_owned(),
        /// Waits between the attempts at an event that its target refuses; the last one repeats.
        ["list of durations", "[\"1s\", \"5s\", \"30s\"]"]
        #[serde(with = "durations")]
        pub schedule: Vec<Duration> = [1, 5, 30].map(Duration::from_secs).to_vec(),
        /// Attempts at an event that its target refuses, before a person decides. A target that is away uses none.
        ["number", "5"]
        pub attempts_max: u32 = 5,
        /// How long a process keeps its part of the relay without a sign of life.
        ["duration", "\"30s\""]
        #[serde(with = "required_duration")]
        pub lease_for: Duration = Duration::from_secs(30),
        /// How long a target may take to acknowledge a page; shorter than `lease_for`.
        ["duration", "\"15s\""]
        #[serde(with = "required_duration")]
        pub delivery_within: Duration = Duration::from_secs(15),
        /// Events of one page: as many may come twice after a crash.
        ["number", "1000"]
        pub page_max: usize = 1_000,
        /// Aggregates that a webhook, RabbitMQ or NATS is sent events of at once.
        ["number", "32"]
        pub in_flight_max: usize = 32,
    }
}

/// Where a relay publishes to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TargetDeclaration {
    /// An address that takes events by POST.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// Holds the secret that signs them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_file: Option<PathBuf>,
    /// Private networks that the webhook's name may lead to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// A `[broker.NAME]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker: Option<String>,
    /// The topic there; `{event_type}`, `{aggregate_type}`, `{schema_version}` and `{tenant}` are filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The exchange there, filled in likewise; an empty one is the default exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<String>,
    /// The routing key at the exchange, filled in likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing_key: Option<String>,
    /// The subject there, filled in likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// A relay that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedRelay {
    /// What it wants, where it begins, its times.
    pub spec: RelaySpec,
    /// Aggregates that are sent events of at once.
    pub in_flight_max: usize,
    /// The table that it publishes rows of, where that is not the outbox.
    pub table: Option<OwnTable>,
    /// The dependency that its target is.
    pub depends_on: Option<String>,
    /// Where it publishes to.
    pub target: CheckedTarget,
}

/// A target that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckedTarget {
    /// An address that takes events by POST.
    Webhook {
        /// The address.
        address: String,
        /// Holds the secret that signs them.
        secret_file: PathBuf,
        /// Private networks that its name may lead to.
        allow: Vec<String>,
    },
    /// A topic of a broker.
    Topic {
        /// The broker's name.
        broker: String,
        /// The topic of each event.
        topic: DestinationTemplate,
    },
    /// An exchange of a RabbitMQ.
    Exchange {
        /// The broker's name.
        broker: String,
        /// The exchange of each event; none is the default exchange.
        exchange: Option<DestinationTemplate>,
        /// The routing key of each event.
        routing_key: DestinationTemplate,
    },
    /// A subject of a NATS cluster.
    Subject {
        /// The broker's name.
        broker: String,
        /// The subject of each event.
        subject: DestinationTemplate,
    },
}

impl CheckedTarget {
    /// The `[broker.NAME]` that it needs, and which broker that must be.
    pub fn broker(&self) -> Option<(&str, BrokerSort)> {
        match self {
            Self::Webhook { .. } => None,
            Self::Topic { broker, .. } => Some((broker, BrokerSort::Kafka)),
            Self::Exchange { broker, .. } => Some((broker, BrokerSort::RabbitMq)),
            Self::Subject { broker, .. } => Some((broker, BrokerSort::Nats)),
        }
    }

    /// For people, in the words that the publisher itself uses.
    fn shown(&self) -> String {
        match self {
            Self::Webhook { address, .. } => {
                let (scheme, rest) = address.split_once("://").unwrap_or(("https", address));
                format!("{scheme}://{}", rest.split(['/', '?', '#']).next().unwrap_or_default())
            }
            Self::Topic { topic, .. } => format!("kafka {topic}"),
            Self::Exchange { exchange: Some(exchange), routing_key, .. } => {
                format!("rabbitmq {exchange} {routing_key}")
            }
            Self::Exchange { exchange: None, routing_key, .. } => format!("rabbitmq {routing_key}"),
            Self::Subject { subject, .. } => format!("nats {subject}"),
        }
    }
}

impl RelayDeclaration {
    /// The relay that it declares.
    pub fn check(&self) -> Result<CheckedRelay, Mistake> {
        let name = RelayName::parse(&self.name).map_err(|error| Mistake::value("name", error))?;
        let mut patterns = Vec::new();
        for (at, pattern) in self.events.iter().enumerate() {
            let read = EventPattern::parse(pattern).map_err(|error| Mistake::value(format!("events.{at}"), error));
            patterns.push(read?);
        }
        let events = EventPatterns::new(patterns).map_err(Mistake::name)?;
        let mut spec = RelaySpec {
            begin: begin(&self.begin)?,
            retry: RelayRetry {
                attempts_max: self.attempts_max,
                schedule: Schedule::Steps(Arc::from(self.schedule.as_slice())),
            },
            lease_for: self.lease_for,
            delivery_within: self.delivery_within,
            page_max: self.page_max,
            ..RelaySpec::new(name, events, String::new())
        };
        spec.check().map_err(Mistake::name)?;
        self.counts()?;
        let target = self.to.check().map_err(|mistake| mistake.within("to"))?;
        spec.target = target.shown();
        let table = self.own_table()?;
        let depends_on = self.depends_on.clone();
        Ok(CheckedRelay { spec, in_flight_max: self.in_flight_max, table, depends_on, target })
    }

    fn own_table(&self) -> Result<Option<OwnTable>, Mistake> {
        match (&self.table, &self.columns) {
            (Some(table), columns) => {
                let columns = columns.clone().unwrap_or_default();
                OwnTable::parse(table, columns).map(Some).map_err(|error| Mistake::value("table", error))
            }
            (None, None) => Ok(None),
            (None, Some(_)) => {
                Err(Mistake::wrong("columns", "they are columns of no table", "write table = \"app.outbox\" too"))
            }
        }
    }

    fn counts(&self) -> Result<(), Mistake> {
        let counts = [
            ("attempts_max", usize::try_from(self.attempts_max).unwrap_or(usize::MAX), 100),
            ("page_max", self.page_max, 10_000),
            ("in_flight_max", self.in_flight_max, 10_000),
        ];
        for (key, count, most) in counts {
            if !(1..=most).contains(&count) {
                let hint = format!("give a number from 1 to {most}");
                return Err(Mistake::wrong(key, format!("{count} is out of range"), &hint));
            }
        }
        Ok(())
    }

    /// The same with its relative paths beginning in this folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        if let Some(file) = &mut self.to.secret_file {
            *file = folder.join(&*file);
        }
        self
    }
}

fn begin(text: &str) -> Result<Begin, Mistake> {
    match text {
        "now" => Ok(Begin::Now),
        "oldest" => Ok(Begin::Oldest),
        _ => Timestamp::parse(text).map(Begin::At).ok_or_else(|| {
            let what = format!("{text:?} is not a beginning");
            Mistake::wrong("begin", what, "write \"now\", \"oldest\" or a time such as \"2026-11-18T08:00:00Z\"")
        }),
    }
}

impl TargetDeclaration {
    fn check(&self) -> Result<CheckedTarget, Mistake> {
        match (&self.webhook, &self.broker) {
            (Some(address), None) if !self.has_place() => self.webhook(address),
            (None, Some(broker)) if self.secret_file.is_none() && self.allow.is_empty() => self.place(broker),
            (None, None) => Err(Mistake::missing(
                "it has no target",
                "write to = { webhook = \"https://HOST/PATH\", secret_file = \"FILE\" } or to = { broker = \"NAME\", topic = \"TOPIC\" }",
            )),
            (Some(_) | None, Some(_) | None) => Err(Mistake::missing(
                "it mixes the keys of two targets",
                "a webhook has secret_file and allow, a broker has topic, exchange with routing_key, or subject; two targets are two relays",
            )),
        }
    }

    fn webhook(&self, address: &str) -> Result<CheckedTarget, Mistake> {
        let read = WebAddress::parse(address);
        if !read.is_some_and(|read| read.encrypted || read.is_loopback()) {
            // Without its text: it may hold a password.
            return Err(Mistake::wrong(
                "webhook",
                "events may not be sent to this address",
                "write \"https://HOST/PATH\" without a user, or \"http://127.0.0.1:PORT/PATH\" for a receiver on this machine",
            ));
        }
        let Some(secret_file) = self.secret_file.clone() else {
            return Err(Mistake::missing(
                "a webhook has no secret to sign events with",
                "write secret_file = \"FILE\", a file with the secret that the receiver knows too",
            ));
        };
        Ok(CheckedTarget::Webhook { address: address.to_owned(), secret_file, allow: self.allow.clone() })
    }

    fn has_place(&self) -> bool {
        [&self.topic, &self.exchange, &self.routing_key, &self.subject].into_iter().any(Option::is_some)
    }

    fn place(&self, broker: &str) -> Result<CheckedTarget, Mistake> {
        let template = |key: &'static str, text: &str| {
            DestinationTemplate::parse(text).map_err(|error| Mistake::value(key, error))
        };
        let broker = broker.to_owned();
        match (&self.topic, &self.exchange, &self.routing_key, &self.subject) {
            (Some(topic), None, None, None) => Ok(CheckedTarget::Topic { broker, topic: template("topic", topic)? }),
            (None, Some(exchange), Some(key), None) => {
                let exchange = if exchange.is_empty() { None } else { Some(template("exchange", exchange)?) };
                Ok(CheckedTarget::Exchange { broker, exchange, routing_key: template("routing_key", key)? })
            }
            (None, None, None, Some(subject)) => {
                Ok(CheckedTarget::Subject { broker, subject: template("subject", subject)? })
            }
            (None, Some(_), None, None) | (None, None, Some(_), None) => Err(Mistake::missing(
                "an exchange and a routing key come together",
                "write exchange = \"case.events\", routing_key = \"{event_type}\"",
            )),
            (None, None, None, None) => Err(Mistake::missing(
                "it names no topic, exchange or subject",
                "write topic = \"case.events.v1\"; with RabbitMQ exchange and routing_key, with NATS subject",
            )),
            _ => Err(Mistake::missing(
                "it names places of two brokers",
                "write topic for Kafka, exchange and routing_key for RabbitMQ, or subject for NATS",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEBHOOK: &str = "name = \"partners\"\nevents = [\"case.*\"]\nto = { webhook = \"https://p.example/h\", secret_file = \"p.key\" }\n";

    fn checked(text: &str) -> Result<CheckedRelay, String> {
        let read: RelayDeclaration = toml::from_str(text).map_err(|error| error.to_string())?;
        read.check().map_err(|mistake| format!("{}", mistake.of("relay")))
    }

    #[test]
    fn the_defaults_that_the_guide_shows_are_those_that_hold() {
        crate::setting::tests::shown_defaults_hold::<RelayDeclaration>(RelayDeclaration::SETTINGS);
        crate::setting::tests::shown_defaults_hold::<crate::BrokerDeclaration>(crate::BrokerDeclaration::SETTINGS);
    }

    #[test]
    fn the_defaults_are_those_of_the_relay_itself() {
        let relay = checked(WEBHOOK).unwrap();
        let name = RelayName::parse("partners").unwrap();
        assert_eq!(relay.spec, RelaySpec::new(name, relay.spec.events.clone(), relay.spec.target.clone()));
    }

    #[test]
    fn a_relay_has_one_target_and_what_belongs_to_it() {
        assert!(matches!(checked(WEBHOOK).unwrap().target, CheckedTarget::Webhook { .. }));
        let topic = "name = \"cases\"\nevents = [\"*\"]\nto = { broker = \"main\", topic = \"{tenant}.cases\" }\n";
        assert!(matches!(checked(topic).unwrap().target, CheckedTarget::Topic { .. }));
        assert_eq!(checked(WEBHOOK).unwrap().spec.target, "https://p.example");
        assert_eq!(checked(topic).unwrap().spec.target, "kafka {tenant}.cases");
        for (place, sort, shown) in [
            (
                "exchange = \"cases\", routing_key = \"{event_type}\"",
                BrokerSort::RabbitMq,
                "rabbitmq cases {event_type}",
            ),
            ("exchange = \"\", routing_key = \"cases\"", BrokerSort::RabbitMq, "rabbitmq cases"),
            ("subject = \"cases.{event_type}\"", BrokerSort::Nats, "nats cases.{event_type}"),
        ] {
            let text = format!("name = \"cases\"\nevents = [\"*\"]\nto = {{ broker = \"main\", {place} }}\n");
            let checked = checked(&text).unwrap();
            assert_eq!(checked.target.broker(), Some(("main", sort)), "{place}");
            assert_eq!(checked.spec.target, shown, "{place}");
        }
        let wrong = [
            ("name = \"a b\"\nevents = [\"*\"]\n", "name"),
            ("name = \"a\"\nevents = []\n", "no event types"),
            ("name = \"a\"\nevents = [\"case.submitted\", \"case*\"]\n", "events.1"),
            ("name = \"a\"\nevents = [\"*\"]\n", "no target"),
            (
                "name = \"a\"\nevents = [\"*\"]\nto = { webhook = \"http://p.example/h\", secret_file = \"k\" }\n",
                "to.webhook",
            ),
            ("name = \"a\"\nevents = [\"*\"]\nto = { webhook = \"https://p.example/h\" }\n", "secret"),
            ("name = \"a\"\nevents = [\"*\"]\nto = { broker = \"main\" }\n", "no topic"),
            ("name = \"a\"\nevents = [\"*\"]\nto = { broker = \"main\", topic = \"{aggregate_id}\" }\n", "to.topic"),
            ("name = \"a\"\nevents = [\"*\"]\nto = { broker = \"main\", subject = \"c.{id}\" }\n", "to.subject"),
            ("name = \"a\"\nevents = [\"*\"]\nto = { broker = \"main\", exchange = \"e\" }\n", "come together"),
            (
                "name = \"a\"\nevents = [\"*\"]\nto = { broker = \"main\", topic = \"t\", subject = \"s\" }\n",
                "two brokers",
            ),
            (
                "name = \"a\"\nevents = [\"*\"]\nto = { broker = \"main\", topic = \"t\", webhook = \"https://p/\" }\n",
                "two targets",
            ),
        ];
        for (text, says) in wrong {
            let error = checked(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        for (line, says) in [
            ("begin = \"yesterday\"", "begin"),
            ("delivery_within = \"30s\"", "delivery_within"),
            ("page_max = 0", "page"),
            ("attempts_max = 0", "attempts_max"),
            ("table = \"a.b.c\"", "table"),
            ("columns = { id = \"Id\" }", "columns"),
        ] {
            let error = checked(&format!("{WEBHOOK}{line}\n")).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
