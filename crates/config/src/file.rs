//! The tables of `onefold.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use onefold_core::error::DECLARATION_INVALID;
use onefold_core::event::{CompiledContract, EventContracts};
use onefold_core::outbox::EventPattern;
use onefold_core::{Error, Result};
use serde::Deserialize;

use crate::{
    BrokerDeclaration, BrokerSort, CheckedRelay, DeclaredKind, DependencyDeclaration, EventDeclaration,
    GatewayDeclaration, KindDeclaration, Mistake, NotifyDeclaration, RelayDeclaration, RouteDeclaration, SourceText,
    suggestion,
};

#[derive(Deserialize)]
struct Kinds {
    #[serde(default)]
    kind: BTreeMap<String, KindDeclaration>,
    #[serde(default)]
    dependency: BTreeMap<String, toml::Table>,
}

/// The kinds that `text` declares; `file` is named in every error.
///
/// ```
/// let text = r#"
/// [kind."payment.register"]
/// class = "financial-or-legal"
/// on_unknown = { ask = "GET https://payments.internal/payments?operation={id}" }
/// "#;
/// let error = onefold_config::kinds("onefold.toml", text).unwrap_err();
/// assert!(error.detail().starts_with("onefold.toml:4:14: kind \"payment.register\""));
/// ```
pub fn kinds(file: &str, text: &str) -> Result<Vec<DeclaredKind>> {
    let place = SourceText::new(file, text);
    let Kinds { kind, dependency } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let checked = |(name, declared): (String, KindDeclaration)| {
        let who = format!("kind {name:?}");
        let checked =
            known_dependency(declared.depends_on.as_deref(), &dependency).and_then(|()| declared.check(&name));
        checked.map_err(|mistake| place.mistake(&["kind", &name], &who, &mistake))
    };
    kind.into_iter().map(checked).collect()
}

/// Refuses a dependency that the file does not declare: a misspelt one would have no limits.
fn known_dependency<T>(depends_on: Option<&str>, known: &BTreeMap<String, T>) -> Result<(), Mistake> {
    let Some(name) = depends_on.filter(|name| !known.contains_key(*name)) else { return Ok(()) };
    let hint = match suggestion(name, known.keys().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("declare [dependency.{name}]; it may be empty"),
    };
    let error = Error::new(DECLARATION_INVALID, format!("there is no dependency {name:?}")).hint(hint);
    Err(Mistake::value("depends_on", error))
}

#[derive(Deserialize)]
struct Dependencies {
    #[serde(default)]
    dependency: BTreeMap<String, DependencyDeclaration>,
}

/// The dependencies that `text` declares, by name; `file` is named in every error.
pub fn dependencies(file: &str, text: &str) -> Result<BTreeMap<String, DependencyDeclaration>> {
    let place = SourceText::new(file, text);
    let Dependencies { dependency } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    for (name, declared) in &dependency {
        let who = format!("dependency {name:?}");
        declared.check(name).map_err(|mistake| place.mistake(&["dependency", name], &who, &mistake))?;
    }
    Ok(dependency)
}

/// Where a file is: its relative paths begin there.
fn folder(file: &str) -> &Path {
    Path::new(file).parent().unwrap_or(Path::new(""))
}

#[derive(Deserialize)]
struct Routes {
    #[serde(default)]
    route: Vec<RouteDeclaration>,
}

/// The routes that `text` declares, as `read` reads each of them with its kind; `file` is named in every error.
pub fn routes<T>(
    file: &str,
    text: &str,
    read: impl Fn(RouteDeclaration, DeclaredKind) -> Result<T, Mistake>,
) -> Result<Vec<T>> {
    let place = SourceText::new(file, text);
    let Routes { route } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let dependencies = dependencies(file, text)?;
    let mut names: Vec<String> = Vec::new();
    let mut routes = Vec::new();
    for (at, declared) in route.into_iter().enumerate() {
        let name = declared.forward.name.clone();
        let checked = known_dependency(declared.kind.depends_on.as_deref(), &dependencies)
            .and_then(|()| named_once(&name, &names));
        let checked = checked.and_then(|()| declared.check());
        let made = checked.and_then(|kind| read(declared.in_folder(folder(file)), kind));
        let (at, who) = (at.to_string(), format!("route {name:?}"));
        routes.push(made.map_err(|mistake| place.mistake(&["route", &at], &who, &mistake))?);
        names.push(name);
    }
    Ok(routes)
}

