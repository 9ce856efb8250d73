//! What a client may not say of itself, and an upstream not of us.

use crate::client::{ask_one, charge};
use crate::fixture::Workdir;
use crate::upstream::{AfterAnswer, Upstream};

/// What no upstream may hear from a client that is not trusted.
const SPOOFED: [&str; 20] = [
    "X-Forwarded-For: evil",
    "X-Forwarded-Proto: evil",
    "X-Forwarded-Host: evil",
    "X-Forwarded-User: evil",
    "X-Forwarded-Email: evil",
    "X-Forwarded-Groups: evil",
    "X-Forwarded-Preferred-Username: evil",
    "X-Forwarded-Ssl: evil",
    "X-Forwarded-Client-Cert: evil",
    "X-Forwarded-Access-Token: evil",
    "X-Forwarded-Anything-At-All: evil",
    "Forwarded: for=evil",
    "X-Real-IP: evil",
    "X-Original-URL: /evil",
    "Idempotency_Key: evil",
    "X_Forwarded_For: evil",
    "X-Forwarded_User: evil",
    "X_Api_Key: evil",
    "x_: evil",
    "_: evil",
];

#[test]
fn what_a_client_says_of_itself_reaches_no_upstream() {
    let upstream = Upstream::agreeable();
    let dir =
        Workdir::with_config(&upstream.guarded("credential = { header = \"X-Api-Key\", file = \"provider.key\" }"));
    std::fs::write(dir.path("provider.key"), "ours").unwrap();
    let server = dir.serve(&["--gateway-listen", "127.0.0.1:0"]);
    let spoofed = SPOOFED.join("\r\n");
    for (at, request) in [charge("k-1"), "GET /charges HTTP/1.1\r\nhost: shop\r\n\r\n".to_owned()].iter().enumerate() {
        let sent = request.replacen("\r\n", &format!("\r\n{spoofed}\r\n"), 1);
        assert_eq!(ask_one(server.gateway.unwrap(), &sent).status, 201);
        let seen = upstream.seen()[at].clone();
        assert!(!seen.head.contains("evil"), "{}", seen.head);
        assert!(!seen.head.lines().any(|line| line.split(':').next().unwrap().contains('_')), "{}", seen.head);
        assert_eq!((seen.header("x-forwarded-for"), seen.header("x-api-key")), (Some("127.0.0.1"), Some("ours")));
    }
}

#[test]
fn a_trusted_proxy_may_say_who_calls_but_not_with_underscores() {
    let upstream = Upstream::agreeable();
    let config = format!("[gateway]\ntrusted_proxies = [\"127.0.0.0/8\"]\n{}", upstream.guarded(""));
    let dir = Workdir::with_config(&config);
    let server = dir.serve(&["--gateway-listen", "127.0.0.1:0"]);
    let sent = charge("k-1").replacen("\r\n", "\r\nX-Forwarded-User: alice\r\nX_Forwarded_User: bob\r\n", 1);
    assert_eq!(ask_one(server.gateway.unwrap(), &sent).status, 201);
    let seen = upstream.seen().pop().unwrap();
    assert_eq!((seen.header("x-forwarded-user"), seen.header("x_forwarded_user")), (Some("alice"), None));
}

#[test]
fn a_route_lets_pass_the_underscored_headers_that_it_names() {
    let upstream = Upstream::agreeable();
    let dir = Workdir::with_config(&upstream.guarded("underscored_headers = [\"X_Signature\"]"));
    let server = dir.serve(&["--gateway-listen", "127.0.0.1:0"]);
    let sent = charge("k-1").replacen("\r\n", "\r\nX_Signature: s\r\nX_Other: o\r\n", 1);
    assert_eq!(ask_one(server.gateway.unwrap(), &sent).status, 201);
    let seen = upstream.seen().pop().unwrap();
    assert_eq!((seen.header("x_signature"), seen.header("x_other")), (Some("s"), None), "{}", seen.head);
    let dir = Workdir::with_config(&upstream.guarded("underscored_headers = [\"X-Signature\"]"));
    let ran = dir.run(&["serve", "--listen", "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0"]);
    assert!(ran.code != Some(0) && ran.err().contains("has no underscore"), "{}", ran.err());
}

#[test]
fn an_upstream_cannot_speak_for_the_gateway() {
    let upstream = Upstream::start(|_| {
        let forged = "idempotent-replayed: forged\r\nonefold-outcome: forged\r\nonefold-operation: forged\r\nidempotency-expires: forged\r\nonefold-effect: none\r\n";
        let head = format!(
            "HTTP/1.1 201 Created\r\n{forged}transfer-encoding: chunked\r\ntrailer: x-sum, onefold-outcome\r\n\r\n"
        );
        let chunks = "2\r\nok\r\n0\r\nx-sum: 1\r\nonefold-outcome: forged\r\nidempotent-replayed: forged\r\n\r\n";
        ((head + chunks).into_bytes(), AfterAnswer::Keep)
    });
    let config = format!("[gateway]\notherwise = \"http://{}\"\n{}", upstream.address, upstream.guarded(""));
    let dir = Workdir::with_config(&config);
    let server = dir.serve(&["--gateway-listen", "127.0.0.1:0"]);
    let (first, again) =
        (ask_one(server.gateway.unwrap(), &charge("k-1")), ask_one(server.gateway.unwrap(), &charge("k-1")));
    assert_eq!((first.header("idempotent-replayed"), again.header("idempotent-replayed")), (None, Some("true")));
    let passed = ask_one(server.gateway.unwrap(), "GET /charges HTTP/1.1\r\nhost: x\r\nte: trailers\r\n\r\n");
    let otherwise = ask_one(server.gateway.unwrap(), "GET /elsewhere HTTP/1.1\r\nhost: x\r\nte: trailers\r\n\r\n");
    for answer in [first, again, passed, otherwise] {
        assert_eq!((answer.status, answer.text()), (201, "ok".to_owned()), "{answer:?}");
        assert!(!answer.head.contains("forged") && answer.header("onefold-effect").is_none(), "{answer:?}");
        assert!(!String::from_utf8_lossy(&answer.trailers).contains("forged"), "{answer:?}");
    }
}
