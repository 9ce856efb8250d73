//! Encrypted connections, and signing in.

use std::time::Duration;

use onefold_conformance::publisher::events::{WITHIN, delivery, event, typed_event};
use onefold_conformance::publisher::pages::publish;
use onefold_core::error::{Redacted, TARGET_NOT_READY};
use onefold_core::port::{EventSender as _, Publication, RefusedRetry};
use onefold_nats::{NatsClientCertificate, NatsLogin, NatsSettings, NatsTls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};

use crate::place::{paged, with};
use crate::server::Server;

const LEASE_FOR: Duration = Duration::from_secs(30);

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for this machine, and its key, in PEM.
fn signed_by(authority: &Authority) -> (String, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.subject_alt_names.push(SanType::IpAddress(std::net::Ipv4Addr::LOCALHOST.into()));
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// It is let in; there is no stream for its subject, which it can be told.
pub(crate) async fn assert_let_in(settings: NatsSettings) {
    let error = with(settings, "nowhere").check(LEASE_FOR, WITHIN).await.unwrap_err();
    assert!(error.detail().contains("no stream has the subject"), "{error}");
}

pub(crate) async fn assert_not_let_in(settings: NatsSettings) {
    let sender = with(settings, "nowhere");
    let error = sender.check(LEASE_FOR, WITHIN).await.unwrap_err();
    assert_eq!(error.code(), TARGET_NOT_READY, "{error}");
    assert!(error.next_step().contains("certificates") && !error.to_string().contains("hush"), "{error}");
    let publisher = paged(sender);
    let to = publisher.destination();
    let answers = publish(&*publisher, delivery(vec![event(to.as_ref(), 1, "CASE-1", "{}")])).await;
    let [Publication::Unavailable { reason, .. }] = &answers[..] else { panic!("{answers:?}") };
    assert!(!reason.contains("hush"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_with_a_password_or_a_token() {
    let password = |password: &str| {
        let password = Redacted::new(password.to_owned());
        Some(NatsLogin::Password { user: "cases".to_owned(), password })
    };
    let users = Server::start("authorization { user: cases, password: hush-right }").await;
    assert_let_in(NatsSettings { login: password("hush-right"), ..NatsSettings::new([users.url()]) }).await;
    for login in [password("hush-wrong"), None] {
        assert_not_let_in(NatsSettings { login, ..NatsSettings::new([users.url()]) }).await;
    }
    let token = |token: &str| Some(NatsLogin::Token(Redacted::new(token.to_owned())));
    let tokens = Server::start("authorization { token: hush-right }").await;
    assert_let_in(NatsSettings { login: token("hush-right"), ..NatsSettings::new([tokens.url()]) }).await;
    assert_not_let_in(NatsSettings { login: token("hush-wrong"), ..NatsSettings::new([tokens.url()]) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_encrypted_and_both_sides_prove_who_they_are() {
    let (ours, folder) = (authority(), tempfile::tempdir().unwrap());
    let (certificate, key) = signed_by(&ours);
    for (name, text) in [("ca.pem", ours.pem()), ("server.pem", certificate), ("server.key", key)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let within = |name: &str| folder.path().join(name).display().to_string();
    let server = Server::start(&format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: true }}",
        within("server.pem"),
        within("server.key"),
        within("ca.pem")
    ))
    .await;
    let settings = |trusted: &Authority, shown: Option<&Authority>| {
        let client = shown
            .map(signed_by)
            .map(|(chain, key)| NatsClientCertificate { chain_pem: chain.into(), key_pem: Redacted::new(key.into()) });
        let tls = Some(NatsTls { ca_pem: Some(trusted.pem().into_bytes()), client });
        NatsSettings { tls, ..NatsSettings::new([server.url()]) }
    };
    assert_let_in(settings(&ours, Some(&ours))).await;
    assert_not_let_in(settings(&authority(), Some(&ours))).await;
    for shown in [None, Some(&authority())] {
        let refused = with(settings(&ours, shown), "nowhere").check(LEASE_FOR, WITHIN).await;
        assert!(refused.is_err_and(|error| !error.detail().contains("no stream")), "a stranger's certificate");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_that_we_may_not_publish_to_is_known_at_once() {
    let server = Server::start(
        "authorization { users: [\n\
         { user: admin, password: a },\n\
         { user: cases, password: hush, permissions: { publish: [\"$JS.API.>\", \"cases.case.submitted\"] } } ] }",
    )
    .await;
    let admin = async_nats::ConnectOptions::with_user_and_password("admin".to_owned(), "a".to_owned());
    let context = async_nats::jetstream::new(admin.connect(server.url()).await.unwrap());
    let config = async_nats::jetstream::stream::Config {
        name: "CASES".to_owned(),
        subjects: vec!["cases.>".to_owned()],
        duplicate_window: crate::place::WINDOW,
        ..Default::default()
    };
    context.create_stream(config).await.unwrap();
    let login = NatsLogin::Password { user: "cases".to_owned(), password: Redacted::new("hush".to_owned()) };
    let settings = NatsSettings { login: Some(login), ..NatsSettings::new([server.url()]) };
    let publisher = paged(with(settings, "cases.{event_type}"));
    let to = publisher.destination();
    let page = vec![typed_event(to.as_ref(), 1, "CASE-1", "case.closed", "1"), event(to.as_ref(), 2, "CASE-2", "2")];
    let answers = publish(&*publisher, delivery(page)).await;
    let [Publication::Refused { reason, retry: RefusedRetry::After(None), .. }, Publication::Published { .. }] =
        &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert!(reason.to_lowercase().contains("permissions violation"), "{reason}");
}
