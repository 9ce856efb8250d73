//! Encrypted connections, signing in, and a limit that only the broker knows.

use std::time::Duration;

use onefold_conformance::publisher::events::{WITHIN, delivery, event};
use onefold_conformance::publisher::pages::publish;
use onefold_core::error::{EVENT_TOO_LARGE, Redacted, TARGET_NOT_READY};
use onefold_core::port::{EventSender as _, Publication, RefusedRetry};
use onefold_rabbitmq::{RabbitMqClientCertificate, RabbitMqLogin, RabbitMqSettings, RabbitMqTls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose, SanType};

use crate::broker::Broker;
use crate::place::{Queue, paged, port, with};

const LEASE_FOR: Duration = Duration::from_secs(30);

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    // A certificate whose issuer has its own name counts as self-signed there.
    params.distinguished_name.push(DnType::CommonName, "authority");
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for this name, and its key, in PEM.
fn signed_by(authority: &Authority) -> (String, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.subject_alt_names.push(SanType::DnsName("rabbit.test".try_into().unwrap()));
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    (certificate.pem(), key.serialize_pem())
}

async fn assert_not_let_in(settings: RabbitMqSettings) {
    let error = with(settings, "", "cases").check(LEASE_FOR, WITHIN).await.unwrap_err();
    assert_eq!(error.code(), TARGET_NOT_READY, "{error}");
    assert!(error.next_step().contains("password") && !error.to_string().contains("hush"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_encrypted_signed_in_and_within_the_brokers_limits() {
    let (ours, folder) = (authority(), tempfile::tempdir().unwrap());
    let (certificate, key) = signed_by(&ours);
    for (name, text) in [("ca.pem", ours.pem()), ("server.pem", certificate), ("server.key", key)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let within = |name: &str| folder.path().join(name).display().to_string();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let encrypted = listener.local_addr().unwrap().port();
    drop(listener);
    let broker = Broker::start(&format!(
        "listeners.ssl.1 = 127.0.0.1:{encrypted}\nssl_options.cacertfile = {}\nssl_options.certfile = {}\n\
         ssl_options.keyfile = {}\nssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = true\n\
         default_user = cases\ndefault_pass = hush-right\nloopback_users = none\nmax_message_size = 4000",
        within("ca.pem"),
        within("server.pem"),
        within("server.key")
    ))
    .await;
    let login =
        |password: &str| Some(RabbitMqLogin { user: "cases".to_owned(), password: Redacted::new(password.to_owned()) });
    let settings = |trusted: &Authority, shown: Option<&Authority>, password: &str| {
        let client = shown.map(signed_by).map(|(chain, key)| RabbitMqClientCertificate {
            chain_pem: chain.into(),
            key_pem: Redacted::new(key.into()),
        });
        let ca_pem = Some(trusted.pem().into_bytes());
        let tls = RabbitMqTls { ca_pem, client, server_name: Some("rabbit.test".to_owned()) };
        let address = format!("amqps://127.0.0.1:{encrypted}");
        RabbitMqSettings { login: login(password), tls, ..RabbitMqSettings::new(address) }
    };
    let right = settings(&ours, Some(&ours), "hush-right");
    with(right.clone(), "", "cases").check(LEASE_FOR, WITHIN).await.unwrap();
    assert_not_let_in(settings(&ours, Some(&ours), "hush-wrong")).await;
    assert_not_let_in(settings(&authority(), Some(&ours), "hush-right")).await;
    assert_not_let_in(RabbitMqSettings { address: format!("{}/nowhere", right.address), ..right.clone() }).await;
    for shown in [None, Some(&authority())] {
        let stranger = with(settings(&ours, shown, "hush-right"), "", "cases").check(LEASE_FOR, WITHIN).await;
        assert!(stranger.is_err(), "a stranger's certificate");
    }

    let admin = format!("amqp://cases:hush-right@127.0.0.1:{}", port(&broker.url()));
    let queue = Queue::make(&admin, "#", &[]).await;
    let publisher = paged(with(right, &queue.name, "cases"));
    let to = publisher.destination();
    let page = vec![
        event(to.as_ref(), 1, "CASE-1", "1"),
        event(to.as_ref(), 2, "CASE-1", "x".repeat(5_000)),
        event(to.as_ref(), 3, "CASE-1", "3"),
        event(to.as_ref(), 4, "CASE-2", "4"),
    ];
    let answers = publish(&*publisher, delivery(page)).await;
    let [
        Publication::Published { .. },
        Publication::Refused { code, retry: RefusedRetry::Never, .. },
        Publication::NotSent,
        Publication::Published { .. },
    ] = &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert_eq!(*code, EVENT_TOO_LARGE);
    assert_eq!(queue.payloads().await, ["1", "4"]);
}
