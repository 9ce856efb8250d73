//! Replays over the API and in the shell: counted, asked for, sent to a real receiver, listed, cancelled.

use serde_json::{Value, json};

use crate::fixture::{Server, Workdir, merged, until};
use crate::outbox::{EVENTS, FIRST, SECOND, event, token};
use crate::receiver::{Receiver, loopback};
use crate::relays::relaying;
use crate::seen::{json_is, text_is};
use crate::wire::{Answer, Call};

/// A server whose relay `cases` has published two events.
fn with_published(receiver: &Receiver) -> (Workdir, Server) {
    let dir = relaying(receiver.at, EVENTS);
    let server = dir.serve(&[]);
    for id in [FIRST, SECOND] {
        server.post("/v1/events", &event(id, "CASE-7")).ok();
    }
    until("the events are published", || {
        receiver.taken().len() == 2 && server.get(&format!("/v1/events/{SECOND}")).ok()["published"] == true
    });
    (dir, server)
}

fn ask(server: &Server, body: &Value) -> Answer {
    server.post("/v1/relays/cases/replays", body)
}

fn wanted() -> Value {
    json!({ "type": "case.submitted", "max": 5000, "rate": "200/s", "why": "the consumer lost a day" })
}

fn done(server: &Server, id: &str) -> Value {
    let path = format!("/v1/replays/{id}");
    until("the replay is done", || server.get(&path).ok()["state"] == "DONE");
    server.get(&path).ok()
}

#[test]
fn a_replay_is_counted_then_sent_with_the_same_ids_and_its_own() {
    let receiver = Receiver::start(loopback(), 204);
    let (_dir, server) = with_published(&receiver);
    let counted = merged(&wanted(), &json!({ "dryRun": true, "max": 1 }));
    json_is("replay_dry_run", &ask(&server, &counted).ok());
    assert_eq!(receiver.heard().len(), 2, "a dry run sends nothing");
    assert!(server.get("/v1/replays").ok()["items"].as_array().unwrap().is_empty());
    let asked = ask(&server, &wanted()).ok();
    json_is("replay_asked", &merged(&asked, &json!({})));
    let id = asked["replay"]["id"].as_str().unwrap().to_owned();
    json_is("replay_done", &done(&server, &id));
    let heard = receiver.taken();
    let again: Vec<&str> = heard[2..].iter().map(|message| message.id.as_str()).collect();
    assert_eq!(again, [FIRST, SECOND]);
    assert!(heard[2..].iter().all(|message| message.header("onefold-replay") == Some(id.as_str()) && message.signed()));
    assert!(heard[..2].iter().all(|message| message.header("onefold-replay").is_none()));
    let metrics = server.get("/metrics").text();
    assert!(metrics.contains("onefold_outbox_replayed_total{relay=\"cases\"} 2"), "{metrics}");
    let listed = server.get("/v1/replays?relay=cases&limit=1").ok();
    assert_eq!((&listed["items"][0]["id"], &listed["more"]), (&json!(id), &json!(false)));
    assert!(server.get("/v1/replays?relay=others").ok()["items"].as_array().unwrap().is_empty());
}

#[test]
fn what_is_refused_in_a_replay_is_named_and_not_set_aside() {
    let receiver = Receiver::start(loopback(), 204);
    let (dir, server) = with_published(&receiver);
    receiver.answer_with(422);
    let asked = ask(&server, &wanted()).ok();
    let ended = done(&server, asked["replay"]["id"].as_str().unwrap());
    assert_eq!((&ended["published"], &ended["refused"]), (&json!(0), &json!(2)));
    assert_eq!((&ended["refusals"][0]["event"], &ended["refusals"][1]["event"]), (&json!(FIRST), &json!(SECOND)));
    assert!(server.get("/v1/events/parked").ok()["items"].as_array().unwrap().is_empty());
    let metrics = server.get("/metrics").text();
    let refused = "onefold_outbox_replay_refused_total{relay=\"cases\",error_code=\"EVENT_TARGET_REFUSED\"} 2";
    assert!(metrics.contains(refused), "{metrics}");
    text_is("outbox_replay_refused", &dir.run(&["outbox", "replays", ended["id"].as_str().unwrap()]).done());
}

