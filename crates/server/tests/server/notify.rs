//! A webhook hears of every incident: signed, at least once, under one id, by cause, without payloads.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::fixture::{Server, Workdir, claim, claim_of, merged, until};
use crate::receiver::{ReceivedMessage, Receiver, declare, loopback};

fn dir(at: SocketAddr, more: &str) -> Workdir {
    let dir = Workdir::new();
    declare(dir.folder(), at, more);
    dir
}

fn serve(dir: &Workdir) -> Server {
    dir.serve(&["--sweep-every", "100ms"])
}

#[test]
fn an_incident_survives_a_receiver_that_is_away_that_fails_and_a_restart_and_is_told_under_one_id() {
    let receiver = Receiver::start(loopback(), 500);
    let at = receiver.at;
    let dir = dir(at, "group_for = \"0ms\"\n");
    let mut server = serve(&dir);
    server.unknown(&merged(&claim("CASE-1"), &json!({ "request": { "iban": "m4rk3r" }, "businessKey": "BKEY-1" })));
    until("the receiver was asked and failed", || !receiver.heard().is_empty());
    let first = receiver.heard()[0].clone();
    assert!(first.signed(), "{first:?}");
    // Away altogether, over a restart of the server.
    drop(receiver);
    until("the server notices", || server.log().contains("incidents could not be told"));
    server.kill();
    let server = serve(&dir);
    let receiver = Receiver::start(at, 500);
    until("it is asked again after the restart", || !receiver.heard().is_empty());
    receiver.answer_with(204);
    until("it is taken", || !receiver.taken().is_empty());
    let taken = receiver.taken()[0].clone();
    assert_eq!((&taken.id, taken.signed()), (&first.id, true), "the id is the same however often it is sent");
    assert_eq!(taken.operations(), ["CASE-1"]);
    let body = taken.json();
    assert_eq!(body["type"], "incident.opened", "{body}");
    assert_eq!(body["data"]["runbook"], "/runbooks/unknown-outcome", "{body}");
    assert_eq!(body["data"]["safeToRetry"], false, "{body}");
    assert!(!taken.body.contains("m4rk3r") && taken.body.contains("BKEY-1"), "{}", taken.body);
    // Its closing is told too, and nothing is told twice once it was taken.
    let incident = body["data"]["incidents"][0]["id"].as_str().unwrap();
    let resolve = json!({ "failed": "GAVE_UP", "why": "looked" });
    server.post(&format!("/v1/incidents/{incident}/resolve"), &resolve).ok();
    until("its closing is told", || receiver.taken().len() == 2);
    let closed = receiver.taken()[1].json();
    assert_eq!(closed["type"], "incident.closed", "{closed}");
    assert_eq!(closed["data"]["incidents"][0]["id"].as_str(), Some(incident));
    assert!(!receiver.taken()[1].body.contains("closedBy"), "who closed it stands in the timeline");
    server.unknown(&claim("CASE-2"));
    until("the next one is told", || receiver.taken().len() == 3);
    assert_eq!(receiver.taken()[2].operations(), ["CASE-2"], "the first is not told again");
}

#[test]
fn incidents_of_one_cause_are_one_message() {
    // Away while they are opened.
    let at = Receiver::start(loopback(), 204).at;
    let dir = dir(at, "group_for = \"1h\"\n");
    let server = serve(&dir);
    server.unknown(&claim("FIRST"));
    until("the first is on its way", || server.log().contains("incidents could not be told"));
    for index in 0..5 {
        server.unknown(&claim(&format!("CASE-{index}")));
    }
    server.unknown(&claim_of("letter.send", "OTHER"));
    let receiver = Receiver::start(at, 204);
    // A message may come twice, under its own id.
    let told = || -> BTreeSet<Vec<String>> { receiver.taken().iter().map(ReceivedMessage::operations).collect() };
    until("both causes are told", || told().len() >= 2);
    let both = [["FIRST".to_owned()].to_vec(), ["OTHER".to_owned()].to_vec()];
    assert_eq!(told(), both.into(), "the rest of a cause waits for its time");
    // A new life starts with a new pace: what was held back is told then, together.
    drop(server);
    let _server = serve(&dir);
    let rest = || receiver.taken().into_iter().find(|heard| heard.operations().len() > 1);
    until("the rest is told together", || rest().is_some());
    assert_eq!(rest().unwrap().operations(), ["CASE-0", "CASE-1", "CASE-2", "CASE-3", "CASE-4"]);
    assert_eq!(rest().unwrap().json()["data"]["count"], 5);
}

#[test]
fn an_opened_and_a_closed_incident_are_logged_without_names_and_payloads() {
    let dir = Workdir::new();
    let server = dir.serve(&["--sweep-every", "100ms", "--log-format", "json"]);
    let more = json!({
        "request": { "iban": "m4rk3r" }, "businessKey": "BKEY-1", "processInstanceKey": "PIK-7", "elementId": "IssueNotice",
    });
    let incident = server.unknown(&merged(&claim("CASE-1"), &more));
    let line = |what: &str| {
        let log = server.log();
        let found = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        found.into_iter().find(|line| line["message"] == what && line["incident"] == *incident)
    };
    until("the opening is logged", || line("incident opened").is_some());
    let opened = line("incident opened").unwrap();
    for (field, value) in [
        ("level", json!("ERROR")),
        ("error_code", json!("DOWNSTREAM_TIMEOUT")),
        ("operation_id", json!("CASE-1")),
        ("business_key", json!("BKEY-1")),
        ("process_instance_key", json!("PIK-7")),
        ("element_id", json!("IssueNotice")),
        ("attempt", json!(1)),
        ("effect", json!("UNKNOWN")),
        ("runbook", json!("/runbooks/unknown-outcome")),
    ] {
        assert_eq!(opened[field], value, "{field}: {opened}");
    }
    let ada = dir.run(&["token", "add", "ada-lovelace", "--role", "operator", "--json"]).json();
    let ada = ada["token"].as_str().unwrap();
    let body = json!({ "failed": "GAVE_UP", "why": "looked" });
    let path = format!("/v1/incidents/{incident}/resolve");
    until("the token is known", || server.send(&crate::wire::Call::post(&path, &body).token(ada)).status == 200);
    until("the closing is logged", || line("incident closed").is_some());
    assert_eq!(line("incident closed").unwrap()["closed_by"], "person");
    let settled = line("incident settled").unwrap();
    assert!(settled["span"]["actor"].is_string(), "who it was, by a pseudonym: {settled}");
    let log = server.log();
    assert!(!log.contains("ada-lovelace") && !log.contains("m4rk3r"), "{log}");
    assert_eq!(log.matches("\"incident opened\"").count(), 1, "once: {log}");
}

#[test]
fn a_declaration_that_cannot_work_stops_the_start() {
    let dir = Workdir::with_config("[notify]\nwebhook = \"http://ops.example.com/\"\nsecret_file = \"s\"\n");
    let ran = dir.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(ran.code == Some(78) && ran.err().contains("onefold.toml:2:"), "{}", ran.err());
    let dir = Workdir::with_config("[notify]\nwebhook = \"https://ops.example.com/\"\nsecret_file = \"absent\"\n");
    let ran = dir.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(ran.code == Some(78) && ran.err().contains("absent"), "{}", ran.err());
}
