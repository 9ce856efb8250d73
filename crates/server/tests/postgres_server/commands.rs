//! Every command on PostgreSQL, with and without a server.

use serde_json::{Value, json};

use crate::fixture::{Ran, Workdir, claim};
use crate::schema_fixture::{PASSWORD, Schema, count, execute};

#[test]
fn a_dry_run_says_what_a_migration_would_do_and_does_nothing() {
    let schema = Schema::new();
    let dir = schema.dir();
    let names = |ran: &Ran| -> Vec<Value> {
        ran.json()["migrations"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect()
    };
    let dry = dir.run(&["migrate", "--dry-run", "--json"]);
    assert_eq!(names(&dry)[..2], ["create_ledger", "create_shared"]);
    assert!(!dry.out().contains(PASSWORD), "{}", dry.out());
    let made = || count(&format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{}'", schema.name));
    assert_eq!(made(), 0);
    assert!(dir.run(&["migrate"]).done().starts_with("applied 0001 create_ledger\n"));
    assert_eq!((made(), names(&dir.run(&["migrate", "--dry-run", "--json"])).len()), (1, 0));
    let again = dir.run(&["migrate"]).done();
    assert!(again.ends_with("is up to date\n") && !again.contains(PASSWORD), "{again}");
}

#[test]
fn every_command_works_through_a_server_and_without_one() {
    let schema = Schema::new();
    let beside = schema.dir();
    let mut server = beside.serve(&[]);
    let incident = server.unknown(&claim("UNSURE"));
    look_and_settle(&beside, &incident);
    let incident = server.unknown(&claim("UNSURE-2"));
    server.stop();
    let alone = schema.dir();
    look_and_settle(&alone, &incident);
    assert!(!alone.path("onefold-data").exists(), "a command that keeps nothing makes no folder");
    assert_eq!(alone.run(&["token"]).done(), "onefold-data/onefold.token\n");
}

fn look_and_settle(dir: &Workdir, incident: &str) {
    assert_eq!(dir.run(&["run", "--id", "hello", "--", "echo", "hello"]).done(), "hello\n");
    let listed = dir.run(&["operations"]).done();
    assert!(listed.contains("UNSURE") && listed.contains("hello"), "{listed}");
    assert!(dir.run(&["operations", "show", "hello"]).done().contains("COMPLETED"));
    assert!(dir.run(&["incidents"]).done().starts_with("1 open"));
    let settled = ["incidents", "resolve", incident, "--took-hold", "NTC-1", "--why", "the register shows it"];
    assert!(dir.run(&settled).done().contains("COMPLETED"));
    assert_eq!(dir.run(&["prune", "--dry-run", "--json"]).json()["operations"], 0);
    assert_eq!(dir.run(&["token", "list", "--json"]).json()["tokens"], json!([]));
    assert!(dir.run(&["explain", "ask"]).done().contains("ask"));
}

#[test]
fn a_command_never_asks_the_server_of_another_schema() {
    let (one, other) = (Schema::new(), Schema::new());
    let dir = one.dir();
    let server = dir.serve(&[]);
    server.granted(&claim("CASE-1"));
    let run = |schema: &Schema| -> Ran {
        let mut command = dir.command(&["operations", "--json"]);
        command.env("ONEFOLD_DATABASE", schema.url()).env("ONEFOLD_SCHEMA", &schema.name).output().unwrap().into()
    };
    assert_eq!(run(&one).json()["items"].as_array().unwrap().len(), 1);
    let refused = run(&other);
    assert_eq!(refused.code, Some(66), "no ledger is made to look into: {}{}", refused.out(), refused.err());
    assert!(refused.err().contains(&format!("(schema {})", other.name)), "{}", refused.err());
    let made = format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{}'", other.name);
    assert_eq!(count(&made), 0);
}

#[test]
fn a_schema_with_tables_of_others_is_left_alone_unless_that_is_meant() {
    let schema = Schema::new();
    let name = &schema.name;
    execute(&format!("CREATE SCHEMA {name} AUTHORIZATION {name}; CREATE TABLE {name}.invoices (id int)"));
    let dir = schema.dir();
    let tables = || count(&format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{name}'"));
    for (line, code) in [
        (&["operations"][..], 66),
        (&["migrate"], 1),
        (&["run", "--id", "x", "--", "true"], 1),
        (&["serve", "--listen", "127.0.0.1:0"], 1),
    ] {
        let refused = dir.run(line);
        assert_eq!(refused.code, Some(code), "{line:?}: {}", refused.err());
        assert!(code == 66 || refused.err().contains("holds other tables (invoices)"), "{}", refused.err());
        assert_eq!(tables(), 1, "{line:?}");
    }
    assert_eq!(dir.run(&["run", "--into-existing", "--id", "x", "--", "echo", "x"]).done(), "x\n");
    assert!(dir.run(&["operations"]).done().contains("COMPLETED") && tables() > 1);
}

#[test]
fn settings_are_shown_with_their_origin_and_without_the_password() {
    let schema = Schema::new();
    let dir = schema.dir();
    for flags in [&["config"][..], &["config", "--json"], &["config", "--explain"]] {
        let shown = dir.run(flags).done();
        assert!(!shown.contains(PASSWORD), "{shown}");
        assert!(shown.contains(&format!("postgres://{}@", schema.name)), "{shown}");
        assert!(shown.contains("environment ONEFOLD_DATABASE"), "{shown}");
    }
}

#[test]
fn the_demo_keeps_its_promise_on_postgres_and_leaves_nothing_behind() {
    let schema = Schema::new();
    let dir = schema.dir();
    let ran = dir.run(&["demo", "--requests", "200", "--seed", "7", "--json", "--database", &schema.url()]);
    let report = ran.json();
    assert_eq!(report["passed"], true, "{report}");
    assert!(!ran.err().contains(PASSWORD), "{}", ran.err());
    let left = format!(
        "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'onefold\\_demo\\_%' AND nspowner = '{}'::regrole",
        schema.name
    );
    assert_eq!(count(&left), 0, "the schema is dropped");
}