#[test]
fn a_replay_without_a_bound_is_refused_and_a_wrong_one_says_where() {
    let receiver = Receiver::start(loopback(), 204);
    let (_dir, server) = with_published(&receiver);
    let without = |names: &[&str]| {
        let mut body = wanted();
        for name in names {
            body.as_object_mut().unwrap().remove(*name);
        }
        body
    };
    json_is("replay_unbounded", &ask(&server, &without(&["type"])).problem(422, "REPLAY_UNBOUNDED"));
    json_is("replay_without_max", &ask(&server, &without(&["max"])).problem(422, "REPLAY_UNBOUNDED"));
    ask(&server, &without(&["why"])).problem(400, "REQUEST_BODY_INVALID");
    ask(&server, &merged(&wanted(), &json!({ "why": " " }))).problem(400, "LIMIT_EXCEEDED");
    let rows = [
        (json!({ "max": 0 }), 422, "VALIDATION_REJECTED", "max"),
        (json!({ "max": 1_000_001 }), 422, "VALIDATION_REJECTED", "max"),
        (json!({ "rate": "0/s" }), 422, "VALIDATION_REJECTED", "rate"),
        (json!({ "rate": "fast" }), 400, "REQUEST_BODY_INVALID", "rate"),
        (json!({ "rate": "5/h" }), 400, "REQUEST_BODY_INVALID", "rate"),
        (json!({ "from": "yesterday" }), 400, "REQUEST_BODY_INVALID", "from"),
        (json!({ "type": "two words" }), 400, "REQUEST_BODY_INVALID", "type"),
        (json!({ "aggregateType": "case" }), 422, "VALIDATION_REJECTED", "aggregate"),
        (json!({ "from": "2026-11-15T09:00:00Z", "to": "2026-11-15T08:00:00Z" }), 422, "VALIDATION_REJECTED", "to"),
        (json!({ "nosuch": 1 }), 400, "REQUEST_BODY_INVALID", "nosuch"),
    ];
    for (change, status, code, says) in rows {
        let problem = ask(&server, &merged(&wanted(), &change)).problem(status, code);
        assert!(problem.to_string().contains(says), "{change}: {problem}");
    }
    for nobody in ["nobody", "two%20words"] {
        server.post(&format!("/v1/relays/{nobody}/replays"), &wanted()).problem(404, "RELAY_NOT_FOUND");
    }
    for id in ["7", "rpl_00000000000000000000000000000000"] {
        server.get(&format!("/v1/replays/{id}")).problem(404, "REPLAY_NOT_FOUND");
        let why = json!({ "why": "too much" });
        server.post(&format!("/v1/replays/{id}/cancel"), &why).problem(404, "REPLAY_NOT_FOUND");
    }
    assert_eq!(receiver.heard().len(), 2, "nothing was sent");
}

#[test]
fn a_replay_belongs_to_its_tenant_and_to_who_may_decide() {
    let receiver = Receiver::start(loopback(), 204);
    let (dir, server) = with_published(&receiver);
    let asked = ask(&server, &wanted()).ok();
    let id = asked["replay"]["id"].as_str().unwrap();
    done(&server, id);
    let theirs = token(&dir, &server, "administrator", "other");
    let send = |call: Call| server.send(&call.token(&theirs));
    send(Call::get(&format!("/v1/replays/{id}"))).problem(404, "REPLAY_NOT_FOUND");
    let cancel = Call::post(&format!("/v1/replays/{id}/cancel"), &json!({ "why": "too much" }));
    send(cancel.clone()).problem(404, "REPLAY_NOT_FOUND");
    assert!(send(Call::get("/v1/replays")).ok()["items"].as_array().unwrap().is_empty());
    let counted = merged(&wanted(), &json!({ "dryRun": true }));
    assert_eq!(send(Call::post("/v1/relays/cases/replays", &counted)).ok()["matches"], 0);
    let caller = token(&dir, &server, "caller", "default");
    for call in [Call::post("/v1/relays/cases/replays", &counted), cancel] {
        server.send(&call.token(&caller)).problem(403, "AUTHORIZATION_DENIED");
    }
    server.post(&format!("/v1/replays/{id}/cancel"), &json!({ "why": "too much" })).problem(409, "REPLAY_ENDED");
}

#[test]
fn a_person_replays_and_cancels_on_the_command_line() {
    let receiver = Receiver::start(loopback(), 204);
    let (dir, server) = with_published(&receiver);
    text_is("outbox_no_replay", &dir.run(&["outbox", "replays"]).done());
    let words = ["outbox", "replay", "--relay", "cases", "--aggregate", "case/CASE-7", "--to", "2100-01-01T00:00:00Z"];
    let run = |more: &[&str]| dir.run(&[&words[..], more].concat());
    text_is("outbox_replay_counted", &run(&["--max", "5000", "--dry-run"]).done());
    receiver.answer_with(503);
    text_is("outbox_replay_asked", &run(&["--max", "5000", "--why", "the consumer lost a day"]).done());
    let heard = receiver.heard().len();
    until("it waits for its target", || receiver.heard().len() > heard);
    let listed = dir.run(&["outbox", "replays", "--json"]).json();
    let id = listed["items"][0]["id"].as_str().unwrap().to_owned();
    text_is("outbox_replays", &dir.run(&["outbox", "replays"]).done());
    let cancel = ["outbox", "cancel-replay", &id, "--why", "too much"];
    text_is("outbox_replay_cancelled", &dir.run(&cancel).done());
    text_is("outbox_replay_shown", &dir.run(&["outbox", "replays", &id]).done());
    let rows: &[(i32, &[&str])] = &[
        (1, &cancel),
        (65, &["outbox", "replay", "--relay", "cases", "--max", "5", "--why", "x"]),
        (65, &["outbox", "replay", "--relay", "cases", "--type", "case.submitted", "--why", "x"]),
        (65, &["outbox", "replay", "--relay", "cases", "--aggregate", "CASE-7", "--max", "5", "--why", "x"]),
        (66, &["outbox", "replay", "--relay", "nobody", "--type", "case.submitted", "--max", "5", "--dry-run"]),
        (66, &["outbox", "replays", "7"]),
        (2, &["outbox", "replay", "--type", "case.submitted", "--max", "5", "--why", "x"]),
        (2, &["outbox", "replay", "--relay", "cases", "--type", "case.submitted", "--max", "5"]),
    ];
    for (code, args) in rows {
        let ran = dir.run(args);
        assert_eq!(ran.code, Some(*code), "{args:?}: {}{}", ran.out(), ran.err());
    }
    drop(server);
}
