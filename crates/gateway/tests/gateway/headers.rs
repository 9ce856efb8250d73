//! What passes, what ends here, and what an upstream is told.

use axum::body::Body;
use axum::http::StatusCode;
use onefold_gateway::Table;
use onefold_http::listen::TrustedProxies;
use onefold_http::{Caller, FromRequest};

use crate::fixture::{Gate, Service, WITHIN, forward, get, http1, route, telling, text};

#[tokio::test]
async fn headers_of_one_connection_end_here_both_ways() {
    let service = Service::start().await;
    let gate = Gate::of(route(&service.url)).await;
    let answer = gate
        .raw("GET /a?b=%2F HTTP/1.1\r\nHost: shop\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: Basic x\r\nTE: trailers, gzip\r\nExpect: 100-continue\r\nX-Yours: 2\r\n\r\n")
        .await;
    let seen = service.only();
    assert_eq!(seen.line, "GET /a?b=%2F");
    for gone in ["x-mine", "keep-alive", "proxy-authorization", "connection", "expect"] {
        assert_eq!(seen.header(gone), None, "{gone}");
    }
    assert_eq!((seen.header("te"), seen.header("x-yours")), (Some("trailers"), Some("2")));
    assert_eq!(seen.header("host"), service.url.strip_prefix("http://"));
    assert_eq!(seen.header("via"), Some("1.1 onefold"));
    let answer = answer.to_lowercase();
    assert!(answer.starts_with("http/1.1 200") && answer.contains("x-own: 1"), "{answer}");
    assert!(answer.contains("cache-control: max-age=7") && answer.contains("via: 1.1 onefold"), "{answer}");
    assert!(!answer.contains("keep-alive") && !answer.contains("proxy-authenticate"), "{answer}");
}

#[tokio::test]
async fn an_upstream_is_told_who_called_and_a_client_cannot_say_so_itself() {
    let service = Service::start().await;
    let gate = Gate::of(route(&service.url)).await;
    let spoofed = "GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nX-Forwarded-For: 10.0.0.1\r\nForwarded: for=10.0.0.1\r\nX-Real-IP: 10.0.0.1\r\n\r\n";
    gate.raw(spoofed).await;
    let seen = service.only();
    assert_eq!(seen.header("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(seen.header("x-forwarded-host"), Some("shop"));
    assert_eq!(seen.header("x-forwarded-proto"), Some("http"));
    assert_eq!(seen.header("forwarded"), Some("for=127.0.0.1;host=\"shop\";proto=http"));
    assert_eq!(seen.header("x-real-ip"), None);
}

#[tokio::test]
async fn a_client_cannot_take_away_what_is_meant_for_us_or_said_of_it() {
    let service = Service::start().await;
    let known = FromRequest(|parts: &axum::http::request::Parts| {
        Ok(parts.headers.get("authorization").map_or(Caller::Anonymous, |_| Caller::known("me")))
    });
    let sent = "POST /a HTTP/1.1\r\nHost: shop\r\nConnection: close, x-forwarded-for, X-Forwarded-Proto, forwarded, via, x-correlation-id, idempotency-key, authorization, host, x-mine\r\nIdempotency-Key: k\r\nAuthorization: Bearer t\r\nX-Mine: 1\r\nContent-Length: 0\r\n\r\n";
    for entry in [route(&service.url), telling(&service.url, known)] {
        let guarded = entry.guard.is_some();
        let answer = Gate::of(entry).await.raw(sent).await;
        assert!(!guarded || answer.contains("x-caller: me|-"), "{answer}");
    }
    assert_eq!(service.seen().len(), 2);
    for seen in service.seen() {
        assert_eq!(seen.header("x-forwarded-for"), Some("127.0.0.1"));
        assert_eq!(seen.header("x-forwarded-proto"), Some("http"));
        assert_eq!(seen.header("forwarded"), Some("for=127.0.0.1;host=\"shop\";proto=http"));
        assert_eq!(seen.header("via"), Some("1.1 onefold"));
        assert_eq!((seen.header("idempotency-key"), seen.header("authorization")), (Some("k"), Some("Bearer t")));
        assert!(seen.header("x-correlation-id").is_some() && seen.header("x-mine").is_none(), "{seen:?}");
    }
}

#[tokio::test]
async fn a_trusted_proxy_is_added_to() {
    let service = Service::start().await;
    let trusted = TrustedProxies::parse(["127.0.0.0/8"]).unwrap();
    let gate = Gate::open(Table::new(vec![route(&service.url)]).unwrap().trusted(trusted)).await;
    gate.raw("GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n").await;
    assert_eq!(service.only().header("x-forwarded-for"), Some("10.0.0.1, 127.0.0.1"));
}

#[tokio::test]
async fn a_tenant_in_a_header_is_believed_from_a_trusted_proxy_only() {
    let service = Service::start().await;
    let known = || {
        let mut entry = telling(&service.url, FromRequest(|_: &_| Ok(Caller::known("me"))));
        entry.tenant_header = Some("x-tenant".parse().unwrap());
        entry
    };
    let asked = "GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nX-Tenant: acme\r\n\r\n";
    let closed = Gate::of(known()).await;
    assert!(closed.raw(asked).await.contains("x-caller: me|-"));
    assert_eq!(service.seen()[0].header("x-tenant"), None);
    let trusted = TrustedProxies::parse(["127.0.0.1"]).unwrap();
    let open = Gate::open(Table::new(vec![known()]).unwrap().trusted(trusted)).await;
    assert!(open.raw(asked).await.contains("x-caller: me|acme"));
    assert_eq!(service.seen()[1].header("x-tenant"), Some("acme"));
    let twice = asked.replace("X-Tenant: acme", "X-Tenant: acme\r\nX-Tenant: other");
    assert!(open.raw(&twice).await.starts_with("HTTP/1.1 400"));
}

#[tokio::test]
async fn the_clients_host_is_preserved_where_that_is_asked_for() {
    let service = Service::start().await;
    let mut entry = route(&service.url);
    let way = forward(&[&service.url], &onefold_http::client::Connect::default(), WITHIN).preserve_host();
    entry.forward = std::sync::Arc::new(way);
    let gate = Gate::of(entry).await;
    gate.raw("GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n").await;
    assert_eq!(service.only().header("host"), Some("shop.example"));
}

#[tokio::test]
async fn a_redirect_is_the_clients_to_follow() {
    let service = Service::start().await;
    let gate = Gate::of(route(&service.url)).await;
    let response = http1().request(get(&gate.url("/moved")).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::FOUND);
    assert_eq!(response.headers()["location"], "http://127.0.0.1:1/elsewhere");
    assert!(response.headers().contains_key("x-correlation-id"));
    assert_eq!(text(response).await, "");
}

#[tokio::test]
async fn an_answer_without_a_body_keeps_its_length() {
    let service = Service::start().await;
    let gate = Gate::of(route(&service.url)).await;
    let answer = gate.raw("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("content-length: 5"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
}
