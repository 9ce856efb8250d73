//! Services that already run somewhere: named by a variable, used as they are, never stopped.

use super::Service;
use super::address::Address;
use super::http;
use super::state::State;

/// One that the environment names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    /// As the variable has it, and as tests get it.
    pub(super) text: String,
    pub(super) address: Address,
}

/// What the environment says of a service: nothing, an address, or one that cannot be read.
pub(super) fn given(service: Service, state: &State) -> Result<Option<Given>, String> {
    match std::env::var(service.variable()) {
        Ok(text) if !text.trim().is_empty() && !is_ours(service, state, &text) => read(service, &text).map(Some),
        Ok(_) | Err(_) => Ok(None),
    }
}

/// In a shell that took in `services env`, the variable names the very service that we start and stop.
fn is_ours(service: Service, state: &State, text: &str) -> bool {
    let record = state.records.get(&service);
    let variables = record.map(|record| service.recipe().environment(&record.ports)).unwrap_or_default();
    variables.contains(&(service.variable(), text.to_owned()))
}

fn read(service: Service, text: &str) -> Result<Given, String> {
    let address = Address::parse(text, standard_port(service));
    let address = address.map_err(|why| format!("{} cannot be read: {why}", service.variable()))?;
    Ok(Given { text: text.to_owned(), address })
}

impl Given {
    /// An error where nobody listens there.
    pub(super) fn answers(&self, service: Service) -> Result<(), String> {
        http::accepts(&self.address).map_err(|why| {
            format!("{} is set, but nobody answers ({why}): start that one or unset it", service.variable())
        })
    }
}

const fn standard_port(service: Service) -> u16 {
    match service {
        Service::Postgres => 5432,
        Service::PgBouncer => 6432,
        Service::Redis => 6379,
        Service::Kafka => 9092,
        Service::RabbitMq => 5672,
        Service::Nats => 4222,
        Service::Zeebe => 26500,
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::{Record, Until};
    use super::*;

    #[test]
    fn a_variable_that_cannot_be_read_is_named() {
        let wrong = read(Service::Postgres, "postgres://127.0.0.1:port").unwrap_err();
        assert!(wrong.contains("ONEFOLD_TEST_POSTGRES"), "{wrong}");
    }

    #[test]
    fn the_address_of_our_own_service_is_not_that_of_another() {
        let record = Record { folder: "redis".into(), ports: vec![20_003], pid: None, until: Until::Down };
        let state = State { records: [(Service::Redis, record)].into() };
        assert!(is_ours(Service::Redis, &state, "redis://127.0.0.1:20003"));
        assert!(!is_ours(Service::Redis, &state, "redis://127.0.0.1:6379"));
        assert!(!is_ours(Service::Redis, &State::default(), "redis://127.0.0.1:20003"));
    }

    #[test]
    fn a_variable_without_a_port_means_the_usual_one() {
        assert_eq!(read(Service::PgBouncer, "postgres://127.0.0.1").unwrap().address, Address::local(6432));
    }
}
