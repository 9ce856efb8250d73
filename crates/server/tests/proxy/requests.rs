//! Requests as bytes: which are refused, and what an upstream sees of the others.

use crate::client::{ask, ask_one};
use crate::fixture::{Server, Workdir};
use crate::http2::Http2;
use crate::upstream::Upstream;

fn serve(upstream: &Upstream) -> (Workdir, Server) {
    let routes = upstream.guarded("key = \"optional\"").replace("POST|GET|HEAD /charges", "* /*");
    let dir = Workdir::with_config(&routes);
    let server = dir.serve(&["--gateway-listen", "127.0.0.1:0"]);
    (dir, server)
}

/// Requests that two servers could read differently.
const AMBIGUOUS: [(&str, &str); 39] = [
    ("two lengths", "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd"),
    ("two lengths in one line", "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3, 4\r\n\r\nabcd"),
    ("a length with a sign", "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: +3\r\n\r\nabc"),
    (
        "a length and chunks",
        "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "chunks and a length",
        "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n",
    ),
    ("another coding", "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\nabcd"),
    (
        "another coding before chunks",
        "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "another coding in its own line",
        "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "chunks before another coding",
        "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    ),
    ("chunks twice", "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    ("chunks in HTTP/1.0", "POST /a HTTP/1.0\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("a chunk of no size", "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"),
    (
        "a chunk with too much in it",
        "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
    ),
    ("a name with a space", "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length : 3\r\n\r\nabc"),
    ("a folded line", "GET /a HTTP/1.1\r\nhost: x\r\nx-a: b\r\n c\r\n\r\n"),
    ("a line end in a value", "GET /a HTTP/1.1\r\nhost: x\r\nx-a: b\rc\r\n\r\n"),
    ("a zero byte in a value", "GET /a HTTP/1.1\r\nhost: x\r\nx-a: b\0c\r\n\r\n"),
    ("no host", "GET /a HTTP/1.1\r\n\r\n"),
    ("two hosts", "GET /a HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n"),
    ("one host twice", "GET /a HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n"),
    ("an empty host", "GET /a HTTP/1.1\r\nhost: \r\n\r\n"),
    ("a host with a space", "GET /a HTTP/1.1\r\nhost: a b\r\n\r\n"),
    ("a host with a user", "GET /a HTTP/1.1\r\nhost: u:p@evil\r\n\r\n"),
    ("a host with a path", "GET /a HTTP/1.1\r\nhost: a/b\r\n\r\n"),
    ("a host with a query", "GET /a HTTP/1.1\r\nhost: a?b\r\n\r\n"),
    ("two hosts in one line", "GET /a HTTP/1.1\r\nhost: a, b\r\n\r\n"),
    ("a host with half a bracket", "GET /a HTTP/1.1\r\nhost: [::1\r\n\r\n"),
    ("a host with a port in words", "GET /a HTTP/1.1\r\nhost: a:http\r\n\r\n"),
    ("a host with a port beyond ports", "GET /a HTTP/1.1\r\nhost: a:65536\r\n\r\n"),
    ("a target without a host header", "GET http://y/a HTTP/1.1\r\n\r\n"),
    ("a target with a user", "GET http://u:p@y/a HTTP/1.1\r\nhost: y\r\n\r\n"),
    ("a target of another scheme", "GET ftp://y/a HTTP/1.1\r\nhost: y\r\n\r\n"),
    ("a target beside an invalid host", "GET http://y/a HTTP/1.1\r\nhost: a b\r\n\r\n"),
    ("a method in small letters", "get /a HTTP/1.1\r\nhost: x\r\n\r\n"),
    ("dots", "GET /a/../b HTTP/1.1\r\nhost: x\r\n\r\n"),
    ("encoded dots", "GET /a/%2e%2e/b HTTP/1.1\r\nhost: x\r\n\r\n"),
    ("an encoded slash", "GET /a%2fb HTTP/1.1\r\nhost: x\r\n\r\n"),
    ("an empty segment", "GET //a HTTP/1.1\r\nhost: x\r\n\r\n"),
    ("a semicolon", "GET /a;b HTTP/1.1\r\nhost: x\r\n\r\n"),
];

#[test]
fn a_request_that_two_servers_could_read_differently_is_refused() {
    let upstream = Upstream::agreeable();
    let (_dir, server) = serve(&upstream);
    for (what, bytes) in AMBIGUOUS {
        let answers = ask(server.gateway.unwrap(), &[bytes, "GET /hidden HTTP/1.1\r\nhost: x\r\n\r\n"]);
        assert_eq!(answers.first().map(|answer| answer.status), Some(400), "{what}: {answers:?}");
        let seen = upstream.seen();
        assert!(seen.iter().all(|seen| seen.line().contains("/hidden")), "{what}: {seen:?}");
    }
}

#[test]
fn a_request_reaches_the_upstream_in_one_form() {
    let upstream = Upstream::agreeable();
    let (_dir, server) = serve(&upstream);
    // What is sent, the target that the upstream sees, and the host that it is told of.
    let rows = [
        ("GET /a?b=1 HTTP/1.1\r\nhost: shop\r\n\r\n", "GET /a?b=1 HTTP/1.1", "shop"),
        ("GET http://y:8080/a?b=1 HTTP/1.1\r\nhost: shop\r\n\r\n", "GET /a?b=1 HTTP/1.1", "y:8080"),
        ("GET HTTPS://Y/a HTTP/1.1\r\nhost: shop\r\n\r\n", "GET /a HTTP/1.1", "Y"),
        ("GET http://y HTTP/1.1\r\nhost: y\r\n\r\n", "GET / HTTP/1.1", "y"),
        ("GET /a HTTP/1.1\r\nhost: [::1]:80\r\n\r\n", "GET /a HTTP/1.1", "[::1]:80"),
        (
            "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
            "POST /a HTTP/1.1",
            "x",
        ),
    ];
    for (bytes, line, host) in rows {
        let answer = ask_one(server.gateway.unwrap(), bytes);
        assert_eq!(answer.status, 201, "{bytes:?}: {answer:?}");
        let seen = upstream.seen().pop().unwrap();
        assert_eq!((seen.line(), seen.header("x-forwarded-host")), (line, Some(host)), "{seen:?}");
        assert_eq!(seen.header("host"), Some(upstream.address.to_string().as_str()), "{seen:?}");
    }
}

#[test]
fn trailers_do_not_say_what_only_a_head_may() {
    let upstream = Upstream::agreeable();
    let (_dir, server) = serve(&upstream);
    let sent = "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ntrailer: x-sum, host, content-length, authorization, idempotency-key, x-forwarded-for, x_forwarded_user\r\n\r\n2\r\nab\r\n0\r\nx-sum: 1\r\nhost: evil\r\ncontent-length: 9\r\nauthorization: evil\r\nidempotency-key: evil\r\nx-forwarded-for: evil\r\nx_forwarded_user: evil\r\n\r\n";
    assert_eq!(ask_one(server.gateway.unwrap(), sent).status, 201);
    let seen = upstream.seen().pop().unwrap();
    let body = String::from_utf8_lossy(&seen.body);
    assert!(!seen.head.contains("evil") && !body.contains("evil") && body.contains("x-sum: 1"), "{}{body}", seen.head);
}

#[test]
fn pseudo_headers_in_trailers_reach_nobody() {
    let upstream = Upstream::agreeable();
    let (_dir, server) = serve(&upstream);
    let mut client = Http2::connect(server.gateway.unwrap(), 65_535);
    let sent = [(":path", "/evil"), (":authority", "evil"), ("x-sum", "1"), ("x-forwarded-for", "evil")];
    client.post(1, "/a", &[("trailer", "x-sum")], &sent);
    client.until_answered(1);
    let seen = upstream.seen().pop().unwrap();
    assert_eq!(seen.line(), "POST /a HTTP/1.1");
    let body = String::from_utf8_lossy(&seen.body);
    assert!(!seen.head.contains("evil") && !body.contains("evil") && body.contains("x-sum: 1"), "{}{body}", seen.head);
    // Behind a field of another sort they are refused.
    client.post(3, "/b", &[], &[("x-sum", "1"), (":path", "/evil")]);
    client.post(5, "/c", &[], &[("x-sum", "1")]);
    client.until_answered(2);
    assert!(!upstream.seen().iter().any(|seen| seen.line().contains("/evil")), "{:?}", upstream.seen());
}

#[test]
fn a_method_that_no_route_of_the_path_takes_is_405_and_the_answer_names_those_that_are() {
    let upstream = Upstream::agreeable();
    let routes = upstream.guarded("").replace("POST|GET|HEAD /charges", "POST|PATCH /charges");
    let dir = Workdir::with_config(&routes);
    let server = dir.serve(&["--gateway-listen", "127.0.0.1:0"]);
    for method in ["GET", "DELETE", "OPTIONS"] {
        let answer = ask_one(server.gateway.unwrap(), &format!("{method} /charges HTTP/1.1\r\nhost: x\r\n\r\n"));
        assert_eq!((answer.status, answer.header("allow")), (405, Some("PATCH, POST")), "{method}: {answer:?}");
    }
    let nowhere = ask_one(server.gateway.unwrap(), "GET /elsewhere HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!((nowhere.status, nowhere.header("allow")), (404, None), "{nowhere:?}");
    let tunnel = ask_one(server.gateway.unwrap(), "CONNECT x:443 HTTP/1.1\r\nhost: x:443\r\n\r\n");
    assert_eq!((tunnel.status, tunnel.header("allow")), (405, Some("")), "{tunnel:?}");
    let otherwise = format!("[gateway]\notherwise = \"http://{}\"\n{routes}", upstream.address);
    let dir = Workdir::with_config(&otherwise);
    let server = dir.serve(&["--gateway-listen", "127.0.0.1:0"]);
    assert_eq!(ask_one(server.gateway.unwrap(), "GET /charges HTTP/1.1\r\nhost: x\r\n\r\n").status, 201);
}
