//! A command finds the ledger that was meant, says which one it looked at, and makes no other by accident.

use std::path::Path;
use std::process::Stdio;

use crate::fixture::{Ran, Workdir};

/// The binary in a folder below the dir's.
fn below(dir: &Workdir, folder: &str, args: &[&str]) -> Ran {
    std::fs::create_dir_all(dir.path(folder)).unwrap();
    dir.command(args).current_dir(dir.path(folder)).output().unwrap().into()
}

fn databases(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| Path::new(name).extension().is_some_and(|extension| extension == "db"));
    names.sort();
    names
}

#[test]
fn a_command_that_only_looks_makes_no_ledger_and_gives_no_all_clear() {
    let dir = Workdir::new();
    let commands: [&[&str]; 9] = [
        &["operations"],
        &["operations", "show", "x"],
        &["incidents"],
        &["incidents", "list"],
        &["prune"],
        &["prune", "--dry-run"],
        &["token"],
        &["token", "list"],
        &["token", "add", "someone", "--role", "reader"],
    ];
    for command in commands {
        let refused = dir.run(command);
        assert_eq!(refused.code, Some(66), "{command:?}: {}{}", refused.out(), refused.err());
        assert!(refused.out().is_empty(), "{command:?}: {}", refused.out());
        let place = dir.path("onefold.db");
        let said = format!("no ledger at {}; started elsewhere?", place.display());
        assert!(refused.err().contains(&said), "{}", refused.err());
        assert_eq!(std::fs::read_dir(dir.folder()).unwrap().count(), 0, "{command:?} left something behind");
    }
}

#[test]
fn a_new_ledger_is_announced_once() {
    let dir = Workdir::new();
    let first = dir.run(&["run", "--id", "a", "--", "echo", "a"]);
    assert_eq!(first.done(), "a\n");
    let announced = format!("(created a new ledger at {})\n", dir.path("onefold.db").display());
    assert_eq!(first.err(), announced);
    assert_eq!(dir.run(&["run", "--id", "b", "--", "echo", "b"]).err(), "");
    let dir = Workdir::new();
    assert!(dir.run(&["migrate"]).err().contains("created a new ledger at"));
    let dir = Workdir::new();
    assert!(dir.serve(&[]).log().contains("created a new ledger at"));
}

#[test]
fn every_output_names_the_ledger_that_it_looked_at() {
    let dir = Workdir::new();
    dir.run(&["run", "--id", "a", "--", "echo", "a"]).done();
    let place = dir.path("onefold.db").display().to_string();
    let look = || {
        for command in
            [&["operations"][..], &["operations", "show", "a"], &["incidents"], &["prune"], &["token", "list"]]
        {
            let looked = dir.run(command);
            looked.done();
            assert!(looked.err().contains(&format!("(ledger {place})")), "{command:?}: {}", looked.err());
            let as_json = dir.run(&[command, &["--json"]].concat()).json();
            assert_eq!(as_json["ledger"], place.as_str(), "{command:?}: {as_json}");
        }
        let again = dir.run(&["run", "--id", "a", "--", "echo", "a"]);
        assert!(again.err().contains(&format!("(ledger {place})")), "{}", again.err());
        let other = dir.run(&["run", "--id", "a", "--", "echo", "b"]);
        assert!(other.err().contains(&format!("(ledger {place})")), "{}", other.err());
        let unsure = dir.run(&["run", "--id", "unsure", "--", "false"]);
        assert!(unsure.err().contains(&format!("(ledger {place})")), "{}", unsure.err());
    };
    look();
    let server = dir.serve(&[]);
    look();
    let named = dir.run(&["operations", "--server", &server.url(), "--json"]).json();
    assert_eq!(named["ledger"], server.url());
}

