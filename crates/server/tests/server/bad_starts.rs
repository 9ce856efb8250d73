//! A server or a command that cannot start says why, and changes nothing.

use std::net::TcpListener;

use crate::fixture::{Ran, Workdir, claim};
use crate::seen::text_is;

/// How it was refused, with this dir's folder taken out.
fn refusal(dir: &Workdir, ran: &Ran) -> String {
    assert!(ran.out().is_empty(), "{}", ran.out());
    assert!(!ran.err().contains("panicked") && ran.err().contains("next: "), "{}", ran.err());
    format!("{}exit {:?}\n", ran.err().replace(dir.folder().to_str().unwrap(), "[folder]"), ran.code.unwrap())
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_left_as_it_is() {
    let dir = Workdir::new();
    let mut server = dir.serve(&[]);
    server.granted(&claim("CASE-1"));
    assert_eq!(server.stop(), Some(0));
    let newer = "INSERT INTO onefold_migrations VALUES (999, 'from_the_future', 0); PRAGMA wal_checkpoint(TRUNCATE)";
    rusqlite::Connection::open(dir.path("onefold.db")).unwrap().execute_batch(newer).unwrap();
    let before = std::fs::read(dir.path("onefold.db")).unwrap();
    let refused = dir.run(&["serve", "--listen", "127.0.0.1:0"]);
    text_is("start_newer_database", &refusal(&dir, &refused));
    for command in [&["operations"][..], &["token", "list"], &["migrate"], &["run", "--id", "x", "--", "true"]] {
        assert_eq!(dir.run(command).code, Some(69), "{command:?}");
    }
    assert_eq!(std::fs::read(dir.path("onefold.db")).unwrap(), before);
}

#[test]
fn a_second_server_on_one_database_is_refused_and_the_first_serves_on() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let refused = dir.run(&["serve", "--listen", "127.0.0.1:0"]);
    let said = refusal(&dir, &refused).replace(&server.pid().to_string(), "[pid]");
    text_is("start_database_in_use", &said);
    server.granted(&claim("CASE-1"));
    assert!(dir.run(&["operations"]).done().contains("CASE-1"));
}

#[test]
fn a_server_that_was_killed_leaves_its_database_free_for_the_next() {
    let dir = Workdir::new();
    let mut server = dir.serve(&[]);
    let claim = claim("CASE-1");
    let granted = server.granted(&claim);
    server.kill();
    let server = dir.serve(&[]);
    // The attempt outlived the server: its caller records as if nothing had happened.
    server.record(&granted, "complete", &serde_json::json!({ "result": 7 })).ok();
}

#[test]
fn a_port_in_use_is_named() {
    let dir = Workdir::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let refused = dir.run(&["serve", "--listen", &taken.local_addr().unwrap().to_string()]);
    text_is("start_port_in_use", &refusal(&dir, &refused));
}

#[test]
fn an_address_that_may_not_be_used_or_is_elsewhere_is_told_apart_from_one_in_use() {
    let dir = Workdir::new();
    let refused = |listen: &str| refusal(&dir, &dir.run(&["serve", "--listen", listen]));
    text_is("start_port_elsewhere", &refused("192.0.2.1:7070"));
    // A user that may use every port has no address that it may not use: the folder of a socket stands for it.
    let config = "[[route]]\nname = \"pay\"\nmatch = \"POST /p\"\nupstream = \"http://127.0.0.1:1\"\nclass = \"external-command\"\ncaller = \"anonymous\"\n";
    std::fs::write(dir.path("onefold.toml"), config).unwrap();
    let line = ["serve", "--listen", "127.0.0.1:0", "--gateway-listen", "unix:no/such.sock"];
    text_is("start_socket_no_folder", &refusal(&dir, &dir.run(&line)));
}

#[test]
fn localhost_is_an_address_and_another_name_is_refused_with_an_example() {
    let dir = Workdir::new();
    let server = dir.serve_at("localhost:0", &[]);
    assert!(server.address.ip().is_loopback());
    server.get("/ready").ok();
    drop(server);
    text_is("config_bad_host", &refusal(&dir, &dir.run(&["serve", "--listen", "example.org:7070"])));
    text_is("config_bad_level", &refusal(&dir, &dir.run(&["serve", "--log", "verbose"])));
}

