//! `[dependency.NAME]` without a route: claims of its kinds share its limits, and one incident stands for an outage.

use serde_json::{Value, json};

use crate::fixture::{Server, Workdir, attempt, claim_of, merged, until};
use crate::seen::{json_is, text_is};
use crate::wire::Answer;

fn config(limits: &str, deadline: &str) -> String {
    format!(
        "log = \"info\"\nsweep_every = \"50ms\"\n[dependency.bank]\n{limits}\n[kind.charge]\nclass = \"external-command\"\ndepends_on = \"bank\"\ndeadline = \"{deadline}\"\n"
    )
}

fn claim(id: &str) -> Value {
    merged(&claim_of("charge", id), &json!({ "declare": null, "attemptId": attempt() }))
}

fn charge(server: &Server, id: &str) -> Answer {
    server.post("/v1/claims", &claim(id))
}

#[test]
fn claims_of_a_dependencys_kinds_share_its_places_and_what_is_done_is_still_replayed() {
    let dir = Workdir::with_config(&config("calls_max = 1", "20s"));
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("A"));
    let full = charge(&server, "B");
    assert!(full.header("retry-after").is_some());
    full.problem(503, "BULKHEAD_FULL");
    assert_eq!(charge(&server, "A").ok()["claim"], "inFlight", "what stands is told all the same");
    server.record(&granted, "complete", &json!({ "result": 1 })).ok();
    let other = server.granted(&claim("B"));
    assert_eq!(charge(&server, "A").ok()["claim"], "replay");
    server.record(&other, "release", &json!({})).ok();
    assert_eq!(charge(&server, "C").ok()["claim"], "granted");
}

#[test]
fn an_outage_is_one_incident_without_verbs_that_closes_by_itself() {
    let dir = Workdir::with_config(&config("unavailable_for = \"1ms\"", "20s"));
    let server = dir.serve(&[]);
    let fail = |id: &str| {
        let granted = server.granted(&claim(id));
        server.record(&granted, "fail", &json!({ "category": "DOWNSTREAM_UNAVAILABLE" })).ok();
    };
    let about = || server.get("/v1/incidents?subject=DEPENDENCY").ok()["items"].as_array().unwrap().clone();
    let mut number = 0;
    // Operations that wait have no incident of their own, so the list has this one alone.
    until("the outage is reported", || {
        number += 1;
        fail(&format!("F-{number}"));
        !about().is_empty()
    });
    let open = about();
    assert_eq!(open.len(), 1);
    let id = open[0]["id"].as_str().unwrap().to_owned();
    let shown = server.get(&format!("/v1/incidents/{id}")).ok();
    let about_it = ["subject", "kind", "subjectId", "errorCode", "runbook"].map(|name| shown[name].as_str().unwrap());
    let runbook = "/runbooks/dependency-unavailable";
    assert_eq!(about_it, ["DEPENDENCY", "bank", "bank", "DOWNSTREAM_UNAVAILABLE", runbook]);
    for absent in ["operation", "operationId", "timeline", "sideEffectStatus"] {
        assert!(shown[absent].is_null(), "{absent}: {shown}");
    }
    let body = json!({ "why": "it is up", "failed": "GAVE_UP" });
    let refused = server.post(&format!("/v1/incidents/{id}/resolve"), &body).problem(409, "RESOLUTION_REFUSED");
    json_is("incident_dependency_resolve", &refused);
    let group = shown["group"].as_str().unwrap();
    let many = server.post("/v1/incidents/retry", &json!({ "why": "all", "filter": { "group": group } })).ok();
    assert_eq!((&many["done"], &many["refused"]), (&json!(0), &json!(1)), "{many}");
    let told = dir.run(&["incidents"]).done();
    for line in ["bank · DOWNSTREAM_UNAVAILABLE", "dependency:   bank", "explain dependency-unavailable"] {
        assert!(told.contains(line), "{told}");
    }
    assert!(!told.contains("incidents resolve"), "{told}");
    text_is("incidents_list_dependency", &dir.run(&["incidents", "list", "--subject", "dependency"]).done());
    let granted = server.granted(&claim("OK"));
    server.record(&granted, "complete", &json!({ "result": 1 })).ok();
    until("it closes by itself", || about().is_empty());
    server.get("/v1/incidents?subject=BANK").problem(400, "REQUEST_INVALID");
}

#[test]
fn a_hangup_reads_kinds_and_dependencies_again_everything_or_nothing() {
    let dir = Workdir::with_config(&config("calls_max = 1", "20s"));
    let server = dir.serve(&[]);
    let before = claim("A");
    let answer = server.claim(&before);
    assert!(answer["deadlineInSeconds"].as_f64().unwrap() <= 20.0, "{answer}");
    let broken = config("calls_max = 9", "50s") + "[kind.refund]\nclass = \"harmless\"\n";
    std::fs::write(dir.path("onefold.toml"), broken).unwrap();
    server.reload();
    until("the mistake is logged", || server.log().contains("the old one stays in force"));
    charge(&server, "B").problem(503, "BULKHEAD_FULL");
    std::fs::write(dir.path("onefold.toml"), "drain_for = \"7s\"\n".to_owned() + &config("calls_max = 2", "50s"))
        .unwrap();
    server.reload();
    until("it is read", || server.log().contains("configuration reloaded"));
    assert!(server.log().contains("takes effect at the next start"), "{}", server.log());
    assert!(charge(&server, "B").ok()["deadlineInSeconds"].as_f64().unwrap() > 20.0);
    // A limit that changed counts anew; the attempt in flight is granted as before.
    assert_eq!(server.claim(&before)["fence"], answer["fence"]);
}

#[test]
fn a_dependency_that_is_not_declared_is_named_with_its_place() {
    let text = config("calls_max = 1", "20s").replace("depends_on = \"bank\"", "depends_on = \"bnak\"");
    let dir = Workdir::with_config(&text);
    let ran = dir.run(&["config"]);
    assert_eq!(ran.code, Some(78), "{}", ran.err());
    assert!(ran.err().contains("onefold.toml:7:14") && ran.err().contains("did you mean `bank`?"), "{}", ran.err());
}
