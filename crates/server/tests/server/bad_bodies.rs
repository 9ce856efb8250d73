//! Bodies that are wrong, each answered with what is wrong and what to do next.

use serde_json::{Value, json};

use crate::fixture::{Server, Workdir, attempt, claim, merged};
use crate::seen::json_is;
use crate::wire::{Answer, Call};

fn post_raw(server: &Server, path: &str, body: &[u8]) -> Answer {
    let call = Call::new("POST", path).token(&server.token).header("content-type", "application/json");
    server.send(&call.body(body))
}

/// Every route that takes a body.
fn routes(operation: &str) -> Vec<String> {
    let records = ["complete", "fail", "unknown", "release", "renew"];
    let mut routes: Vec<String> = records.map(|what| format!("/v1/operations/{operation}/{what}")).into();
    routes.extend(["resolve", "retry", "ask"].map(|verb| format!("/v1/incidents/{verb}")));
    routes.extend(["resolve", "retry", "ask"].map(|verb| format!("/v1/incidents/inc_x/{verb}")));
    routes.extend(["/v1/claims", "/v1/claims/batch", "/v1/prune"].map(str::to_owned));
    routes
}

#[test]
fn json_nested_ten_thousand_deep_is_refused_or_stored_but_never_fatal() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let objects = "{\"a\":".repeat(10_000) + "1" + &"}".repeat(10_000);
    let open = "[".repeat(10_000);
    for route in routes(&granted.operation) {
        for body in [&deep, &objects, &open] {
            post_raw(&server, &route, body.as_bytes()).problem(400, "REQUEST_BODY_INVALID");
        }
    }
    for (index, inside) in [&deep, &objects].into_iter().enumerate() {
        let body = merged(&claim(&format!("DEEP-{index}")), &json!({ "request": "HERE" })).to_string();
        let answer = post_raw(&server, "/v1/claims", body.replace("\"HERE\"", inside).as_bytes());
        json_is(&format!("deep_request_{index}"), &answer.problem(422, "FINGERPRINT_INVALID"));
        let batch = format!("{{\"claims\": [{}]}}", body.replace("\"HERE\"", inside));
        assert_ne!(post_raw(&server, "/v1/claims/batch", batch.as_bytes()).status, 500);
        let declared = merged(&claim("CASE-9"), &json!({ "declare": "HERE" })).to_string();
        let answer = post_raw(&server, "/v1/claims", declared.replace("\"HERE\"", inside).as_bytes());
        answer.problem(400, "REQUEST_BODY_INVALID");
    }
    let result = merged(&granted.grant, &json!({ "result": "HERE" })).to_string().replace("\"HERE\"", &deep);
    let answer = post_raw(&server, &format!("/v1/operations/{}/complete", granted.operation), result.as_bytes());
    assert!(answer.status == 200 || answer.status == 400, "{}", answer.text());
    server.get(&format!("/v1/operations/{}/timeline", granted.operation)).ok();
}

#[test]
fn a_body_beyond_the_limit_is_refused_however_it_is_sent() {
    let dir = Workdir::new();
    let server = dir.serve(&["--body-bytes-max", "4096"]);
    let mut large = claim("CASE-1");
    large["request"] = json!("x".repeat(5000));
    for path in ["/v1/claims", "/v1/claims/batch", "/v1/prune", "/v1/incidents/resolve"] {
        let call = Call::post(path, &large).token(&server.token);
        json_is("body_too_large", &server.send(&call).problem(413, "REQUEST_TOO_LARGE"));
        server.send(&call.chunked()).problem(413, "REQUEST_TOO_LARGE");
    }
    let small = Call::post("/v1/claims", &claim("CASE-1")).token(&server.token).chunked();
    assert_eq!(server.send(&small).ok()["claim"], "granted");
}

#[test]
fn an_announced_body_that_never_comes_harms_nobody() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let head = format!(
        "POST /v1/claims HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-length: 99999999999\r\n\r\n{{",
        server.address, server.token
    );
    let answer = crate::wire::raw(server.address, head.as_bytes());
    assert!(String::from_utf8_lossy(&answer).contains("REQUEST_TOO_LARGE"));
    server.get("/ready").ok();
}