#[test]
fn a_damaged_database_is_refused_and_left_as_it_is() {
    let dir = Workdir::new();
    let garbage = b"this is not a database, whatever its name says".repeat(1000);
    std::fs::write(dir.path("onefold.db"), &garbage).unwrap();
    text_is("start_damaged", &refusal(&dir, &dir.run(&["serve", "--listen", "127.0.0.1:0"])));
    assert_eq!(dir.run(&["operations"]).code, Some(69));
    assert_eq!(std::fs::read(dir.path("onefold.db")).unwrap(), garbage);
}

#[test]
fn a_database_that_cannot_be_made_is_named() {
    let dir = Workdir::new();
    let refused = dir.run(&["migrate", "--database", "sqlite:no/such/folder/onefold.db"]);
    text_is("start_no_folder", &refusal(&dir, &refused));
}

#[test]
fn a_mistake_in_the_configuration_is_shown_where_it_stands() {
    let rows = [
        ("key", "\ndatabse = \"sqlite:x.db\"\n"),
        ("kind_field", "[kind.\"notice.issue\"]\nclass = \"external-command\"\ndedline = \"10s\"\n"),
        ("kind_class", "[kind.\"notice.issue\"]\nclass = \"external\"\n"),
        ("kind_policy", "[kind.pay]\nclass = \"financial-or-legal\"\non_unknown = { ask = \"GET http://x/{id}\" }\n"),
        ("kind_question", "[kind.pay]\nclass = \"external-command\"\non_unknown = { ask = \"http://x\" }\n"),
        ("kind_duration", "[kind.pay]\nclass = \"pure\"\ndeadline = \"10 parsecs\"\n"),
        ("value", "drain_for = \"soon\"\n"),
        ("secret", "token = \"0123456789abcdef\"\n"),
        ("toml", "listen = \n"),
        ("scheme", "database = \"mysql://me:hush@localhost/x\"\n"),
        ("address", "database = \"postgres://me:hu/sh@localhost/x\"\n"),
        ("parameter", "database = \"postgres://localhost/x?passwd=hush\"\n"),
        ("schema", "schema = \"mine\"\n"),
        ("password", "databse = \"postgres://me:hush@localhost/x\"\n"),
        ("memory", "database = \"sqlite::memory:\"\n"),
    ];
    for (name, text) in rows {
        let dir = Workdir::with_config(text);
        let refused = dir.run(&["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(refused.code, Some(78), "{name}: {}", refused.err());
        assert!(
            !refused.err().contains("hush") && !refused.err().contains("hu/sh"),
            "{name}: a password is repeated: {}",
            refused.err()
        );
        text_is(&format!("config_bad_{name}"), &refusal(&dir, &refused));
    }
}

#[test]
fn a_mistake_in_environment_or_flags_names_where_it_came_from() {
    let dir = Workdir::new();
    let with =
        |name: &str, value: &str| -> Ran { dir.command(&["operations"]).env(name, value).output().unwrap().into() };
    text_is("config_bad_variable", &refusal(&dir, &with("ONEFOLD_LISTN", "127.0.0.1:1")));
    text_is("config_bad_variable_value", &refusal(&dir, &with("ONEFOLD_SWEEP_EVERY", "often")));
    text_is("config_bad_flag", &refusal(&dir, &dir.run(&["serve", "--listen", "everywhere"])));
    text_is("config_bad_limit", &refusal(&dir, &dir.run(&["serve", "--body-bytes-max", "1"])));
    text_is("config_bad_log", &refusal(&dir, &dir.run(&["serve", "--log", "a=b=c"])));
    text_is("config_missing_file", &refusal(&dir, &dir.run(&["config", "--config", "nowhere.toml"])));
    text_is("config_bad_server", &refusal(&dir, &dir.run(&["operations", "--server", "ftp://x"])));
    assert!(!dir.path("onefold.db").exists(), "nothing is made by a command that is refused");
}

#[test]
fn a_token_file_that_holds_no_token_is_refused() {
    let dir = Workdir::new();
    std::fs::write(dir.path("onefold.token"), "short\n").unwrap();
    text_is("start_bad_token_file", &refusal(&dir, &dir.run(&["serve", "--listen", "127.0.0.1:0"])));
}
