//! Services that already run somewhere: named by a variable, used as they are, never stopped.

use super::Service;
use super::address::Address;
use super::http;

/// One that the environment names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    /// As the variable has it, and as tests get it.
    pub(super) text: String,
    pub(super) address: Address,
}

/// What the environment says of a service: nothing, an address, or one that cannot be read.
pub(super) fn given(service: Service) -> Result<Option<Given>, String> {
    match std::env::var(service.variable()) {
        Ok(text) if !text.trim().is_empty() => read(service, &text).map(Some),
        Ok(_) | Err(_) => Ok(None),
    }
}

fn read(service: Service, text: &str) -> Result<Given, String> {
    let address = Address::parse(text, standard_port(service));
    let address = address.map_err(|why| format!("{} cannot be read: {why}", service.variable()))?;
    Ok(Given { text: text.to_owned(), address })
}

impl Given {
    /// An error where nobody listens there.
    pub(super) fn answers(&self, service: Service) -> Result<(), String> {
        http::accepts(&self.address).map_err(|why| format!("{} is set, but nobody answers: {why}", service.variable()))
    }
}

const fn standard_port(service: Service) -> u16 {
    match service {
        Service::Postgres => 5432,
        Service::PgBouncer => 6432,
        Service::Redis => 6379,
        Service::Kafka => 9092,
        Service::Zeebe => 26500,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_cannot_be_read_is_named() {
        let wrong = read(Service::Postgres, "postgres://127.0.0.1:port").unwrap_err();
        assert!(wrong.contains("ONEFOLD_TEST_POSTGRES"), "{wrong}");
    }

    #[test]
    fn a_variable_without_a_port_means_the_usual_one() {
        assert_eq!(read(Service::PgBouncer, "postgres://127.0.0.1").unwrap().address, Address::local(6432));
    }
}
