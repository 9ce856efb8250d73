//! A provider that configuration names is really asked, over HTTP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::fixture::{Server, Workdir, attempt, claim_of, merged, until};

/// A provider that answers every question the same way, and remembers what it was asked.
struct Provider {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Provider {
    fn answering(status: &'static str, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let first = lines.next().unwrap().unwrap();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                heard.lock().unwrap().push(first);
                let length = body.len();
                let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
                let _ = stream.write_all((answer + body).as_bytes());
            }
        });
        Self { address, asked }
    }

    fn dir(&self) -> Workdir {
        Workdir::with_config(&format!(
            r#"sweep_every = "100ms"
            [kind."notice.issue-formal"]
            class = "external-command"
            on_unknown = {{ ask = "GET http://{}/notices?operation={{id}}", took_hold = "/items/0/id", settle = "1ms" }}
            deadline = "300ms"
            "#,
            self.address
        ))
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn bare(id: &str) -> Value {
    merged(&claim_of("notice.issue-formal", id), &json!({ "declare": null }))
}

fn status(server: &Server, operation: &str) -> Value {
    server.get(&format!("/v1/operations/{operation}")).ok()
}

#[test]
fn a_provider_that_says_yes_completes_the_operation() {
    let provider = Provider::answering("200 OK", r#"{"items": [{"id": "NTC-991"}]}"#);
    let dir = provider.dir();
    let server = dir.serve(&[]);
    let claim = bare("CASE 1/Ü&x=1");
    let granted = server.granted(&claim);
    server.record(&granted, "unknown", &json!({})).ok();
    until("the provider was asked", || status(&server, &granted.operation)["status"] == "COMPLETED");
    assert_eq!(provider.asked()[0], "GET /notices?operation=CASE%201%2F%C3%9C%26x%3D1 HTTP/1.1");
    let replay = server.claim(&merged(&claim, &json!({ "attemptId": attempt() })));
    assert_eq!(replay["outcome"]["evidence"], "NTC-991", "{replay}");
    assert_eq!(replay["outcome"]["result"], "NTC-991", "{replay}");
    let shown = status(&server, &granted.operation);
    assert!(shown["incident"].is_null(), "{shown}");
}

#[test]
fn a_provider_that_says_no_lets_it_be_claimed_again() {
    let provider = Provider::answering("404 Not Found", "");
    let dir = provider.dir();
    let server = dir.serve(&[]);
    let claim = bare("CASE-1");
    let granted = server.granted(&claim);
    server.record(&granted, "unknown", &json!({})).ok();
    until("the provider's no is believed", || status(&server, &granted.operation)["status"] == "RELEASED");
    // The first no came while a late request could still arrive.
    assert!(provider.asked().len() >= 2, "{:?}", provider.asked());
    server.granted(&merged(&claim, &json!({ "attemptId": attempt() })));
}

#[test]
fn a_holder_that_is_lost_is_asked_about_too() {
    let provider = Provider::answering("200 OK", r#"{"items": [{"id": "NTC-5"}]}"#);
    let dir = provider.dir();
    let server = dir.serve(&[]);
    let granted = server.granted(&bare("CASE-1"));
    until("the provider was asked", || status(&server, &granted.operation)["status"] == "COMPLETED");
}

#[test]
fn a_provider_that_cannot_tell_is_asked_again_and_by_hand() {
    let provider = Provider::answering("500 Oops", "");
    let dir = provider.dir();
    let server = dir.serve(&[]);
    let granted = server.granted(&bare("CASE-1"));
    server.record(&granted, "unknown", &json!({})).ok();
    until("the provider was asked", || !provider.asked().is_empty());
    let shown = status(&server, &granted.operation);
    assert_eq!(shown["status"], "UNKNOWN", "{shown}");
    let claim = server.claim(&bare("CASE-1"));
    assert!(claim["claim"] == "unknown" && claim["nextAsk"].is_string(), "{claim}");
}
