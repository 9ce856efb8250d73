//! What commands print, for people and as JSON.

use serde_json::json;

use crate::seen::text_is;
use crate::stage::{Ran, Server, Stage, claim, claim_of, merged};

/// A stage with a server and some work done.
fn worked() -> (Stage, Server, String) {
    let stage = Stage::new();
    let server = stage.serve(&[]);
    let on = |id: &str| merged(&claim(id), &json!({ "worker": "host/1", "correlationId": "TRACE-1" }));
    let done = server.granted(&merged(&on("CASE-1"), &json!({ "businessKey": "CASE-1" })));
    server.record(&done, "complete", &json!({ "result": { "notice": "NTC-1" }, "evidence": "NTC-1" })).ok();
    let refused = server.granted(&on("CASE-2"));
    server.record(&refused, "fail", &json!({ "final": true, "code": "NOTICE_REFUSED" })).ok();
    let held = server.granted(&merged(&claim_of("letter.send", "CASE-3"), &json!({ "worker": "host/1" })));
    server.record(&held, "fail", &json!({ "final": true, "category": "PERMISSION" })).ok();
    let incident = server.unknown(&on("CASE-4"));
    (stage, server, incident)
}

#[test]
fn operations_are_listed_told_and_their_results_printed() {
    let (stage, _server, _) = worked();
    text_is("operations", &stage.run(&["operations"]).done());
    text_is("operations_filtered", &stage.run(&["operations", "list", "--status", "UNKNOWN"]).done());
    text_is("operations_by_key", &stage.run(&["operations", "--business-key", "CASE-1"]).done());
    let first = stage.run(&["operations", "--limit", "1"]).done();
    assert!(first.contains("more: --after "), "{first}");
    text_is("operations_none", &stage.run(&["operations", "--kind", "no.such"]).done());
    text_is("operation_result_text", &stage.run(&["operations", "result", "CASE-1"]).done());
    text_is("operation_story", &stage.run(&["operations", "show", "CASE-1"]).done());
    text_is("operation_story_unknown", &stage.run(&["operations", "show", "CASE-4"]).done());
    let reference = "op_bm90aWNlLmlzc3VlAENBU0UtMQ";
    assert!(stage.run(&["operations", "show", reference]).done().starts_with("CASE-1"));
}

#[test]
fn incidents_read_like_a_colleagues_note() {
    let (stage, _server, incident) = worked();
    text_is("incidents", &stage.run(&["incidents"]).done());
    text_is("incidents_listed", &stage.run(&["incidents", "list"]).done());
    text_is("incident_shown", &stage.run(&["incidents", "show", &incident]).done());
    let took_hold = ["--took-hold", "NTC-991", "--why", "found in the register"];
    let bulk = [&["incidents", "resolve", "--kind", "notice.issue", "--dry-run"][..], &took_hold].concat();
    text_is("incidents_bulk_dry_run", &stage.run(&bulk).done());
    let one = [&["incidents", "resolve", &incident, "--dry-run"][..], &took_hold].concat();
    text_is("incident_dry_run", &stage.run(&one).done());
    assert!(stage.run(&["incidents"]).done().starts_with("2 open"), "a dry run changes nothing");
    text_is("incident_resolved", &stage.run(&[&["incidents", "resolve", &incident][..], &took_hold].concat()).done());
    let retry = ["incidents", "retry", "--kind", "letter.send", "--why", "the credential was renewed"];
    text_is("incidents_retried", &stage.run(&retry).done());
    text_is("incidents_none", &stage.run(&["incidents"]).done());
    text_is("incidents_none_listed", &stage.run(&["incidents", "list"]).done());
    text_is("incidents_closed", &stage.run(&["incidents", "list", "--closed"]).done());
}

#[test]
fn what_the_server_shows_the_bare_file_shows_too() {
    let (stage, mut server, incident) = worked();
    let commands: [&[&str]; 5] = [
        &["operations"],
        &["operations", "show", "CASE-1"],
        &["incidents"],
        &["incidents", "list", "--json"],
        &["incidents", "show", &incident],
    ];
    let through = commands.map(|command| stage.run(command).done());
    assert_eq!(server.stop(), Some(0));
    assert_eq!(commands.map(|command| stage.run(command).done()), through);
}

#[test]
fn migrations_are_shown_before_they_are_applied() {
    let stage = Stage::new();
    text_is("migrate_dry_run", &stage.run(&["migrate", "--dry-run"]).done());
    assert!(!stage.path("onefold.db").exists());
    text_is("migrate", &stage.run(&["migrate"]).done());
    text_is("migrate_again", &stage.run(&["migrate"]).done());
}

