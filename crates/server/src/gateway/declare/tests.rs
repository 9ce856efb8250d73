use std::time::Duration;

use onefold_config::{GuardedMethod, KeyRequirement, StatusMeaning};
use onefold_core::effect::Policy;
use onefold_core::error::IDEMPOTENCY_KEY_REUSED;

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
        calls_max = 8
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
        answers = { 402 = "final", 404 = "not-applied", 500 = "unknown", 201 = "applied" }
        trust_effect_header = true
        timeout = "8s"
        deadline = "10s"
        retention = { result = "7d", id = "30d" }
        body_bytes_max = 2048
        read_within = "5s"
        stored_headers = ["Location"]
        in_flight_max = 9
        waiters_max = 3
        wait = "1s"
        in_flight_status = 425
        reused = { status = 409, code = "IDEMPOTENCY_KEY_REUSED" }
        evidence = "header:Location"
        depends_on = "payments"
        methods = ["POST", "PUT"]
        fingerprint = "canonical"
    "#;
    let read = read("onefold.toml", text).unwrap().unwrap();
    let [route] = read.routes.as_slice() else { panic!("one route") };
    let (terms, forward, guard) = (&route.kind.terms, &route.declared.forward, &route.declared.guard);
    assert_eq!(terms.contract.policy(), &Policy::SameKey { provider_memory: Duration::from_hours(24) });
    assert_eq!(terms.dependency.as_deref(), Some("payments"));
    assert_eq!((forward.timeout, terms.deadline_for), (Some(Duration::from_secs(8)), Duration::from_secs(10)));
    assert_eq!(route.declared.provider_key(), Some("Idempotency-Key"));
    assert_eq!((guard.key, guard.header.as_str()), (KeyRequirement::Optional, "X-Key"));
    assert_eq!(guard.answers[&402], StatusMeaning::Final);
    assert_eq!(guard.answers[&404], StatusMeaning::NotApplied);
    assert_eq!((guard.reused.status, guard.reused.code), (409, IDEMPOTENCY_KEY_REUSED));
    assert_eq!(guard.methods(), [GuardedMethod::Post, GuardedMethod::Put]);
    assert_eq!(route.upstreams.len(), 2);
    assert_eq!(forward.upstream_http2, None);
    let GatewayDeclaration { access, limits } = read.declared;
    assert_eq!((limits.connections_max, limits.headers_within), (7, Duration::from_secs(3)));
    assert!(access.tls.is_some() && read.otherwise.is_some() && !access.open);
}

#[test]
fn without_a_route_there_is_no_gateway() {
    assert!(read("x.toml", "[dependency.d]\ncalls_max = 1\n").unwrap().is_none());
    assert!(read("x.toml", MINIMAL).unwrap().is_some());
}

#[test]
fn relative_paths_begin_in_the_folder_of_the_file() {
    let text = MINIMAL.replace("\"anonymous\"", "{ jwt = { jwks = \"keys.json\" } }\nupstream_ca = \"ca.pem\"");
    let read = read("conf/onefold.toml", &format!("{text}credential = {{ file = \"provider.key\" }}\n")).unwrap();
    let forward = &read.unwrap().routes[0].declared.forward;
    assert_eq!(forward.upstream_ca.as_deref(), Some(std::path::Path::new("conf/ca.pem")));
    assert_eq!(forward.credential.as_ref().unwrap().file, std::path::Path::new("conf/provider.key"));
    let keys = onefold_config::Jwks::File("conf/keys.json".into());
    let Some(onefold_config::CallerDeclaration::Jwt(jwt)) = &forward.caller else { panic!("a token") };
    assert_eq!(jwt.jwks, Some(keys));
}

#[test]
fn an_address_or_a_path_that_cannot_be_used_is_shown_where_it_stands() {
    let rows = [
        ("POST /payments", "payments", ":3:9:", "POST /payments"),
        ("POST /payments", "POST /a/../b", ":3:9:", "POST /payments"),
        ("http://127.0.0.1:1", "127.0.0.1", ":4:12:", "http://127.0.0.1:8080"),
        ("\"http://127.0.0.1:1\"", "[\"http://127.0.0.1:1\", \"b\"]", ":4:35:", "http://127.0.0.1:8080"),
        ("\"anonymous\"", "\"anonymous\"\n[gateway]\ntrusted_proxies = [\"proxy\"]", ":8:20:", "10.0.0.0/8"),
        ("\"anonymous\"", "\"anonymous\"\n[gateway]\notherwise = \"rest\"", ":8:13:", "http://"),
    ];
    for (from, to, at, hint) in rows {
        let text = MINIMAL.replacen(from, to, 1);
        let error = read("x.toml", &text).map(|_| ()).unwrap_err();
        let shown = error.to_string();
        assert!(shown.contains(&format!("x.toml{at}")) && shown.contains(hint), "{text}\n→ {shown}");
    }
}