#[test]
fn a_file_with_tables_of_others_is_left_alone_unless_that_is_meant() {
    let dir = Workdir::new();
    let tables = || -> Vec<String> {
        let connection = rusqlite::Connection::open(dir.path("mine.db")).unwrap();
        let mut statement =
            connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let mine = "CREATE TABLE invoices (id)";
    rusqlite::Connection::open(dir.path("mine.db")).unwrap().execute_batch(mine).unwrap();
    let at = ["--database", "sqlite:mine.db"];
    for (command, code) in [
        (&["operations"][..], 66),
        (&["run", "--id", "a"], 1),
        (&["migrate"], 1),
        (&["serve", "--listen", "127.0.0.1:0"], 1),
    ] {
        let line = [command, &at, if command[0] == "run" { &["--", "true"] } else { &[] }].concat();
        let refused = dir.run(&line);
        assert_eq!(refused.code, Some(code), "{command:?}: {}", refused.err());
        assert!(code == 66 || refused.err().contains("holds other tables (invoices)"), "{}", refused.err());
        assert!(code == 66 || refused.err().contains("--into-existing"), "{}", refused.err());
        assert_eq!(tables(), ["invoices"], "{command:?}");
    }
    let meant = [&["run", "--into-existing", "--id", "a"][..], &at, &["--", "echo", "a"]].concat();
    assert_eq!(dir.run(&meant).done(), "a\n");
    assert!(tables().contains(&"onefold_operations".to_owned()));
    dir.run(&[&["operations"][..], &at].concat()).done();
}

#[test]
fn a_configuration_above_the_working_folder_counts_and_its_ledger_is_beside_it() {
    let dir = Workdir::with_config("log = \"warn\"\n");
    assert_eq!(below(&dir, "a/b", &["run", "--id", "x", "--", "echo", "x"]).done(), "x\n");
    let again = below(&dir, "c", &["run", "--id", "x", "--", "echo", "x"]);
    assert!(again.err().contains("output replayed"), "performed twice: {}", again.err());
    assert_eq!(databases(dir.folder()), ["onefold.db"]);
    assert!(databases(&dir.path("a/b")).is_empty() && databases(&dir.path("c")).is_empty());
    let shown = below(&dir, "a", &["config"]).done();
    assert!(shown.contains(&format!("sqlite:{}", dir.path("onefold.db").display())), "{shown}");
    assert!(shown.contains(&format!("{}:1", dir.path("onefold.toml").display())), "{shown}");
}

#[test]
fn relative_paths_in_a_configuration_begin_where_it_is() {
    let dir = Workdir::with_config("database = \"sqlite:data/ledger.db\"\ntoken_file = \"data/secret\"\n");
    std::fs::create_dir(dir.path("data")).unwrap();
    below(&dir, "deep", &["run", "--id", "x", "--", "true"]).done();
    assert_eq!(databases(&dir.path("data")), ["ledger.db"]);
    let named = dir.path("onefold.toml").display().to_string();
    let elsewhere = Workdir::new();
    assert!(elsewhere.run(&["operations", "--config", &named]).done().contains("COMPLETED"));
    below(&dir, "deep", &["token"]).done();
    assert!(dir.path("data/secret").exists());
}

#[test]
fn the_banner_prints_commands_that_work_as_printed() {
    let dir = Workdir::new();
    let flags = ["--database", "sqlite:my ledger.db", "--token-file", "my token"];
    let line = [&["serve", "--listen", "127.0.0.1:0", "--log", "error"][..], &flags].concat();
    let mut server = dir.command(&line).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut reader = std::io::BufReader::new(server.stdout.take().unwrap());
    while !said.contains(" demo ") {
        assert!(std::io::BufRead::read_line(&mut reader, &mut said).unwrap() > 0, "{said}");
    }
    let printed = said.lines().skip_while(|line| !line.starts_with("Try next")).skip(1);
    // The demo has a test of its own.
    let script = printed.filter(|line| !line.contains(" demo ")).collect::<Vec<_>>().join("\n");
    let elsewhere = tempfile::tempdir().unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-e", "-c", &script]).current_dir(elsewhere.path()).env_remove("ONEFOLD_DATABASE");
    let ran: Ran = shell.output().unwrap().into();
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(ran.code, Some(0), "{script}\n{}{}", ran.out(), ran.err());
    assert!(
        ran.out().contains("\"claim\":\"granted\"") && ran.out().contains("hello"),
        "{script}\n{}{}",
        ran.out(),
        ran.err()
    );
    assert!(ran.out().contains("CASE-1:NOTICE"), "the commands see what the server has: {}", ran.out());
    assert_eq!(databases(dir.folder()), ["my ledger.db"]);
    assert!(databases(elsewhere.path()).is_empty());
}
