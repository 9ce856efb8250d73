use std::time::Duration;

use onefold_core::effect::Policy;
use onefold_http::gateway::Protocol;
use onefold_runtime::{Breaker, Rate};

use super::*;

const MINIMAL: &str = "[[route]]\nname = \"pay\"\nmatch = \"POST /payments\"\nupstream = \"http://127.0.0.1:1\"\nclass = \"external-command\"\ncaller = \"anonymous\"\n";

#[test]
fn a_complete_route_is_read() {
    let text = r#"
        [gateway]
        tls = { certificate = "a.pem", key = "a.key", client_ca = "ca.pem" }
        otherwise = "http://127.0.0.1:9"
        trusted_proxies = ["10.0.0.0/8"]
        connections_max = 7
        headers_within = "3s"

        [dependency.payments]
        breaker = { failures = 20, open_for = "30s" }
        bulkhead = 8
        rate = "50/s"

        [[route]]
        name = "create-payment"
        match = "POST|PUT /payments/{id}"
        upstream = ["http://127.0.0.1:1", "https://b.internal/v1"]
        upstream_ca = "ca.pem"
        class = "financial-or-legal"
        on_unknown = { same_key = "Idempotency-Key", provider_memory = "24h" }
        caller = { jwt = { jwks = "keys.json", subject = "sub", issuer = "https://i", audience = "a", tenant_claim = "org", leeway = "5s" } }
        key = "optional"
        header = "X-Key"
        tenant_header = "X-Tenant"
        answers = { 402 = "final", 404 = "none", 500 = "unknown", 201 = "applied" }
        trust_effect_header = true
        timeout = "8s"
        deadline = "10s"
        retention = { result = "7d", id = "30d" }
        body_bytes_max = 2048
        body_read_timeout = "5s"
        stored_headers = ["Location"]
        in_flight_max = 9
        waiters = 3
        wait = "1s"
        in_flight_status = 425
        reused = { status = 409, code = "OWN_CODE" }
        evidence = "header:Location"
        dependency = "payments"
        idempotent_methods = ["PUT"]
        fingerprint = "canonical"
    "#;
    let read = read("onefold.toml", text).unwrap().unwrap();
    let [route] = read.routes.as_slice() else { panic!("one route") };
    assert_eq!(route.terms.contract.policy(), &Policy::SameKey { provider_memory: Duration::from_hours(24) });
    assert_eq!(route.terms.dependency.as_deref(), Some("payments"));
    assert_eq!((route.timeout, route.terms.deadline_for), (Duration::from_secs(8), Duration::from_secs(10)));
    assert_eq!(route.provider_key.as_ref().unwrap(), "idempotency-key");
    assert_eq!((route.key, route.header.as_str()), (KeyRule::Optional, "x-key"));
    assert_eq!(route.answers[&402], AnswerMeans::Final);
    assert_eq!(route.answers[&404], AnswerMeans::None);
    assert_eq!(route.reused, Some((409, Some("OWN_CODE".to_owned()))));
    assert_eq!(route.upstreams.len(), 2);
    assert_eq!(route.connect.protocol, Protocol::Negotiated);
    let [dependency] = read.dependencies.as_slice() else { panic!("one dependency") };
    assert_eq!(dependency.limits.breaker, Some(Breaker { failures: 20, open_for: Duration::from_secs(30) }));
    assert_eq!(dependency.limits.at_once_max, Some(8));
    assert_eq!(dependency.limits.rate, Rate::parse("50/s"));
    assert_eq!((read.limits.connections_max, read.limits.headers_within), (7, Duration::from_secs(3)));
    assert!(read.tls.is_some() && read.otherwise.is_some() && !read.open);
}

#[test]
fn without_a_route_there_is_no_gateway() {
    assert!(read("x.toml", "[dependency.d]\nbulkhead = 1\n").unwrap().is_none());
    assert!(read("x.toml", MINIMAL).unwrap().is_some());
}

#[test]
fn connecting_takes_less_than_the_answer() {
    let rows = [("", 5_000), ("timeout = \"4s\"", 2_000), ("timeout = \"4s\"\nconnect_timeout = \"3s\"", 3_000)];
    for (more, milliseconds) in rows {
        let read = read("x.toml", &format!("{MINIMAL}{more}\n")).unwrap().unwrap();
        assert_eq!(read.routes[0].connect.within, Duration::from_millis(milliseconds), "{more}");
    }
}