#[test]
fn a_wrong_field_is_named() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let rows = [
        ("unknown_field", json!({ "buisnessKey": "CASE-7" })),
        ("wrong_type_id", json!({ "id": 7 })),
        ("wrong_type_declare", json!({ "declare": "external-command" })),
        ("missing_kind", json!({ "kind": null })),
        ("unknown_declare_field", json!({ "declare": { "class": "pure", "on_unknown": "rerun" } })),
        ("bad_uuid", json!({ "attemptId": "42" })),
        ("number_uuid", json!({ "attemptId": 42 })),
        ("bad_source", json!({ "source": "mail" })),
        ("bad_deadline", json!({ "deadline": "soon" })),
        ("zero_deadline", json!({ "deadline": "0s" })),
    ];
    for (name, change) in rows {
        let answer = server.post("/v1/claims", &merged(&claim("CASE-1"), &change));
        json_is(&format!("bad_claim_{name}"), &answer.problem(400, "REQUEST_BODY_INVALID"));
    }
    for field in ["kind", "id", "attemptId"] {
        let mut body = claim("CASE-1");
        body.as_object_mut().unwrap().remove(field);
        let problem = server.post("/v1/claims", &body).problem(400, "REQUEST_BODY_INVALID");
        assert!(problem["detail"].as_str().unwrap().contains(&format!("`{field}`")), "{problem}");
    }
    assert!(server.get("/v1/operations").ok()["items"].as_array().unwrap().is_empty());
}

#[test]
fn a_bad_name_is_refused_before_anything_is_stored() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let rows = [
        ("id", json!(""), "OPERATION_ID_INVALID"),
        ("id", json!("x".repeat(256)), "OPERATION_ID_INVALID"),
        ("id", json!("line\nbreak"), "OPERATION_ID_INVALID"),
        ("id", json!("nul\u{0}"), "OPERATION_ID_INVALID"),
        ("attemptId", json!("00000000-0000-0000-0000-000000000000"), "OPERATION_ID_INVALID"),
        ("attemptId", json!("ffffffff-ffff-ffff-ffff-ffffffffffff"), "OPERATION_ID_INVALID"),
        ("worker", json!("a\u{7}b"), "LIMIT_EXCEEDED"),
        ("worker", json!(""), "LIMIT_EXCEEDED"),
        ("businessKey", json!("k".repeat(5000)), "LIMIT_EXCEEDED"),
        ("processInstanceKey", json!("k".repeat(5000)), "LIMIT_EXCEEDED"),
        ("correlationId", json!("k".repeat(5000)), "LIMIT_EXCEEDED"),
    ];
    for (field, value, code) in rows {
        let answer = server.post("/v1/claims", &merged(&claim("CASE-1"), &json!({ field: value })));
        answer.problem(400, code);
    }
    for kind in ["", "two words", "ünder", &"k".repeat(300)] {
        let answer = server.post("/v1/claims", &merged(&claim("CASE-1"), &json!({ "kind": kind })));
        assert_eq!(answer.status, 422, "{kind:?}: {}", answer.text());
        answer.problem(422, answer.json()["code"].as_str().unwrap());
    }
    server.granted(&claim(&"x".repeat(255)));
    server.granted(&claim("ünïcödé \u{1F600} / ? & #"));
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    let bodies: [&[u8]; 8] =
        [b"no json", b"{", b"[]", b"null", b"\"text\"", b"{\"fence\": 1} x", b"\xff\xfe", b"{\"fence\": NaN}"];
    for route in routes(&granted.operation) {
        for body in bodies {
            post_raw(&server, &route, body).problem(400, "REQUEST_BODY_INVALID");
        }
    }
    json_is("not_json", &post_raw(&server, "/v1/claims", b"{\"kind\": }").json());
    let nothing = server.send(&Call::new("POST", "/v1/claims").token(&server.token));
    json_is("empty_body", &nothing.problem(400, "REQUEST_BODY_INVALID"));
    for media in ["text/plain", "application/x-www-form-urlencoded", "application/xml; charset=utf-8", "json"] {
        let call = Call::post("/v1/claims", &claim("CASE-2")).token(&server.token).header("content-type", media);
        server.send(&call).problem(415, "MEDIA_TYPE_UNSUPPORTED");
    }
    let spelled = Call::post("/v1/claims", &claim("CASE-2")).header("content-type", "Application/JSON; charset=utf-8");
    assert_eq!(server.send(&spelled.token(&server.token)).ok()["claim"], "granted");
}

