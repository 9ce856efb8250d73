//! A webhook as the target of a relay, at a real receiver: redirects are not followed, names lead only where they may.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use onefold_conformance::publisher::events::{WITHIN, event};
use onefold_core::error::{RATE_LIMITED, TARGET_UNAVAILABLE};
use onefold_core::port::{EventSender as _, Publication};
use onefold_http::client::{AddressRule, Connect, Network, Webhook, WebhookSecret};
use onefold_runtime::SystemClock;

/// Answers every request alike, and counts.
async fn receiver(status: StatusCode, headers: HeaderMap) -> (SocketAddr, Arc<AtomicUsize>) {
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let answer = move || {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready((status, headers.clone()))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    (at, heard)
}

fn webhook(address: &str, rule: AddressRule) -> Webhook {
    let client = Connect { addresses: rule, ..Connect::default() }.client().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, "a secret that only both of us know").unwrap();
    let secret = WebhookSecret::read(&file, "test").unwrap();
    Webhook::new(address.parse().unwrap(), secret, client, Arc::new(SystemClock))
}

async fn send(webhook: &Webhook) -> Publication {
    webhook.send(&event(None, 1, "CASE-7", "{}"), WITHIN).await
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (elsewhere, heard) = receiver(StatusCode::NO_CONTENT, HeaderMap::new()).await;
    for status in [StatusCode::FOUND, StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT] {
        let location = HeaderValue::from_str(&format!("http://{elsewhere}/hook")).unwrap();
        let (at, asked) = receiver(status, HeaderMap::from_iter([(header::LOCATION, location)])).await;
        let answer = send(&webhook(&format!("http://{at}/hook"), AddressRule::Any)).await;
        let Publication::Unavailable { code, reason, .. } = answer else { panic!("{status}: {answer:?}") };
        assert_eq!(code, TARGET_UNAVAILABLE);
        assert!(reason.contains("redirects are not followed"), "{reason}");
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }
    assert_eq!(heard.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_receiver_says_when_it_wants_to_be_tried_again() {
    let wait = HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static("17"))]);
    let (at, _) = receiver(StatusCode::TOO_MANY_REQUESTS, wait).await;
    let answer = send(&webhook(&format!("http://{at}/hook"), AddressRule::Any)).await;
    let Publication::Unavailable { code, after, .. } = answer else { panic!("{answer:?}") };
    assert_eq!((code, after), (RATE_LIMITED, Some(Duration::from_secs(17))));
}

#[tokio::test]
async fn a_name_that_leads_into_a_private_network_is_not_called_unless_it_is_listed() {
    let (at, heard) = receiver(StatusCode::NO_CONTENT, HeaderMap::new()).await;
    let address = format!("http://localhost:{}/hook", at.port());
    let answer = send(&webhook(&address, AddressRule::Public { allowed: Arc::from([]) })).await;
    let Publication::Unavailable { reason, .. } = answer else { panic!("{answer:?}") };
    assert!(reason.contains("`allow`"), "{reason}");
    assert_eq!(heard.load(Ordering::SeqCst), 0);
    let listed: Vec<Network> = ["127.0.0.0/8", "::1"].iter().filter_map(|text| Network::parse(text)).collect();
    let answer = send(&webhook(&address, AddressRule::Public { allowed: listed.into() })).await;
    assert_eq!(answer, Publication::Published { position: None });
    assert_eq!(heard.load(Ordering::SeqCst), 1);
}
