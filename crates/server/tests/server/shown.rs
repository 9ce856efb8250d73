//! What commands print, for people and as JSON.

use serde_json::json;

use crate::fixture::{Ran, Server, Workdir, claim, claim_of, merged};
use crate::seen::text_is;

/// A dir with a server and some work done.
fn worked() -> (Workdir, Server, String) {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let on = |id: &str| merged(&claim(id), &json!({ "worker": "host/1", "correlationId": "TRACE-1" }));
    let done = server.granted(&merged(&on("CASE-1"), &json!({ "businessKey": "CASE-1" })));
    server.record(&done, "complete", &json!({ "result": { "notice": "NTC-1" }, "evidence": "NTC-1" })).ok();
    let refused = server.granted(&on("CASE-2"));
    server.record(&refused, "fail", &json!({ "final": true, "code": "NOTICE_REFUSED" })).ok();
    let held = server.granted(&merged(&claim_of("letter.send", "CASE-3"), &json!({ "worker": "host/1" })));
    server.record(&held, "fail", &json!({ "final": true, "category": "PERMISSION" })).ok();
    let incident = server.unknown(&on("CASE-4"));
    (dir, server, incident)
}

#[test]
fn operations_are_listed_told_and_their_results_printed() {
    let (dir, _server, _) = worked();
    text_is("operations", &dir.run(&["operations"]).done());
    text_is("operations_filtered", &dir.run(&["operations", "list", "--status", "UNKNOWN"]).done());
    text_is("operations_by_key", &dir.run(&["operations", "--business-key", "CASE-1"]).done());
    let first = dir.run(&["operations", "--limit", "1"]).done();
    assert!(first.contains("more: --after "), "{first}");
    text_is("operations_none", &dir.run(&["operations", "--kind", "no.such"]).done());
    text_is("operation_result_text", &dir.run(&["operations", "result", "CASE-1"]).done());
    text_is("operation_story", &dir.run(&["operations", "show", "CASE-1"]).done());
    text_is("operation_story_unknown", &dir.run(&["operations", "show", "CASE-4"]).done());
    let reference = "op_bm90aWNlLmlzc3VlAENBU0UtMQ";
    assert!(dir.run(&["operations", "show", reference]).done().starts_with("CASE-1"));
}

#[test]
fn incidents_read_like_a_colleagues_note() {
    let (dir, _server, incident) = worked();
    text_is("incidents", &dir.run(&["incidents"]).done());
    text_is("incidents_listed", &dir.run(&["incidents", "list"]).done());
    text_is("incident_shown", &dir.run(&["incidents", "show", &incident]).done());
    let took_hold = ["--took-hold", "NTC-991", "--why", "found in the register"];
    let bulk = [&["incidents", "resolve", "--kind", "notice.issue", "--dry-run"][..], &took_hold].concat();
    text_is("incidents_bulk_dry_run", &dir.run(&bulk).done());
    let one = [&["incidents", "resolve", &incident, "--dry-run"][..], &took_hold].concat();
    text_is("incident_dry_run", &dir.run(&one).done());
    assert!(dir.run(&["incidents"]).done().starts_with("2 open"), "a dry run changes nothing");
    text_is("incident_resolved", &dir.run(&[&["incidents", "resolve", &incident][..], &took_hold].concat()).done());
    let retry = ["incidents", "retry", "--kind", "letter.send", "--why", "the credential was renewed"];
    text_is("incidents_retried", &dir.run(&retry).done());
    text_is("incidents_none", &dir.run(&["incidents"]).done());
    text_is("incidents_none_listed", &dir.run(&["incidents", "list"]).done());
    text_is("incidents_closed", &dir.run(&["incidents", "list", "--closed"]).done());
}

#[test]
fn what_the_server_shows_the_bare_file_shows_too() {
    let (dir, mut server, incident) = worked();
    let commands: [&[&str]; 5] = [
        &["operations"],
        &["operations", "show", "CASE-1"],
        &["incidents"],
        &["incidents", "list", "--json"],
        &["incidents", "show", &incident],
    ];
    let through = commands.map(|command| dir.run(command).done());
    assert_eq!(server.stop(), Some(0));
    assert_eq!(commands.map(|command| dir.run(command).done()), through);
}

#[test]
fn migrations_are_shown_before_they_are_applied() {
    let dir = Workdir::new();
    text_is("migrate_dry_run", &dir.run(&["migrate", "--dry-run"]).done());
    assert!(!dir.path("onefold.db").exists());
    text_is("migrate", &dir.run(&["migrate"]).done());
    text_is("migrate_again", &dir.run(&["migrate"]).done());
}

#[test]
fn retention_is_counted_before_it_is_applied() {
    let dir = Workdir::new();
    dir.run(&["migrate"]).done();
    text_is("prune_text_dry_run", &dir.run(&["prune", "--dry-run"]).done());
    text_is("prune_text", &dir.run(&["prune"]).done());
}

#[test]
fn tokens_are_shown_once_and_listed_without_their_secrets() {
    let dir = Workdir::new();
    dir.run(&["migrate"]).done();
    text_is("token_path", &dir.run(&["token"]).done());
    let added = dir.run(&["token", "add", "night-shift", "--role", "operator"]);
    let folder = dir.folder().to_str().unwrap();
    text_is("token_added", &format!("{}{}", added.done(), added.err().replace(folder, "[folder]")));
    dir.run(&["token", "add", "them", "--role", "reader", "--tenant", "other"]).done();
    let listed = dir.run(&["token", "list"]).done();
    assert!(!listed.contains(added.out().trim()), "{listed}");
    text_is("token_list", &listed);
    text_is("token_removed", &dir.run(&["token", "remove", "night-shift"]).done());
}

