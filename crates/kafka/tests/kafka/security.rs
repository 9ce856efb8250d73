//! Encrypted connections, and signing in.

use std::path::Path;
use std::time::Duration;

use onefold_core::error::{Redacted, TARGET_NOT_READY};
use onefold_core::port::{Publication, Publisher as _};
use onefold_kafka::{KafkaClientCertificate, KafkaSasl, KafkaSettings, KafkaTls, SaslMechanism};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};

use crate::broker::{Brokers, Setup};
use crate::events::{WITHIN, delivery, event};
use crate::kcat;
use crate::relay::publish;
use crate::topics::{create, shared, with};

type Authority = CertifiedIssuer<'static, KeyPair>;

/// The name tells an authority from those it signs: OpenSSL takes a certificate that names itself for its own issuer.
fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn authority() -> Authority {
    let mut params = named("authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for this machine, and its key, in PEM.
fn signed_by(authority: &Authority) -> (String, String) {
    let mut params = named("this machine");
    params.subject_alt_names.push(SanType::IpAddress(std::net::Ipv4Addr::LOCALHOST.into()));
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// A broker that clients reach encrypted, and that shows a certificate of this authority.
async fn broker(
    protocol: &'static str,
    authority: &Authority,
    folder: &Path,
    more: &[&str],
    format: &[&str],
) -> Brokers {
    let (certificate, key) = signed_by(authority);
    let (keys, trusted) = (folder.join("keys.pem"), folder.join("trusted.pem"));
    std::fs::write(&keys, format!("{key}{certificate}")).unwrap();
    std::fs::write(&trusted, authority.pem()).unwrap();
    let mut settings = vec![
        "ssl.keystore.type=PEM".to_owned(),
        format!("ssl.keystore.location={}", keys.display()),
        "ssl.truststore.type=PEM".to_owned(),
        format!("ssl.truststore.location={}", trusted.display()),
    ];
    settings.extend(more.iter().map(|line| (*line).to_owned()));
    let format = format.iter().map(|argument| (*argument).to_owned()).collect();
    Brokers::one(&Setup { protocol, settings, format, ..Setup::default() }).await
}

fn tls(authority: &Authority) -> KafkaTls {
    KafkaTls { ca_pem: Some(authority.pem().into_bytes()), ..KafkaTls::default() }
}

async fn assert_publishes(broker: &Brokers, settings: KafkaSettings) {
    let topic = create(&broker.direct(0), 1, &[]).await;
    let publisher = with(settings, &topic);
    publisher.check(Duration::from_mins(1), WITHIN).await.unwrap();
    let answers = publish(&publisher, delivery(vec![event(&topic, 1, "CASE-1", "{}")])).await;
    assert!(matches!(answers[..], [Publication::Published { .. }]), "{answers:?}");
    assert_eq!(kcat::committed(&broker.direct(0), &topic).len(), 1);
}

async fn assert_not_let_in(settings: KafkaSettings) {
    let publisher = with(settings, "cases");
    let error = publisher.check(Duration::from_mins(1), WITHIN).await.unwrap_err();
    assert_eq!(error.code(), TARGET_NOT_READY, "{error}");
    assert!(error.next_step().contains("password") && !error.to_string().contains("hush"), "{error}");
    let answers = publish(&publisher, delivery(vec![event("cases", 1, "CASE-1", "{}")])).await;
    assert!(
        matches!(&answers[..], [Publication::Unavailable { reason, .. }] if !reason.contains("hush")),
        "{answers:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_proves_a_password_over_an_encrypted_connection() {
    let (ours, folder) = (authority(), tempfile::tempdir().unwrap());
    let settings = [
        "sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
        concat!(
            "listener.name.clients.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule ",
            "required user_plain=\"hush-plain\";"
        ),
        "listener.name.clients.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "listener.name.clients.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;",
    ];
    let users = [
        "--add-scram",
        "SCRAM-SHA-256=[name=short,password=hush-256]",
        "--add-scram",
        "SCRAM-SHA-512=[name=long,password=hush-512]",
    ];
    let broker = broker("SASL_SSL", &ours, folder.path(), &settings, &users).await;
    let signed_in = |mechanism, username: &str, password: &str, tls| KafkaSettings {
        tls: Some(tls),
        sasl: Some(KafkaSasl {
            mechanism,
            username: username.to_owned(),
            password: Redacted::new(password.to_owned()),
        }),
        ..KafkaSettings::new([broker.clients()])
    };
    for (mechanism, user, password) in [
        (SaslMechanism::ScramSha256, "short", "hush-256"),
        (SaslMechanism::ScramSha512, "long", "hush-512"),
        (SaslMechanism::Plain, "plain", "hush-plain"),
    ] {
        assert_publishes(&broker, signed_in(mechanism, user, password, tls(&ours))).await;
        assert_not_let_in(signed_in(mechanism, user, "hush-wrong", tls(&ours))).await;
    }
    let another = tls(&authority());
    assert_not_let_in(signed_in(SaslMechanism::ScramSha512, "long", "hush-512", another)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_shows_a_certificate() {
    let (ours, folder) = (authority(), tempfile::tempdir().unwrap());
    let broker = broker("SSL", &ours, folder.path(), &["ssl.client.auth=required"], &[]).await;
    let showing = |authority: &Authority| {
        let (chain, key) = signed_by(authority);
        let client = Some(KafkaClientCertificate { chain_pem: chain.into(), key_pem: Redacted::new(key.into()) });
        KafkaSettings { tls: Some(KafkaTls { client, ..tls(&ours) }), ..KafkaSettings::new([broker.clients()]) }
    };
    assert_publishes(&broker, showing(&ours)).await;
    let publisher = with(showing(&authority()), "cases");
    assert!(publisher.check(Duration::from_mins(1), WITHIN).await.is_err(), "a stranger's certificate");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_not_one_is_refused_and_not_shown() {
    let ours = authority();
    let (chain, _) = signed_by(&ours);
    let key_pem = Redacted::new(b"-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n".to_vec());
    let client = Some(KafkaClientCertificate { chain_pem: chain.into(), key_pem });
    let settings = KafkaSettings { tls: Some(KafkaTls { client, ..tls(&ours) }), ..KafkaSettings::new([shared()]) };
    let error = with(settings, "cases").check(Duration::from_mins(1), WITHIN).await.unwrap_err();
    assert!(!format!("{error:?}").contains("hush"), "{error:?}");
}
