//! Addresses as the variables write them.

/// Where a service is: `scheme://user:password@host:port/path`, of which only host and port are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
}

impl Address {
    pub(super) fn local(port: u16) -> Self {
        Self { host: "127.0.0.1".to_owned(), port, user: None, password: None }
    }

    /// Reads an address; `standard` is the port of one that names none.
    pub(super) fn parse(text: &str, standard: u16) -> Result<Self, String> {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let rest = rest.split(['/', '?', ',']).next().unwrap_or(rest);
        let (login, place) = rest.rsplit_once('@').map_or((None, rest), |(login, place)| (Some(login), place));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| format!("`{text}` has no port number"))?),
            None => (place, standard),
        };
        if host.is_empty() {
            return Err(format!("`{text}` names no host"));
        }
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            Some((user, "")) => (Some(user.to_owned()), None),
            Some((user, password)) => (Some(user.to_owned()), Some(password.to_owned())),
            None => (None, None),
        };
        Ok(Self { host: host.to_owned(), port, user, password })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_carry_a_login_and_a_path() {
        let address = Address::parse("postgres://app:secret@db.test:5433/ledger?sslmode=disable", 5432);
        let expected = Address {
            host: "db.test".to_owned(),
            port: 5433,
            user: Some("app".to_owned()),
            password: Some("secret".to_owned()),
        };
        assert_eq!(address, Ok(expected));
    }

    #[test]
    fn host_and_port_are_enough_and_the_port_may_be_the_usual_one() {
        assert_eq!(Address::parse("127.0.0.1:9092", 1), Ok(Address::local(9092)));
        assert_eq!(Address::parse("redis://127.0.0.1", 6379), Ok(Address::local(6379)));
        assert_eq!(Address::parse("127.0.0.1:9092,127.0.0.1:9093", 1), Ok(Address::local(9092)));
    }

    #[test]
    fn an_address_without_host_or_number_is_refused() {
        assert!(Address::parse("redis://:6379", 1).is_err());
        assert!(Address::parse("127.0.0.1:kafka", 1).is_err());
    }
}
