//! Relays of a configuration: what any program commits reaches a webhook, signed and in order.

use std::net::SocketAddr;
use std::path::Path;

use crate::fixture::{Workdir, until};
use crate::receiver::{Receiver, SECRET, loopback};

/// A folder whose server relays to this address.
pub(crate) fn relaying(at: SocketAddr, more: &str) -> Workdir {
    let dir = Workdir::new();
    declare(&dir, at, more);
    dir
}

fn declare(dir: &Workdir, at: SocketAddr, more: &str) {
    let config = format!(
        "[[relay]]\nname = \"cases\"\nevents = [\"case.*\"]\nbegin = \"oldest\"\n\
         to = {{ webhook = \"http://{at}/hook\", secret_file = \"hook.secret\" }}\n{more}"
    );
    std::fs::write(dir.path("onefold.toml"), config).unwrap();
    std::fs::write(dir.path("hook.secret"), SECRET).unwrap();
}

/// Commits an event by SQL alone.
pub(crate) fn stage(db: &Path, event_type: &str, aggregate: &str, payload: &str) {
    let connection = rusqlite::Connection::open(db).unwrap();
    connection.busy_timeout(std::time::Duration::from_mins(1)).unwrap();
    connection
        .execute(
            "INSERT INTO onefold_events (id, tenant, aggregate_type, aggregate_id, event_type, schema_version, \
             created_at, payload, content_type, headers, correlation_id) \
             VALUES (?1, 'default', 'case', ?2, ?3, 1, 1794700800000000, ?4, 'application/json', \
             '{\"traceparent\": \"00-a-b-01\"}', 'req-1')",
            (uuid::Uuid::new_v4().as_bytes().as_slice(), aggregate, event_type, payload.as_bytes()),
        )
        .unwrap();
}

#[test]
fn what_is_committed_by_sql_reaches_a_webhook_signed_and_in_order() {
    let receiver = Receiver::start(loopback(), 204);
    let dir = relaying(receiver.at, "");
    let mut server = dir.serve(&[]);
    let db = dir.path("onefold.db");
    for number in 0..5 {
        stage(&db, "case.submitted", "CASE-Ü", &format!("{{\"number\":{number}}}"));
    }
    stage(&db, "order.placed", "O-1", "{}");
    until("the events arrive", || receiver.taken().len() >= 5);
    let taken = receiver.taken();
    let bodies: Vec<&str> = taken.iter().map(|message| message.body.as_str()).collect();
    assert_eq!(bodies, ["{\"number\":0}", "{\"number\":1}", "{\"number\":2}", "{\"number\":3}", "{\"number\":4}"]);
    let first = &taken[0];
    assert!(first.signed());
    for (name, value) in [
        ("content-type", "application/json"),
        ("ce-specversion", "1.0"),
        ("ce-type", "case.submitted"),
        ("ce-source", "/default/case"),
        ("ce-subject", "CASE-%C3%9C"),
        ("ce-time", "2026-11-15T00:00:00Z"),
        ("ce-correlationid", "req-1"),
        ("ce-traceparent", "00-a-b-01"),
        ("traceparent", "00-a-b-01"),
    ] {
        assert_eq!(first.header(name), Some(value), "{name}");
    }
    assert_eq!(first.header("ce-id"), Some(first.id.as_str()));
    assert_eq!(first.header("idempotency-key"), Some(format!("\"{}\"", first.id).as_str()));
    // What no relay wants is not sent, and a server that drains gives its place back.
    assert_eq!(server.stop(), Some(0), "{}", server.log());
    assert_eq!(receiver.heard().len(), 5);
    let scraped = dir.serve(&[]);
    let metrics = scraped.get("/metrics").text();
    assert!(metrics.contains("onefold_outbox_waiting{relay=\"cases\"} 0"), "{metrics}");
}

#[test]
fn a_receiver_that_is_away_loses_nothing_over_a_restart() {
    let receiver = Receiver::start(loopback(), 503);
    let at = receiver.at;
    let dir = relaying(at, "lease_for = \"2s\"\ndelivery_within = \"1s\"\n");
    let mut server = dir.serve(&[]);
    let db = dir.path("onefold.db");
    stage(&db, "case.submitted", "CASE-1", "{\"number\":0}");
    until("it was asked", || !receiver.heard().is_empty());
    drop(receiver);
    stage(&db, "case.submitted", "CASE-1", "{\"number\":1}");
    server.kill();
    let _server = dir.serve(&[]);
    let receiver = Receiver::start(at, 204);
    until("both arrive", || receiver.taken().len() >= 2);
    let bodies: Vec<String> = receiver.taken().iter().map(|message| message.body.clone()).collect();
    assert_eq!(bodies, ["{\"number\":0}", "{\"number\":1}"]);
}

#[test]
fn a_relay_is_changed_by_a_reload() {
    let receiver = Receiver::start(loopback(), 204);
    let dir = relaying(receiver.at, "");
    let server = dir.serve(&[]);
    let db = dir.path("onefold.db");
    stage(&db, "case.submitted", "CASE-1", "{\"number\":0}");
    until("the first arrives", || receiver.taken().len() == 1);
    let other = Receiver::start(loopback(), 204);
    declare(&dir, other.at, "");
    server.reload();
    until("it is read again", || {
        server.log().contains("configuration was read again") || server.log().contains("reload")
    });
    stage(&db, "case.submitted", "CASE-1", "{\"number\":1}");
    until("the second arrives at the new address", || other.taken().len() == 1);
    assert_eq!(receiver.taken().len(), 1, "the same relay goes on from its place");
}