#[test]
fn every_setting_is_shown_with_where_it_came_from() {
    let dir = Workdir::with_config(
        "drain_for = \"5s\"\nlog = \"warn\"\nlisten = \"127.0.0.1:1\"\n\n[kind.\"notice.issue\"]\nclass = \"external-command\"\ndeadline = \"20s\"\n",
    );
    let config = |more: &[&str]| -> Ran {
        let args = [&["config", "--database", "sqlite:other.db"][..], more].concat();
        let mut command = dir.command(&args);
        command.env("ONEFOLD_LOG", "debug").env("ONEFOLD_TOKEN", "0123456789abcdef");
        command.output().unwrap().into()
    };
    text_is("config", &config(&[]).done());
    text_is("config_explained", &config(&["--explain"]).done());
    let as_json = config(&["--json"]);
    assert!(!as_json.out().contains("0123456789abcdef"), "a secret is never shown");
    assert_eq!(as_json.json()["kinds"][0]["kind"], "notice.issue");
}

#[test]
fn every_word_is_explained() {
    let dir = Workdir::new();
    for word in ["ask", "UNKNOWN", "external-command", "LEASE_SUPERSEDED", "attempt-id"] {
        text_is(&format!("explain_{word}"), &dir.run(&["explain", word]).done());
    }
    let spelled = |word: &str| dir.run(&["explain", word]).done();
    assert_eq!(spelled("lease-superseded"), spelled("LEASE_SUPERSEDED"));
    // The registry has a snapshot of its own, in core.
    let (words, codes) = (dir.run(&["explain"]).done(), "error codes:");
    text_is("explain", words.split_once(codes).unwrap().0);
    assert!(words.contains("LEASE_SUPERSEDED"), "{words}");
    let typo = dir.run(&["explain", "escalte"]);
    assert_eq!(typo.code, Some(65));
    text_is("explain_typo", &typo.err());
}

#[test]
fn every_command_has_its_json_twin() {
    let (dir, server, incident) = worked();
    let why = ["--why", "because", "--json"];
    let commands: [&[&str]; 15] = [
        &["operations", "--json"],
        &["operations", "show", "CASE-1", "--json"],
        &["operations", "result", "CASE-1", "--json"],
        &["incidents", "--json"],
        &["incidents", "list", "--json"],
        &["incidents", "show", &incident, "--json"],
        &["prune", "--dry-run", "--json"],
        &["migrate", "--dry-run", "--json"],
        &["token", "--json"],
        &["token", "add", "someone", "--role", "reader", "--json"],
        &["token", "list", "--json"],
        &["token", "remove", "someone", "--json"],
        &["config", "--json"],
        &["explain", "--json"],
        &["explain", "ask", "--json"],
    ];
    for command in commands {
        assert!(dir.run(command).json().is_object(), "{command:?}");
    }
    let dry = [&["incidents", "resolve", "--kind", "notice.issue", "--failed", "NO", "--dry-run"][..], &why].concat();
    assert_eq!(dir.run(&dry).json()["dryRun"], true);
    let one = [&["incidents", "resolve", &incident, "--failed", "NO"][..], &why].concat();
    assert_eq!(dir.run(&one).json()["verb"], "DONE");
    drop(server);
}

#[test]
fn a_server_says_where_it_is_and_what_to_try_next() {
    let dir = Workdir::new();
    let mut command = dir.command(&["serve", "--listen", "127.0.0.1:0", "--log", "error"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = String::new();
    let mut reader = std::io::BufReader::new(child.stdout.take().unwrap());
    while !lines.contains(" demo ") {
        assert!(std::io::BufRead::read_line(&mut reader, &mut lines).unwrap() > 0, "{lines}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // It stands in no search path here, so it is called by its path, which is as long as it is.
    let named = lines.replace(env!("CARGO_BIN_EXE_onefold"), "onefold");
    let named = named.replace(dir.folder().to_str().unwrap(), "[folder]");
    text_is("welcome", &named);
}

#[test]
fn a_reader_that_has_seen_enough_ends_a_command_quietly() {
    let dir = Workdir::new();
    dir.run(&["run", "--id", "a", "--", "true"]).done();
    for words in [
        &["errors", "--json"][..],
        &["errors"],
        &["explain"],
        &["completions", "bash"],
        &["operations"],
        &["operations", "--json"],
        &["config"],
        &["--help"],
    ] {
        let mut command = dir.command(words);
        let mut child =
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.lines().all(|line| line.starts_with("(ledger ")), "{words:?}: {said}");
    }
}

#[test]
fn a_command_whose_messages_nobody_reads_ends_as_it_would_have() {
    let dir = Workdir::new();
    dir.run(&["migrate"]).done();
    let rows: [(i32, &[&str]); 4] = [
        (66, &["operations", "show", "NEVER"]),
        (78, &["operations", "--log", "loud"]),
        (0, &["operations"]),
        (79, &["run", "--id", "a", "--", "sh", "-c", "exit 3"]),
    ];
    for (code, words) in rows {
        let mut command = dir.command(words);
        let mut child =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{words:?}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let dir = Workdir::new();
    dir.run(&["migrate"]).done();
    for words in [&["operations"][..], &["operations", "--json"], &["explain", "ask"], &["completions", "bash"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ran: Ran = dir.command(words).stdout(full).output().unwrap().into();
        assert_eq!(ran.code, Some(74), "{words:?}: {}", ran.err());
        assert!(ran.err().contains("OUTPUT_NOT_WRITTEN"), "{words:?}: {}", ran.err());
    }
}