fn named_once(name: &str, before: &[String]) -> Result<(), Mistake> {
    if !before.iter().any(|before| before == name) {
        return Ok(());
    }
    let error = Error::new(DECLARATION_INVALID, format!("two routes are called {name:?}"));
    Err(Mistake::name(error.hint("a key belongs to a route's name: give each its own")))
}

#[derive(Deserialize)]
struct Gateway {
    #[serde(default)]
    gateway: GatewayDeclaration,
}

/// What `text` declares of the gateway, as `read` reads it; `file` is named in every error.
pub fn gateway<T>(file: &str, text: &str, read: impl FnOnce(GatewayDeclaration) -> Result<T, Mistake>) -> Result<T> {
    let place = SourceText::new(file, text);
    let Gateway { gateway } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let made = gateway.check().and_then(|()| read(gateway.in_folder(folder(file))));
    made.map_err(|mistake| place.mistake(&["gateway"], "[gateway]", &mistake))
}

#[derive(Deserialize)]
struct Brokers {
    #[serde(default)]
    broker: BTreeMap<String, BrokerDeclaration>,
}

/// The brokers that `text` declares, by name; `file` is named in every error.
pub fn brokers(file: &str, text: &str) -> Result<BTreeMap<String, BrokerDeclaration>> {
    let place = SourceText::new(file, text);
    let Brokers { broker } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let mut brokers = BTreeMap::new();
    for (name, declared) in broker {
        let who = format!("broker {name:?}");
        declared.check().map_err(|mistake| place.mistake(&["broker", &name], &who, &mistake))?;
        brokers.insert(name, declared.in_folder(folder(file)));
    }
    Ok(brokers)
}

#[derive(Deserialize)]
struct Events {
    #[serde(default)]
    event: Vec<EventDeclaration>,
}