#[test]
fn retention_is_counted_before_it_is_applied() {
    let stage = Stage::new();
    stage.run(&["migrate"]).done();
    text_is("prune_text_dry_run", &stage.run(&["prune", "--dry-run"]).done());
    text_is("prune_text", &stage.run(&["prune"]).done());
}

#[test]
fn tokens_are_shown_once_and_listed_without_their_secrets() {
    let stage = Stage::new();
    stage.run(&["migrate"]).done();
    text_is("token_path", &stage.run(&["token"]).done());
    let added = stage.run(&["token", "add", "night-shift", "--role", "operator"]);
    let folder = stage.folder().to_str().unwrap();
    text_is("token_added", &format!("{}{}", added.done(), added.err().replace(folder, "[folder]")));
    stage.run(&["token", "add", "them", "--role", "reader", "--tenant", "other"]).done();
    let listed = stage.run(&["token", "list"]).done();
    assert!(!listed.contains(added.out().trim()), "{listed}");
    text_is("token_list", &listed);
    text_is("token_removed", &stage.run(&["token", "remove", "night-shift"]).done());
}

#[test]
fn every_setting_is_shown_with_where_it_came_from() {
    let stage = Stage::with_config(
        "drain_for = \"5s\"\nlog = \"warn\"\nlisten = \"127.0.0.1:1\"\n\n[kind.\"notice.issue\"]\nclass = \"external-command\"\ndeadline = \"20s\"\n",
    );
    let config = |more: &[&str]| -> Ran {
        let args = [&["config", "--database", "sqlite:other.db"][..], more].concat();
        let mut command = stage.command(&args);
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
    let stage = Stage::new();
    for word in ["ask", "UNKNOWN", "external-command", "LEASE_SUPERSEDED", "attempt-id"] {
        text_is(&format!("explain_{word}"), &stage.run(&["explain", word]).done());
    }
    let spelled = |word: &str| stage.run(&["explain", word]).done();
    assert_eq!(spelled("lease-superseded"), spelled("LEASE_SUPERSEDED"));
    // The registry has a snapshot of its own, in core.
    let (words, codes) = (stage.run(&["explain"]).done(), "error codes:");
    text_is("explain", words.split_once(codes).unwrap().0);
    assert!(words.contains("LEASE_SUPERSEDED"), "{words}");
    let typo = stage.run(&["explain", "escalte"]);
    assert_eq!(typo.code, Some(65));
    text_is("explain_typo", &typo.err());
}

#[test]
fn every_command_has_its_json_twin() {
    let (stage, server, incident) = worked();
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
        assert!(stage.run(command).json().is_object(), "{command:?}");
    }
    let dry = [&["incidents", "resolve", "--kind", "notice.issue", "--failed", "NO", "--dry-run"][..], &why].concat();
    assert_eq!(stage.run(&dry).json()["dryRun"], true);
    let one = [&["incidents", "resolve", &incident, "--failed", "NO"][..], &why].concat();
    assert_eq!(stage.run(&one).json()["verb"], "DONE");
    drop(server);
}

#[test]
fn a_server_says_where_it_is_and_what_to_try_next() {
    let stage = Stage::new();
    let mut command = stage.command(&["serve", "--listen", "127.0.0.1:0", "--log", "error"]);
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
    let named = named.replace(stage.folder().to_str().unwrap(), "[folder]");
    text_is("welcome", &named);
}

#[test]
fn a_reader_that_has_seen_enough_ends_a_command_quietly() {
    let stage = Stage::new();
    stage.run(&["run", "--id", "a", "--", "true"]).done();
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
        let mut command = stage.command(words);
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
    let stage = Stage::new();
    stage.run(&["migrate"]).done();
    let rows: [(i32, &[&str]); 4] = [
        (66, &["operations", "show", "NEVER"]),
        (78, &["operations", "--log", "loud"]),
        (0, &["operations"]),
        (79, &["run", "--id", "a", "--", "sh", "-c", "exit 3"]),
    ];
    for (code, words) in rows {
        let mut command = stage.command(words);
        let mut child =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{words:?}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let stage = Stage::new();
    stage.run(&["migrate"]).done();
    for words in [&["operations"][..], &["operations", "--json"], &["explain", "ask"], &["completions", "bash"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ran: Ran = stage.command(words).stdout(full).output().unwrap().into();
        assert_eq!(ran.code, Some(74), "{words:?}: {}", ran.err());
        assert!(ran.err().contains("OUTPUT_NOT_WRITTEN"), "{words:?}: {}", ran.err());
    }
}