#[test]
fn a_wrong_fence_or_number_is_refused_whatever_its_size() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    let mine = granted.grant["attemptId"].clone();
    let fences: [(&str, u16); 8] = [
        ("-1", 400),
        ("1.5", 400),
        ("\"1\"", 400),
        ("1e99", 400),
        ("99999999999999999999999", 400),
        ("18446744073709551615", 409),
        ("9223372036854775808", 409),
        ("2", 409),
    ];
    for what in ["complete", "unknown", "release", "renew"] {
        for (fence, status) in fences {
            let body = format!("{{\"fence\": {fence}, \"attemptId\": {mine}}}");
            let answer = post_raw(&server, &format!("/v1/operations/{}/{what}", granted.operation), body.as_bytes());
            assert_eq!(answer.status, status, "{what} {fence}: {}", answer.text());
            answer.problem(status, answer.json()["code"].as_str().unwrap());
        }
    }
    let endless = json!({ "category": "RATE_LIMITED", "retryAfterSeconds": u64::MAX });
    let failed = server.record(&granted, "fail", &endless).ok();
    assert_eq!(failed["status"], "FAILED_RETRYABLE", "{failed}");
}

#[test]
fn a_claim_may_not_ask_for_an_endless_deadline() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    for deadline in ["99999d", "18446744073709551615d", "999999999999h", "18446744073709551615ms"] {
        let answer = server.post("/v1/claims", &merged(&claim("CASE-1"), &json!({ "deadline": deadline })));
        assert!((400..500).contains(&answer.status), "{deadline}: {}", answer.text());
        let code: Value = answer.json()["code"].clone();
        answer.problem(answer.status, code.as_str().unwrap());
    }
    server.granted(&merged(&claim("CASE-1"), &json!({ "deadline": "10m", "attemptId": attempt() })));
}

#[test]
fn pruning_is_said_in_a_body() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    for body in ["", "{}", "[]", "{\"dryRun\": null}", "{\"dryRun\": \"no\"}", "[false]"] {
        post_raw(&server, "/v1/prune", body.as_bytes()).problem(400, "REQUEST_BODY_INVALID");
    }
    assert_eq!(post_raw(&server, "/v1/prune", b"{\"dryRun\": true}").ok()["dryRun"], true);
}

#[test]
fn a_whole_number_may_be_written_with_a_fraction_of_zero() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    let path = |verb: &str| format!("/v1/operations/{}/{verb}", granted.operation);
    let body = |fence: &str| granted.grant.to_string().replace("\"fence\":1", &format!("\"fence\":{fence}"));
    for bad in ["1.5", "-1.0", "\"1\"", "[1]"] {
        post_raw(&server, &path("renew"), body(bad).as_bytes()).problem(400, "REQUEST_BODY_INVALID");
    }
    post_raw(&server, &path("renew"), body("44781.0").as_bytes()).problem(409, "LEASE_NEVER_GRANTED");
    for same in ["1.0", "1e0", "1"] {
        post_raw(&server, &path("renew"), body(same).as_bytes()).ok();
    }
}

#[test]
fn a_list_is_not_an_object_anywhere_in_a_body() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    for declare in [json!([]), json!(["external-command"])] {
        let answer = server.post("/v1/claims", &merged(&claim("CASE-1"), &json!({ "declare": declare })));
        answer.problem(400, "REQUEST_BODY_INVALID");
    }
    for member in [json!([]), json!(["notice.issue", "CASE-1"]), json!(null)] {
        server.post("/v1/claims/batch", &json!({ "claims": [member] })).problem(400, "REQUEST_BODY_INVALID");
    }
    assert!(server.get("/v1/operations").ok()["items"].as_array().unwrap().is_empty());
}