#[test]
fn every_mistake_is_shown_where_it_stands() {
    let rows = [
        ("class = \"external-command\"", "", ":2:8:", "class = "),
        ("caller = \"anonymous\"", "", ":2:8:", "anonymous"),
        ("class = \"external-command\"", "class = \"local\"", ":5:9:", "converging"),
        ("class = \"external-command\"", "class = \"message-publish\"", ":5:9:", "same_key"),
        ("class = \"external-command\"", "class = \"magic\"", ":5:9:", "use one of"),
        ("class =", "clas =", ":5:1:", "did you mean `class`?"),
        ("POST /payments", "payments", ":3:9:", "POST /payments"),
        ("POST /payments", "POST /a/../b", ":3:9:", "POST /payments"),
        ("http://127.0.0.1:1", "127.0.0.1", ":4:12:", "http://127.0.0.1:8080"),
        ("\"anonymous\"", "\"someone\"", ":6:10:", "certificate"),
        ("\"anonymous\"", "{ jwt = { subject = \"sub\" } }", ":6:10:", "keys.json"),
        ("\"anonymous\"", "{ jwt = { jwk = \"k\" } }", ":6:10:", "jwks"),
        ("\"anonymous\"", "\"anonymous\"\ntenant_header = \"X\"", ":7:17:", "who calls"),
        ("\"anonymous\"", "\"anonymous\"\ntimeout = \"soon\"", ":7:11:", "10s"),
        ("\"anonymous\"", "\"anonymous\"\ntimeout = \"2m\"\ndeadline = \"1m\"", ":7:11:", "deadline"),
        (
            "\"anonymous\"",
            "\"anonymous\"\nconnect_timeout = \"3s\"\ntimeout = \"3s\"",
            ":7:19:",
            "shorter than `timeout`",
        ),
        ("\"anonymous\"", "\"anonymous\"\nanswers = { 99 = \"none\" }", ":7:13:", "402"),
        ("\"anonymous\"", "\"anonymous\"\nanswers = { 500 = \"maybe\" }", ":7:19:", "unknown"),
        ("\"anonymous\"", "\"anonymous\"\nstored_headers = [\"Set-Cookie\"]", ":7:19:", "leave it out"),
        (
            "\"anonymous\"",
            "\"anonymous\"\non_unknown = { same_key = \"two words\", provider_memory = \"1h\" }",
            ":7:14:",
            "X-",
        ),
        ("\"anonymous\"", "\"anonymous\"\nkey = \"maybe\"", ":7:7:", "optional"),
        ("\"anonymous\"", "\"anonymous\"\nidempotent_methods = [\"POST\"]", ":7:23:", "PUT"),
        ("\"anonymous\"", "\"anonymous\"\nin_flight_status = 500", ":7:20:", "425"),
        ("\"anonymous\"", "\"anonymous\"\npreserve_host = true\nupstream_http2 = true", ":8:18:", "leave out"),
        (
            "\"anonymous\"",
            "\"anonymous\"\ndependency = \"payment\"\n[dependency.payments]\nbulkhead = 1",
            ":7:14:",
            "did you mean `payments`?",
        ),
        ("\"anonymous\"", "\"anonymous\"\n[dependency.d]\nrate = \"fast\"", ":8:8:", "50/s"),
        ("\"anonymous\"", "\"anonymous\"\n[gateway]\ntrusted_proxies = [\"proxy\"]", ":8:20:", "10.0.0.0/8"),
        ("\"anonymous\"", "\"anonymous\"\n[gateway]\nopne = true", ":8:1:", "did you mean `open`?"),
    ];
    for (from, to, at, hint) in rows {
        let text = MINIMAL.replacen(from, to, 1);
        let error = read("x.toml", &text).map(|_| ()).unwrap_err();
        let shown = error.to_string();
        assert!(shown.contains(&format!("x.toml{at}")) && shown.contains(hint), "{text}\n→ {shown}");
    }
    let twice = format!("{MINIMAL}{MINIMAL}");
    assert!(read("x.toml", &twice).map(|_| ()).unwrap_err().to_string().contains("two routes are called"));
}