#[test]
fn a_wrong_relay_is_refused_with_its_line() {
    let dir = Workdir::new();
    let target = "to = { webhook = \"https://p.example/h\", secret_file = \"hook.secret\" }\n";
    let rows = [
        (format!("[[relay]]\nname = \"a\"\nevents = [\"case*\"]\n{target}"), ":3:", "case.*"),
        ("[[relay]]\nname = \"a\"\nevents = [\"*\"]\n".to_owned(), ":1:", "webhook ="),
        (format!("[[relay]]\nname = \"a\"\nevents = [\"*\"]\n{target}[[relay]]\nname = \"a\"\nevents = [\"*\"]\n{target}"), ":6:", "give each its own"),
        ("[[relay]]\nname = \"a\"\nevents = [\"*\"]\nto = { broker = \"mian\", topic = \"t\" }\n[broker.main]\nkafka = [\"k:9092\"]\n".to_owned(), ":4:", "main"),
        ("[[relay]]\nname = \"a\"\nevents = [\"*\"]\nto = { broker = \"main\", topic = \"{aggregate_id}\" }\n[broker.main]\nkafka = [\"k:9092\"]\n".to_owned(), ":4:", "{event_type}"),
        ("[broker.main]\nkafka = [\"kafka.internal\"]\n".to_owned(), ":2:", "HOST:PORT"),
        ("[broker.main]\nrabbitmq = \"amqps://u:hush@r.example\"\n".to_owned(), ":2:", "login = {"),
        ("[broker.main]\nnats = [\"nats://n:4222\"]\nlogin = { token_file = \"t\" }\n".to_owned(), ":3:", "tls://HOST:PORT"),
        ("[[relay]]\nname = \"a\"\nevents = [\"*\"]\nto = { broker = \"main\", topic = \"t\" }\n[broker.main]\nnats = [\"nats://n:4222\"]\n".to_owned(), ":4:", "subject for NATS"),
        ("[broker.main]\nkafka = [\"k:9092\"]\nsasl = { mechanism = \"PLAIN\", user = \"u\", password_file = \"p\" }\n".to_owned(), ":3:", "SCRAM-SHA-512"),
        (format!("[[relay]]\nname = \"a\"\nevents = [\"*\"]\ndelivery_within = \"40s\"\n{target}"), ":2:", "lower delivery_within"),
        (format!("[[relay]]\nname = \"a\"\nevents = [\"*\"]\ndepends_on = \"partner\"\n{target}[dependency.partners]\ncalls_max = 4\n"), ":4:", "did you mean `partners`?"),
        (format!("[[relay]]\nname = \"a\"\nevents = [\"*\"]\ntable = \"a.b.c\"\n{target}"), ":4:", "app.outbox"),
        (format!("[[relay]]\nname = \"a\"\nevents = [\"*\"]\ncolumns = {{ id = \"Id\" }}\n{target}"), ":4:", "table ="),
    ];
    for (config, at, says) in rows {
        std::fs::write(dir.path("onefold.toml"), &config).unwrap();
        let ran = dir.run(&["config"]);
        let said = ran.err();
        assert!(said.contains(&format!("onefold.toml{at}")) && said.contains(says), "{config}\n{said}");
    }
}

#[test]
fn what_nobody_serves_or_wants_is_said_at_start() {
    let receiver = Receiver::start(loopback(), 204);
    let dir = relaying(receiver.at, "");
    let mut server = dir.serve(&[]);
    until("the relay is declared", || server.get("/v1/relays").text().contains("\"cases\""));
    assert_eq!(server.stop(), Some(0), "{}", server.log());
    let config = format!(
        "[[relay]]\nname = \"orders\"\nevents = [\"order.*\"]\n\
         to = {{ webhook = \"http://{}/hook\", secret_file = \"hook.secret\" }}\n\
         [[event]]\ntype = \"order.placed\"\naggregate = \"order\"\nowner = \"shop\"\nversions = {{ 1 = {{}} }}\n\
         [[event]]\ntype = \"bill.sent\"\naggregate = \"bill\"\nowner = \"shop\"\nversions = {{ 1 = {{}} }}\n",
        receiver.at
    );
    std::fs::write(dir.path("onefold.toml"), config).unwrap();
    let server = dir.serve(&[]);
    until("the relay that is gone is named", || {
        server.log().lines().any(|line| line.contains("onefold outbox retire") && line.contains("cases"))
    });
    until("the type without a relay is named", || {
        server.log().lines().any(|line| line.contains("no relay wants this type") && line.contains("bill.sent"))
    });
}

#[test]
fn a_table_of_ones_own_is_refused_on_sqlite_with_what_to_do() {
    let dir = Workdir::new();
    declare(&dir, loopback(), "table = \"app.outbox\"\n");
    let ran = dir.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_ne!(ran.code, Some(0));
    let said = ran.err();
    assert!(said.contains("\"app\".\"outbox\"") && said.contains("PostgreSQL"), "{said}");
}
