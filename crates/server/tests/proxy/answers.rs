//! Upstream answers as bytes: which are refused, and what a client sees of the others.

use crate::client::{Answer, ask, ask_one, charge};
use crate::fixture::{Server, Workdir};
use crate::upstream::{AfterAnswer, Upstream};

const GET: &str = "GET /charges HTTP/1.1\r\nhost: shop\r\n\r\n";
const FOLLOWING: &str = "GET /charges?following HTTP/1.1\r\nhost: shop\r\n\r\n";

/// Answers whose end, or whose protocol, two readers could see differently.
const BROKEN: [(&str, &str); 18] = [
    (
        "a length, then chunks",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ),
    (
        "chunks, then a length",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 99\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ),
    (
        "an answer hidden in the chunks",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\ntransfer-encoding: chunked\r\n\r\n27\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n!\r\n0\r\n\r\n",
    ),
    ("two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok!"),
    ("two lengths in one line", "HTTP/1.1 200 OK\r\ncontent-length: 2, 3\r\n\r\nok!"),
    ("a length with a sign", "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nok"),
    ("a negative length", "HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\nok"),
    ("a length in words", "HTTP/1.1 200 OK\r\ncontent-length: two\r\n\r\nok"),
    ("an empty length", "HTTP/1.1 200 OK\r\ncontent-length: \r\n\r\nok"),
    ("a length beyond counting", "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\nok"),
    ("a name with a space", "HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nok"),
    ("another coding", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nok"),
    ("another coding before chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    (
        "chunks twice",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ),
    ("chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    (
        "a web socket that nobody asked for",
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    ),
    (
        "another protocol that nobody asked for",
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
    ),
    ("no HTTP at all", "220 mail.example ESMTP\r\n"),
];

fn serve(upstream: &Upstream, more: &str) -> (Workdir, Server) {
    let dir = Workdir::with_config(&upstream.guarded(more));
    let server = dir.serve(&["--gateway-listen", "127.0.0.1:0"]);
    (dir, server)
}

/// An upstream that answers so, but for requests that follow.
fn answering(bytes: impl Into<Vec<u8>>, then: AfterAnswer) -> Upstream {
    let bytes = bytes.into();
    Upstream::start(move |seen| {
        if seen.line().contains("following") {
            return (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nfollowing".to_vec(), AfterAnswer::Keep);
        }
        (bytes.clone(), then)
    })
}

/// One that was refused, one that followed on the same connection, and nothing else.
fn followed(answers: &[Answer], what: &str) -> Answer {
    let [first, second] = answers else { panic!("{what}: two requests have two answers: {answers:?}") };
    assert_eq!((second.status, second.text()), (200, "following".to_owned()), "{what}");
    first.clone()
}

#[test]
fn a_guarded_request_with_a_broken_answer_is_unknown_and_not_performed_again() {
    for (what, bytes) in BROKEN {
        let upstream = answering(bytes, AfterAnswer::Keep);
        let (_dir, server) = serve(&upstream, "");
        let at = server.gateway.unwrap();
        let first = followed(&ask(at, &[&charge("k-1"), FOLLOWING]), what);
        assert_eq!((first.status, first.header("onefold-outcome")), (502, Some("unknown")), "{what}: {first:?}");
        let again = ask_one(at, &charge("k-1"));
        assert_eq!(again.status, 409, "{what}: {again:?}");
        assert!(again.text().contains("OUTCOME_UNKNOWN"), "{what}: {again:?}");
        let seen = upstream.seen();
        assert_eq!(seen.len(), 2, "{what}: {seen:?}");
        assert_ne!(seen[0].connection, seen[1].connection, "{what}: its connection is not used again");
    }
}

#[test]
fn an_unguarded_request_with_a_broken_answer_is_502() {
    for (what, bytes) in BROKEN {
        let upstream = answering(bytes, AfterAnswer::Keep);
        let (_dir, server) = serve(&upstream, "");
        let first = followed(&ask(server.gateway.unwrap(), &[GET, FOLLOWING]), what);
        assert_eq!((first.status, first.header("onefold-outcome")), (502, None), "{what}: {first:?}");
        let seen = upstream.seen();
        assert_ne!(seen[0].connection, seen[1].connection, "{what}: its connection is not used again");
    }
}

#[test]
fn an_answer_has_a_length_of_our_own_making_also_when_it_is_replayed() {
    let rows = [
        ("a length", "HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok", AfterAnswer::Keep),
        (
            "one length twice",
            "HTTP/1.1 201 Created\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok",
            AfterAnswer::Keep,
        ),
        ("one length twice in one line", "HTTP/1.1 201 Created\r\ncontent-length: 2, 2\r\n\r\nok", AfterAnswer::Keep),
        (
            "chunks",
            "HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
            AfterAnswer::Keep,
        ),
        ("an end by closing", "HTTP/1.1 201 Created\r\n\r\nok", AfterAnswer::Close),
        (
            "an answer behind the answer",
            "HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhidden",
            AfterAnswer::Keep,
        ),
    ];
    for (what, bytes, then) in rows {
        let upstream = answering(bytes, then);
        let (_dir, server) = serve(&upstream, "");
        let at = server.gateway.unwrap();
        for replayed in [None, Some("true")] {
            let answer = followed(&ask(at, &[&charge("k-1"), FOLLOWING]), what);
            assert_eq!((answer.status, answer.text()), (201, "ok".to_owned()), "{what}: {answer:?}");
            assert_eq!(answer.all("content-length"), ["2"], "{what}: {answer:?}");
            assert_eq!(answer.header("idempotent-replayed"), replayed, "{what}: {answer:?}");
        }
        let passed = followed(&ask(at, &[GET, FOLLOWING]), what);
        assert_eq!((passed.status, passed.text()), (201, "ok".to_owned()), "{what}: {passed:?}");
    }
}

#[test]
fn a_length_without_a_body_is_kept_where_it_describes_one() {
    let upstream = answering("HTTP/1.1 200 OK\r\ncontent-length: 7, 7\r\n\r\n", AfterAnswer::Keep);
    let (_dir, server) = serve(&upstream, "");
    let answer = ask_one(server.gateway.unwrap(), "HEAD /charges HTTP/1.1\r\nhost: shop\r\n\r\n");
    assert_eq!((answer.status, answer.all("content-length")), (200, vec!["7"]), "{answer:?}");
    let upstream =
        answering("HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\netag: \"a\"\r\n\r\n", AfterAnswer::Keep);
    let (_dir, server) = serve(&upstream, "");
    let answer = followed(&ask(server.gateway.unwrap(), &[GET, FOLLOWING]), "304");
    assert_eq!((answer.status, answer.header("etag")), (304, Some("\"a\"")), "{answer:?}");
}

#[test]
fn too_many_headers_cost_headers_and_not_the_outcome() {
    let many: String = (0..500).map(|at| ["x-", &at.to_string(), ": 1\r\n"].concat()).collect();
    let bytes = format!(
        "HTTP/1.1 201 Created\r\n{many}location: /charges/1\r\nx-reference: R-1\r\ncontent-length: 2\r\n\r\nok"
    );
    let upstream = answering(bytes, AfterAnswer::Keep);
    let (_dir, server) = serve(&upstream, "stored_headers = [\"x-reference\"]");
    for replayed in [None, Some("true")] {
        let answer = ask_one(server.gateway.unwrap(), &charge("k-1"));
        assert_eq!((answer.status, answer.header("onefold-outcome")), (201, None), "{answer:?}");
        assert_eq!(answer.header("idempotent-replayed"), replayed, "{answer:?}");
        let kept = (answer.header("location"), answer.header("x-reference"));
        assert_eq!(kept, (Some("/charges/1"), Some("R-1")), "{answer:?}");
        assert!(answer.head.lines().count() < 150, "{} headers", answer.head.lines().count());
    }
    assert_eq!(upstream.seen().len(), 1);
}
