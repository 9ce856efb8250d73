//! A round trip with each service that tests use: the suite `services` of `cargo xtask test`.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use super::address::Address;
use super::{Service, nats, postgres, program, rabbitmq, zeebe};
use crate::step::{Context, Tally};

/// One check a service, each counted as a test.
pub(crate) fn run(context: &Context) -> Tally {
    let environment = context.services.environment();
    let mut tally = Tally::default();
    for service in Service::TESTED {
        let ended = check(*service, &environment).map_err(|why| format!("{}: {why}", service.name()));
        println!("test {} ... {}", service.name(), ended.as_ref().map_or_else(String::as_str, |()| "ok"));
        tally.add(ended);
    }
    tally
}

fn check(service: Service, environment: &[(&'static str, String)]) -> Result<(), String> {
    let address = variable(environment, service.variable())?;
    match service {
        Service::Postgres | Service::PgBouncer => select(address),
        Service::Redis => set_and_get(address),
        Service::Kafka => produce_and_consume(address),
        Service::RabbitMq => rabbitmq::greet(&Address::parse(address, 5672)?),
        Service::Nats => nats::publish_and_receive(address, "onefold.check", &unique("message")),
        Service::Zeebe => zeebe::ready(&management(address, variable(environment, zeebe::MANAGEMENT)?)?),
    }
}

fn variable<'a>(environment: &'a [(&'static str, String)], name: &str) -> Result<&'a str, String> {
    let found = environment.iter().find(|(given, _)| *given == name);
    found.map(|(_, value)| value.as_str()).ok_or_else(|| format!("{name} is not set"))
}

/// Given by hand it may be a mere port, of the host that the broker is on.
fn management(broker: &str, text: &str) -> Result<Address, String> {
    match text.parse() {
        Ok(port) => Ok(Address { port, ..Address::parse(broker, port)? }),
        Err(_) => Address::parse(text, 9600),
    }
}

fn select(url: &str) -> Result<(), String> {
    let psql = postgres::programs().ok_or("there is no psql")?.join("psql");
    let said = program::output(Command::new(psql).args(["-X", "-w", "-A", "-t", "-c", "SELECT 1"]).arg(url))?;
    expect("1", &said)
}

fn set_and_get(url: &str) -> Result<(), String> {
    let cli = |words: &[&str]| program::output(Command::new("redis-cli").args(["-u", url]).args(words));
    let (key, value) = (unique("key"), unique("value"));
    expect("PONG", &cli(&["PING"])?)?;
    expect("OK", &cli(&["SET", &key, &value, "EX", "60"])?)?;
    expect(&value, &cli(&["GET", &key])?)
}

/// One topic for all runs, which keeps a line of each: a topic a run would stay for ever.
fn produce_and_consume(broker: &str) -> Result<(), String> {
    let (topic, message) = ("onefold-check", unique("message"));
    let mut command = Command::new("kcat");
    command.args(["-b", broker, "-P", "-t", topic, "-X", "message.timeout.ms=20000"]);
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(|error| format!("could not start kcat: {error}"))?;
    let written = child.stdin.take().map_or(Ok(()), |mut input| writeln!(input, "{message}"));
    let status = child.wait().map_err(|error| error.to_string())?;
    written.map_err(|error| error.to_string())?;
    if !status.success() {
        return Err("kcat could not produce".to_owned());
    }
    let mut command = Command::new("kcat");
    command.args(["-b", broker, "-C", "-t", topic, "-o", "beginning", "-e", "-q"]);
    let consumed = program::output(&mut command)?;
    if consumed.lines().any(|line| line == message) { Ok(()) } else { Err(format!("`{message}` was not consumed")) }
}

fn expect(expected: &str, said: &str) -> Result<(), String> {
    let said = said.trim();
    if said == expected { Ok(()) } else { Err(format!("expected `{expected}`, got `{said}`")) }
}

/// A name that no run before this one has used.
fn unique(name: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("onefold-{name}-{}-{}", std::process::id(), now.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_answer_is_told_beside_the_right_one() {
        assert_eq!(expect("1", "1\n"), Ok(()));
        assert_eq!(expect("1", "2\n"), Err("expected `1`, got `2`".to_owned()));
    }

    #[test]
    fn the_management_address_may_be_a_port() {
        assert_eq!(management("http://127.0.0.1:26500", "9600"), Ok(Address::local(9600)));
        assert_eq!(management("http://zeebe.test:26500", "http://127.0.0.1:9601"), Ok(Address::local(9601)));
    }

    #[test]
    fn a_service_without_an_address_fails_its_check() {
        let wrong = check(Service::Redis, &[]).unwrap_err();
        assert!(wrong.contains("ONEFOLD_TEST_REDIS"), "{wrong}");
    }
}
