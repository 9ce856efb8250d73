//! What `onefold outbox` prints, and how it ends.

use onefold_core::error::RELAY_STOPPED;

use crate::fixture::Workdir;
use crate::outbox::{EVENTS, FIRST, SECOND, UNKNOWN, event, with_parked};
use crate::relay_fixture::{Lease, RelayFixture};
use crate::seen::text_is;

/// A table without how long its oldest events wait.
fn without_ages(text: &str) -> String {
    let masked = |line: &str| match line.split_once(" s  ") {
        Some((before, after)) => {
            let kept = before.trim_end_matches(|c: char| c == '.' || c.is_ascii_digit()).trim_end();
            format!("{kept:<width$}0.0 s  {after}\n", width = before.len() - 3)
        }
        None => format!("{line}\n"),
    };
    text.lines().map(masked).collect()
}

#[test]
fn the_outbox_is_shown_to_people() {
    let dir = Workdir::with_config(EVENTS);
    let server = dir.serve(&[]);
    text_is("outbox_no_relay", &dir.run(&["outbox"]).done());
    text_is("outbox_none_parked", &dir.run(&["outbox", "parked"]).done());
    let cases = RelayFixture::declared(&dir.path("onefold.db"), "cases", "case.*");
    let _letters = RelayFixture::declared(&dir.path("onefold.db"), "letters", "letter.*");
    let _partners = RelayFixture::declared(&dir.path("onefold.db"), "partners", "*");
    for id in [FIRST, SECOND] {
        server.post("/v1/events", &event(id, "CASE-7")).ok();
    }
    cases.refuse_all("the schema says no", Lease::Over);
    let retired = dir.run(&["outbox", "retire", "letters", "--why", "nobody serves it"]);
    text_is("outbox_retired", &retired.done());
    text_is("outbox_status", &without_ages(&dir.run(&["outbox", "status"]).done()));
    text_is("outbox_parked", &dir.run(&["outbox", "parked", "--relay", "cases"]).done());
    text_is("outbox_more_parked", &dir.run(&["outbox", "parked", "--limit", "1"]).done());
    text_is("outbox_event", &dir.run(&["outbox", "show", FIRST]).done());
}

#[test]
fn a_person_decides_on_the_command_line() {
    let (dir, _server, relay) = with_parked(Lease::Over);
    let why = ["--why", "looked it up"];
    let run = |words: &[&str]| dir.run(&[&["outbox"][..], words, &why].concat()).done();
    std::fs::write(dir.path("fixed.json"), "{\"caseId\":  \"CASE-7\"}\n").unwrap();
    text_is("outbox_edited", &run(&["edit", FIRST, "--payload", "fixed.json"]));
    text_is("outbox_event_edited", &dir.run(&["outbox", "show", FIRST]).done());
    text_is("outbox_released", &run(&["release", FIRST, "--relay", "cases"]));
    text_is("outbox_skipped", &run(&["skip", FIRST]));
    text_is("outbox_started_none", &run(&["start", "cases"]));
    relay.stop(RELAY_STOPPED);
    text_is("outbox_stopped", &without_ages(&dir.run(&["outbox"]).done()));
    text_is("outbox_started", &run(&["start", "cases"]));
    text_is("outbox_rebased", &run(&["rebase", "cases", "--begin", "oldest"]));
}

#[test]
fn the_bare_file_shows_what_the_server_shows() {
    let (dir, mut server, relay) = with_parked(Lease::Over);
    let commands: [&[&str]; 4] =
        [&["outbox", "status"], &["outbox", "parked"], &["outbox", "show", FIRST], &["outbox", "parked", "--json"]];
    let through = commands.map(|command| dir.run(command).done());
    drop(relay);
    assert_eq!(server.stop(), Some(0));
    assert_eq!(commands.map(|command| dir.run(command).done()), through);
    dir.run(&["outbox", "skip", FIRST, "--why", "nobody needs it"]).done();
}

#[test]
fn every_outbox_command_prints_json_and_ends_with_its_code() {
    let (dir, _server, relay) = with_parked(Lease::Running);
    let json: [&[&str]; 5] = [
        &["outbox", "--json"],
        &["outbox", "parked", "--json"],
        &["outbox", "show", FIRST, "--json"],
        &["outbox", "release", FIRST, "--why", "x", "--json"],
        &["outbox", "start", "cases", "--why", "x", "--json"],
    ];
    for command in json {
        assert!(dir.run(command).json()["ledger"].is_string(), "{command:?}");
    }
    let rows: &[(i32, &[&str])] = &[
        (75, &["outbox", "skip", FIRST, "--why", "x"]),
        (2, &["outbox", "skip", FIRST]),
        (2, &["outbox", "edit", FIRST, "--why", "x"]),
        (2, &["outbox", "rebase", "cases", "--why", "x"]),
        (65, &["outbox", "show", "7"]),
        (65, &["outbox", "parked", "--limit", "0"]),
        (65, &["outbox", "edit", FIRST, "--payload", "no-such-file", "--why", "x"]),
        (65, &["outbox", "release", FIRST, "--why", " "]),
        (65, &["outbox", "rebase", "cases", "--begin", "yesterday", "--why", "x"]),
        (66, &["outbox", "show", UNKNOWN]),
        (66, &["outbox", "release", UNKNOWN, "--why", "x"]),
        (66, &["outbox", "start", "nobody", "--why", "x"]),
        (1, &["outbox", "release", FIRST, "--relay", "others", "--why", "x"]),
    ];
    for (code, args) in rows {
        let ran = dir.run(args);
        assert_eq!(ran.code, Some(*code), "{args:?}: {}{}", ran.out(), ran.err());
        assert!(ran.out().is_empty(), "what is wrong is said on stderr: {args:?} {}", ran.out());
        let helps = ["next: ", "Usage", "tip: ", "--help"].iter().any(|word| ran.err().contains(word));
        assert!(helps, "{args:?}: {}", ran.err());
    }
    drop(relay);
}
