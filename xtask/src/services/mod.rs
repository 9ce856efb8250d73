//! Real services for the tests: PostgreSQL, PgBouncer, Redis, Kafka, RabbitMQ, NATS and Zeebe, private to this workspace.
//!
//! Layout: a file a service (`postgres`, `pgbouncer`, `redis`, `kafka`, `rabbitmq`, `nats`, `zeebe`), each a
//! [`recipe::Recipe`]; `obtain` gets what is missing (`apt`, `maven`, `java`), `up` and `down` start
//! and stop, `session` does both around the suites of `cargo xtask test`, `check` is one of them; `packages` are for suites
//! that build; `site` says where everything lies and `state` what is remembered between two commands.

mod account;
mod address;
mod apt;
mod check;
mod command;
mod debezium;
mod down;
mod given;
mod http;
mod java;
mod kafka;
mod maven;
mod nats;
mod obtain;
mod packages;
mod pgbouncer;
mod ports;
mod postgres;
mod process;
mod program;
mod progress;
mod rabbitmq;
mod recipe;
mod redis;
mod report;
mod session;
mod site;
mod state;
mod up;
mod zeebe;

pub(crate) use check::run as check;
pub(crate) use command::{Request, command, parse};
pub(crate) use debezium::obtain as debezium;
pub(crate) use packages::{Has, Package, install};
pub(crate) use session::Session;

use recipe::Recipe;

/// A service that a suite may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Service {
    Postgres,
    PgBouncer,
    Redis,
    Kafka,
    RabbitMq,
    Nats,
    Zeebe,
}

/// Whether what is missing may be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Install {
    /// What is missing is named, then installed.
    Missing,
    /// The system stays as it is; what is missing is named.
    Never,
}

impl Service {
    /// In the order of starting: what another one needs comes before it.
    pub(crate) const ALL: &[Self] =
        &[Self::Postgres, Self::PgBouncer, Self::Redis, Self::Kafka, Self::RabbitMq, Self::Nats, Self::Zeebe];

    /// Those that a test of the product uses; the others are started by name, until one does.
    pub(crate) const TESTED: &[Self] = &[Self::Postgres, Self::PgBouncer, Self::Kafka, Self::RabbitMq, Self::Nats];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::PgBouncer => "pgbouncer",
            Self::Redis => "redis",
            Self::Kafka => "kafka",
            Self::RabbitMq => "rabbitmq",
            Self::Nats => "nats",
            Self::Zeebe => "zeebe",
        }
    }

    /// The service with this name; an error lists the names there are.
    fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().copied().find(|service| service.name() == name);
        found.ok_or_else(|| format!("there is no service `{name}`; the services are {}", names(Self::ALL)))
    }

    /// What must run before this one is of use.
    const fn needs(self) -> &'static [Self] {
        match self {
            Self::Postgres | Self::Redis | Self::Kafka | Self::RabbitMq | Self::Nats | Self::Zeebe => &[],
            Self::PgBouncer => &[Self::Postgres],
        }
    }

    /// The variable that tells tests its address, and that names one which already runs.
    const fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "ONEFOLD_TEST_POSTGRES",
            Self::PgBouncer => "ONEFOLD_TEST_PGBOUNCER",
            Self::Redis => "ONEFOLD_TEST_REDIS",
            Self::Kafka => "ONEFOLD_TEST_KAFKA",
            Self::RabbitMq => "ONEFOLD_TEST_RABBITMQ",
            Self::Nats => "ONEFOLD_TEST_NATS",
            Self::Zeebe => "ONEFOLD_TEST_ZEEBE",
        }
    }

    const fn recipe(self) -> &'static dyn Recipe {
        match self {
            Self::Postgres => &postgres::Postgres,
            Self::PgBouncer => &pgbouncer::PgBouncer,
            Self::Redis => &redis::Redis,
            Self::Kafka => &kafka::Kafka,
            Self::RabbitMq => &rabbitmq::RabbitMq,
            Self::Nats => &nats::Nats,
            Self::Zeebe => &zeebe::Zeebe,
        }
    }
}

/// These services and what they need, in the order of starting.
fn with_needs(services: &[Service]) -> Vec<Service> {
    let wanted = |service: &Service| {
        services.contains(service) || services.iter().any(|chosen| chosen.needs().contains(service))
    };
    Service::ALL.iter().copied().filter(wanted).collect()
}

/// These services and those that are of no use without them, in the order of stopping.
fn with_dependents(services: &[Service]) -> Vec<Service> {
    let wanted = |service: &Service| {
        services.contains(service) || service.needs().iter().any(|needed| services.contains(needed))
    };
    Service::ALL.iter().rev().copied().filter(wanted).collect()
}

fn names(services: &[Service]) -> String {
    services.iter().map(|service| service.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_needs_comes_before_it_and_needs_nothing_more() {
        for (at, service) in Service::ALL.iter().enumerate() {
            for needed in service.needs() {
                assert!(Service::ALL[..at].contains(needed), "{service:?}");
                assert!(needed.needs().is_empty(), "{needed:?}: with_needs looks one step far");
            }
        }
    }

    #[test]
    fn suites_start_the_services_that_a_test_of_the_product_uses_and_no_others() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut sources = String::new();
        for folder in ["crates", "campaign"] {
            read_rust(&root.join(folder), &mut sources);
        }
        for service in Service::ALL {
            let used = sources.contains(service.variable());
            assert_eq!(Service::TESTED.contains(service), used, "{}: a test uses it: {used}", service.name());
        }
    }

    fn read_rust(folder: &std::path::Path, sources: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                read_rust(&path, sources);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                sources.push_str(&std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn pgbouncer_is_started_after_postgres_and_stopped_before_it() {
        assert_eq!(with_needs(&[Service::PgBouncer]), [Service::Postgres, Service::PgBouncer]);
        assert_eq!(with_needs(&[Service::Postgres]), [Service::Postgres]);
        assert_eq!(with_dependents(&[Service::Postgres]), [Service::PgBouncer, Service::Postgres]);
        assert_eq!(with_dependents(&[Service::PgBouncer]), [Service::PgBouncer]);
    }

    #[test]
    fn every_service_is_found_by_its_name_and_a_wrong_name_lists_them() {
        for service in Service::ALL {
            assert_eq!(Service::named(service.name()), Ok(*service));
        }
        let wrong = Service::named("mysql").unwrap_err();
        assert!(wrong.contains("`mysql`") && wrong.contains("pgbouncer"), "{wrong}");
    }
}
