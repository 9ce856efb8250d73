//! A credentials file, as an operator's tools write it: a JWT of the user, and the key that signs for it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use onefold_core::error::Redacted;
use onefold_nats::{NatsLogin, NatsSettings};

use crate::security::{assert_let_in, assert_not_let_in};
use crate::server::Server;

const NO_LIMITS: &str = "\"limits\":{\"subs\":-1,\"conn\":-1,\"leaf\":-1,\"imports\":-1,\"exports\":-1,\"data\":-1,\
                         \"payload\":-1,\"wildcards\":true,\"mem_storage\":-1,\"disk_storage\":-1,\"streams\":-1,\
                         \"consumer\":-1}";

/// What one key says of another.
fn jwt(issuer: &KeyPair, subject: &KeyPair, claims: &str) -> String {
    let (iss, sub) = (issuer.public_key(), subject.public_key());
    let claims = format!(
        "{{\"jti\":\"{sub}\",\"iat\":1700000000,\"iss\":\"{iss}\",\"name\":\"t\",\"sub\":\"{sub}\",\"nats\":{{{claims},\"version\":2}}}}"
    );
    let encode = |text: &[u8]| URL_SAFE_NO_PAD.encode(text);
    let signed = format!("{}.{}", encode(b"{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}"), encode(claims.as_bytes()));
    let signature = issuer.sign(signed.as_bytes()).expect("a key that signs");
    format!("{signed}.{}", encode(&signature))
}

fn credentials(user: &KeyPair, jwt: &str) -> NatsLogin {
    let seed = user.seed().expect("a key with its seed");
    NatsLogin::Credentials(Redacted::new(format!(
        "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_with_a_credentials_file() {
    let (operator, system, account, user) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account(), KeyPair::new_user());
    let account_claims = format!("{NO_LIMITS},\"type\":\"account\"");
    let server = Server::start(&format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {}, {}: {} }}",
        jwt(&operator, &operator, "\"type\":\"operator\""),
        system.public_key(),
        system.public_key(),
        jwt(&operator, &system, "\"limits\":{\"subs\":-1,\"conn\":-1,\"leaf\":-1,\"imports\":-1,\"exports\":-1,\"data\":-1,\"payload\":-1,\"wildcards\":true},\"type\":\"account\""),
        account.public_key(),
        jwt(&operator, &account, &account_claims),
    ))
    .await;
    let claims = "\"pub\":{},\"sub\":{},\"subs\":-1,\"data\":-1,\"payload\":-1,\"type\":\"user\"";
    let right = credentials(&user, &jwt(&account, &user, claims));
    assert_let_in(NatsSettings { login: Some(right), ..NatsSettings::new([server.url()]) }).await;
    let stranger = credentials(&user, &jwt(&KeyPair::new_account(), &user, claims));
    assert_not_let_in(NatsSettings { login: Some(stranger), ..NatsSettings::new([server.url()]) }).await;
}