/// The contracts that `text` declares; `read` reads the file of a schema, and `file` is named in every error.
///
/// ```
/// let text = r#"
/// [[event]]
/// type = "case.submitted"
/// aggregate = "case"
/// owner = "case team"
/// ordering_key = "caseId"
/// versions = { 1 = { type = "object" } }
/// "#;
/// let error = onefold_config::events("onefold.toml", text, |_| unreachable!()).unwrap_err();
/// assert!(error.detail().starts_with("onefold.toml:6:16: event \"case.submitted\""));
/// ```
pub fn events(file: &str, text: &str, read: impl Fn(&Path) -> Result<String>) -> Result<EventContracts> {
    let place = SourceText::new(file, text);
    let Events { event } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let mut contracts: Vec<CompiledContract> = Vec::new();
    for (at, declared) in event.into_iter().enumerate() {
        let (at, who) = (at.to_string(), format!("event {:?}", declared.r#type));
        let checked = declared.in_folder(folder(file)).check(&read).and_then(|contract| {
            let twice = contracts.iter().any(|other| other.event_type() == contract.event_type());
            if twice {
                let error = Error::new(DECLARATION_INVALID, "the type is declared twice");
                return Err(Mistake::value("type", error.hint("put its versions into one [[event]]")));
            }
            Ok(contract)
        });
        contracts.push(checked.map_err(|mistake| place.mistake(&["event", &at], &who, &mistake))?);
    }
    EventContracts::new(contracts)
}

#[derive(Deserialize)]
struct Relays {
    #[serde(default)]
    relay: Vec<RelayDeclaration>,
}

/// The relays that `text` declares, for the events that it knows contracts of; `file` is named in every error.
pub fn relays(file: &str, text: &str, contracts: &EventContracts) -> Result<Vec<CheckedRelay>> {
    let place = SourceText::new(file, text);
    let Relays { relay } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let brokers = brokers(file, text)?;
    let dependencies = dependencies(file, text)?;
    let mut relays: Vec<CheckedRelay> = Vec::new();
    for (at, declared) in relay.into_iter().enumerate() {
        let (at, who) = (at.to_string(), format!("relay {:?}", declared.name));
        let declared = declared.in_folder(folder(file));
        let checked = declared.check().and_then(|relay| {
            known_types(&declared, contracts)?;
            known_dependency(declared.depends_on.as_deref(), &dependencies)?;
            known_broker(&relay, &brokers)?;
            only_one(&relay, &relays)?;
            Ok(relay)
        });
        relays.push(checked.map_err(|mistake| place.mistake(&["relay", &at], &who, &mistake))?);
    }
    Ok(relays)
}

/// Refuses a pattern that no declared type matches. Where no type is declared, none is unknown.
fn known_types(relay: &RelayDeclaration, contracts: &EventContracts) -> Result<(), Mistake> {
    for (at, text) in relay.events.iter().enumerate() {
        let pattern = EventPattern::parse(text).map_err(|error| Mistake::value(format!("events.{at}"), error))?;
        if contracts.is_empty() || contracts.iter().any(|contract| pattern.matches(contract.event_type())) {
            continue;
        }
        let hint = match suggestion(text, contracts.iter().map(|contract| contract.event_type().as_str())) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "declare the type as [[event]]".to_owned(),
        };
        let error =
            Error::new(DECLARATION_INVALID, format!("no event type is declared that {text:?} matches")).hint(hint);
        return Err(Mistake::value(format!("events.{at}"), error));
    }
    Ok(())
}

fn known_broker(relay: &CheckedRelay, brokers: &BTreeMap<String, BrokerDeclaration>) -> Result<(), Mistake> {
    let Some((broker, sort)) = relay.target.broker() else { return Ok(()) };
    let (place, address) = match sort {
        BrokerSort::Kafka => ("a topic", "kafka = [\"HOST:9092\"]"),
        BrokerSort::RabbitMq => ("an exchange", "rabbitmq = \"amqps://HOST\""),
        BrokerSort::Nats => ("a subject", "nats = [\"nats://HOST:4222\"]"),
    };
    match brokers.get(broker) {
        Some(declared) if declared.sort()? == sort => return Ok(()),
        Some(_) => {
            let what = format!("[broker.{broker}] has no such place as {place}");
            let hint = "write topic for Kafka, exchange and routing_key for RabbitMQ, subject for NATS";
            return Err(Mistake::wrong("to", what, hint));
        }
        None => {}
    }
    let hint = match suggestion(broker, brokers.keys().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("declare [broker.{broker}] with {address}"),
    };
    let error = Error::new(DECLARATION_INVALID, format!("there is no broker {broker:?}")).hint(hint);
    Err(Mistake::value("to.broker", error))
}

fn only_one(relay: &CheckedRelay, before: &[CheckedRelay]) -> Result<(), Mistake> {
    let name = &relay.spec.name;
    if !before.iter().any(|other| other.spec.name == *name) {
        return Ok(());
    }
    let error = Error::new(DECLARATION_INVALID, format!("two relays are called {:?}", name.as_str()));
    Err(Mistake::name(error.hint("a relay's place belongs to its name: give each its own")))
}

#[derive(Deserialize)]
struct Notify {
    notify: Option<NotifyDeclaration>,
}

/// Whom `text` says to tell of incidents, if anyone; `file` is named in every error.
pub fn notify(file: &str, text: &str) -> Result<Option<NotifyDeclaration>> {
    let place = SourceText::new(file, text);
    let Notify { notify } = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    let Some(notify) = notify else { return Ok(None) };
    notify.check().map_err(|mistake| place.mistake(&["notify"], "[notify]", &mistake))?;
    Ok(Some(notify.in_folder(folder(file))))
}

#[cfg(test)]
mod tests;
