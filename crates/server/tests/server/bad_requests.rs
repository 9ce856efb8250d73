//! Addresses, parameters and bytes that are wrong.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::fixture::{Workdir, claim};
use crate::seen::json_is;
use crate::wire::{Call, raw};

#[test]
fn a_bad_reference_is_refused_and_not_searched_for() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let long = "op_".to_owned() + &"A".repeat(5000);
    let references = [
        "op_",
        "x",
        "op_!!!",
        "op_AAAA",
        "OP_bm90",
        "op_bm90aWNl",
        "op_AENBU0U",
        "op_bm90aWNlLmlzc3VlAA",
        "%FF",
        &long,
    ];
    for reference in references {
        for path in ["", "/timeline", "/result"] {
            let answer = server.get(&format!("/v1/operations/{reference}{path}"));
            let code = answer.json()["code"].as_str().unwrap().to_owned();
            assert!(answer.status == 400 || answer.status == 404, "{reference}: {}", answer.text());
            answer.problem(answer.status, &code);
        }
        let grant = json!({ "fence": 1, "attemptId": crate::fixture::attempt() });
        for what in ["complete", "release", "renew"] {
            let answer = server.post(&format!("/v1/operations/{reference}/{what}"), &grant);
            assert!((400..500).contains(&answer.status), "{reference}: {}", answer.text());
            answer.problem(answer.status, answer.json()["code"].as_str().unwrap());
        }
    }
    json_is("bad_reference", &server.get("/v1/operations/op_!!!").json());
}

#[test]
fn a_wrong_parameter_is_named() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let queries = [
        "nosuch=1",
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=ten",
        "limit=99999999999999999999",
        "after=x",
        "status=DONE",
        "status=completed",
        "since=yesterday",
        "until=2026-13-45",
        "errorCode=lower%20case",
        "kind=two%20words",
        "kind=",
        "id=",
        "limit=1&limit=2",
    ];
    for query in queries {
        let answer = server.get(&format!("/v1/operations?{query}"));
        let status = if query.starts_with("kind=") { 422 } else { 400 };
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
        let problem = answer.problem(status, answer.json()["code"].as_str().unwrap());
        let name = format!("bad_query_{}", query.replace(['=', '%', '&', '-'], "_"));
        json_is(&name, &problem);
    }
    for query in ["nosuch=1", "limit=0", "limit=1001", "after=x", "closed=maybe", "kind=two%20words"] {
        let answer = server.get(&format!("/v1/incidents?{query}"));
        let status = if query.starts_with("kind=") { 422 } else { 400 };
        answer.problem(status, answer.json()["code"].as_str().unwrap());
    }
    for query in ["limit=1", "limit=1000", "after=-5", "after=9223372036854775807", "businessKey=%27%22;--"] {
        server.get(&format!("/v1/operations?{query}")).ok();
    }
}

#[test]
fn an_unknown_route_and_a_wrong_method_are_problems_too() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let with = |method: &str, path: &str| server.send(&Call::new(method, path).token(&server.token));
    json_is("route_unknown", &with("GET", "/v2/claims").problem(404, "ROUTE_NOT_FOUND"));
    json_is("method_wrong", &with("GET", "/v1/claims").problem(405, "METHOD_NOT_ALLOWED"));
    for (method, path, status, code) in [
        ("GET", "/", 404, "ROUTE_NOT_FOUND"),
        ("GET", "/v1", 404, "ROUTE_NOT_FOUND"),
        ("GET", "/v1/claims/", 404, "ROUTE_NOT_FOUND"),
        ("GET", "//", 404, "ROUTE_NOT_FOUND"),
        ("GET", "/../../etc/passwd", 404, "ROUTE_NOT_FOUND"),
        ("DELETE", "/v1/operations", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/health", 405, "METHOD_NOT_ALLOWED"),
        ("PUT", "/v1/incidents/inc_x/resolve", 405, "METHOD_NOT_ALLOWED"),
        ("PATCH", "/metrics", 405, "METHOD_NOT_ALLOWED"),
        ("BREW", "/v1/claims", 405, "METHOD_NOT_ALLOWED"),
        ("OPTIONS", "/v1/claims", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/errors/%FF", 400, "REQUEST_INVALID"),
        ("GET", "/v1/incidents/%FF", 400, "REQUEST_INVALID"),
    ] {
        with(method, path).problem(status, code);
    }
}

#[test]
fn garbage_ends_its_own_connection_and_the_server_lives() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let long_header = format!("GET /health HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(1_000_000));
    let many_headers = format!("GET /health HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(10_000));
    let long_path = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(200_000));
    let pieces: [&[u8]; 11] = [
        b"\x00\x01\x02\x03\xff\xfe\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello, this is TLS\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /health HTTP/9.9\r\n\r\n",
        b"GET /health HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/claims HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n\r\n",
        b"POST /v1/claims HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nnot-a-length\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x05\x04\x00\x00\x00\x00\x00 five and far more than five of it",
        long_header.as_bytes(),
        many_headers.as_bytes(),
        long_path.as_bytes(),
    ];
    for bytes in pieces {
        let answer = raw(server.address, bytes);
        let text = String::from_utf8_lossy(&answer);
        assert!(!text.starts_with("HTTP/1.1 2") && !text.starts_with("HTTP/1.1 5"), "{text}");
    }
    // Someone who says nothing, and someone who hangs up in the middle.
    let silent = std::net::TcpStream::connect(server.address).unwrap();
    drop(std::net::TcpStream::connect(server.address).unwrap());
    server.granted(&claim("CASE-1"));
    drop(silent);
}

#[test]
fn a_connection_that_does_not_say_what_it_speaks_is_closed() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let open = |sent: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        stream
    };
    // All at once: the server waits ten seconds for the first bytes.
    for mut stream in ["", "P", "PRI * HTTP/2"].map(open) {
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
}
