//! Relays on tables of teams' own are shown beside those of the outbox.

use serde_json::{Value, json};

use crate::fixture::Workdir;
use crate::schema_fixture::{Schema, execute};

/// One relay on a table that is there, and one on a table that is not; nobody listens at their target.
fn declared(schema: &str) -> String {
    let to = "to = { webhook = \"http://127.0.0.1:9/hook\", secret_file = \"hook.secret\" }";
    format!(
        "[[relay]]\nname = \"legacy\"\nevents = [\"case.*\"]\ntable = \"{schema}.outbox\"\n{to}\n\
         [[relay]]\nname = \"nowhere\"\nevents = [\"*\"]\ntable = \"{schema}.no_such\"\n{to}\n"
    )
}

#[test]
fn a_relay_on_a_table_is_shown_with_what_its_table_holds() {
    let schema = Schema::new();
    let name = &schema.name;
    let dir = schema.dir();
    std::fs::write(dir.path("onefold.toml"), declared(name)).unwrap();
    std::fs::write(dir.path("hook.secret"), "a secret that both of us know").unwrap();
    dir.run(&["migrate"]).done();
    execute(&format!(
        "SET ROLE {name}; CREATE TABLE {name}.outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
         aggregate_type text NOT NULL, aggregate_id text NOT NULL, type text NOT NULL, payload jsonb NOT NULL, \
         created_at timestamptz NOT NULL DEFAULT now(), published_at timestamptz, next_attempt_at timestamptz, \
         attempts integer NOT NULL DEFAULT 0); \
         INSERT INTO {name}.outbox (aggregate_type, aggregate_id, type, payload, created_at, next_attempt_at, attempts) \
         VALUES ('case', 'CASE-1', 'case.opened', '{{}}', now() - interval '2 hours', NULL, 0), \
                ('case', 'CASE-2', 'case.opened', '{{}}', now(), NULL, 0), \
                ('case', 'CASE-3', 'case.opened', '{{}}', now(), 'infinity', 5), \
                ('order', 'O-1', 'order.placed', '{{}}', now(), NULL, 0)"
    ));
    assert_shown(&dir, name);
    let server = dir.serve(&[]);
    assert_shown(&dir, name);
    let metrics = server.get("/metrics").text();
    for shown in ["onefold_outbox_waiting{relay=\"legacy\"} 2", "onefold_outbox_parked{relay=\"legacy\"} 1"] {
        assert!(metrics.contains(shown), "{metrics}");
    }
    assert!(!metrics.contains("onefold_outbox_waiting{relay=\"nowhere\"}"), "{metrics}");
}

/// The same with a server and without one.
fn assert_shown(dir: &Workdir, schema: &str) {
    let shown = dir.run(&["outbox", "status", "--json"]).json();
    let relays = shown["relays"].as_array().unwrap();
    let [legacy, nowhere] = &relays[..] else { panic!("{shown}") };
    let of = |relay: &Value| {
        json!([relay["name"], relay["target"], relay["table"], relay["waiting"], relay["parked"], relay["stopped"]])
    };
    let target = "http://127.0.0.1:9";
    assert_eq!(of(legacy), json!(["legacy", target, format!("\"{schema}\".\"outbox\""), 2, 1, null]), "{shown}");
    let age = legacy["oldestAgeSeconds"].as_f64().unwrap();
    assert!((7_200.0..8_000.0).contains(&age), "{age}");
    let table = format!("\"{schema}\".\"no_such\"");
    assert_eq!(of(nowhere), json!(["nowhere", target, table, 0, 0, "RELAY_TABLE_INVALID"]), "{shown}");
    let printed = dir.run(&["outbox", "status"]).done();
    let line = |relay: &str| printed.lines().find(|line| line.starts_with(relay)).unwrap().to_owned();
    assert!(line("legacy").contains("that are due at infinity"), "{printed}");
    assert!(line("nowhere").contains("cannot be read: RELAY_TABLE_INVALID"), "{printed}");
}
