//! Who calls: signed tokens, and a service that is asked.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::IntoResponse as _;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use onefold_config::{AuthDeclaration, JwtDeclaration};
use onefold_gateway::identify::{Auth, Jwt, Keys, KeysFrom};
use onefold_http::Identify;
use onefold_http::client::Connect;
use rcgen::{KeyPair, PublicKeyData as _};
use serde_json::{Value, json};

use crate::fixture::{Gate, Service, WITHIN, file, http1, nobody, serve, telling};

/// A key that signs tokens.
struct Signer {
    id: &'static str,
    key: KeyPair,
}

impl Signer {
    fn new(id: &'static str) -> Self {
        Self { id, key: KeyPair::generate().unwrap() }
    }

    /// Its public half, as a set of keys has it.
    fn jwk(&self) -> Value {
        let point = self.key.der_bytes();
        let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..65]));
        json!({ "kty": "EC", "crv": "P-256", "kid": self.id, "alg": "ES256", "use": "sig", "x": x, "y": y })
    }

    fn sign(&self, claims: &Value) -> String {
        self.sign_under(Header::new(Algorithm::ES256), claims)
    }

    fn sign_under(&self, header: Header, claims: &Value) -> String {
        let header = Header { kid: Some(self.id.to_owned()), ..header };
        encode(&header, claims, &EncodingKey::from_ec_pem(self.key.serialize_pem().as_bytes()).unwrap()).unwrap()
    }
}

fn set(signers: &[&Signer]) -> Value {
    json!({ "keys": signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>() })
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn claims() -> Value {
    json!({ "iss": "https://issuer", "sub": "alice", "aud": "shop", "org": "acme", "exp": now() + 60 })
}

fn with(name: &str, value: Value) -> Value {
    let mut changed = claims();
    changed[name] = value;
    changed
}

/// A token that says it needs no signature.
fn unsigned(algorithm: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.", part(&json!({ "alg": algorithm, "typ": "JWT", "kid": "one" })), part(&claims()))
}

async fn asked(gate: &Gate, token: &str) -> (StatusCode, String) {
    let request = Request::get(gate.url("/")).header("authorization", format!("Bearer {token}"));
    let response = http1().request(request.body(Body::empty()).unwrap()).await.unwrap();
    let caller = response.headers().get("x-caller").map_or("", |value| value.to_str().unwrap()).to_owned();
    (response.status(), caller)
}

async fn gate(service: &Service, identify: impl Identify) -> Gate {
    Gate::of(telling(&service.url, identify)).await
}

#[tokio::test]
async fn the_subjects_of_two_issuers_are_never_one_caller() {
    let (folder, one, service) = (tempfile::tempdir().unwrap(), Signer::new("one"), Service::start().await);
    let path = file(&folder, "keys.json", &set(&[&one]).to_string());
    let jwt = |declared| Jwt::new(Keys::open(&KeysFrom::File(path.clone()), &Connect::default()).unwrap(), declared);
    let mut anonymous_issuer = claims();
    anonymous_issuer.as_object_mut().unwrap().remove("iss");
    let gate_of_sub = gate(&service, jwt(JwtDeclaration::default())).await;
    assert_eq!(asked(&gate_of_sub, &one.sign(&anonymous_issuer)).await.1, "alice|-");
    assert_eq!(asked(&gate_of_sub, &one.sign(&with("iss", json!("-")))).await.1, "- alice|-");
    for issuer in [json!(["https://issuer"]), json!({ "name": "https://issuer" }), json!(7), json!(""), Value::Null] {
        let (status, _) = asked(&gate_of_sub, &one.sign(&with("iss", issuer.clone()))).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{issuer}");
    }
    // Where another claim names the caller, `sub` is a string all the same.
    let gate_of_org =
        gate(&service, jwt(JwtDeclaration { subject: "org".to_owned(), ..JwtDeclaration::default() })).await;
    assert_eq!(asked(&gate_of_org, &one.sign(&claims())).await.1, "https://issuer acme|-");
    assert_eq!(asked(&gate_of_org, &one.sign(&with("sub", json!(7)))).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_token_names_its_issuers_subject() {
    let (folder, one, service) = (tempfile::tempdir().unwrap(), Signer::new("one"), Service::start().await);
    let path = file(&folder, "keys.json", &set(&[&one]).to_string());
    let keys = Keys::open(&KeysFrom::File(path), &Connect::default()).unwrap();
    let declared = JwtDeclaration {
        issuer: Some("https://issuer".to_owned()),
        audience: Some("shop".to_owned()),
        tenant_claim: Some("org".to_owned()),
        leeway: Duration::ZERO,
        ..JwtDeclaration::default()
    };
    let jwt = Jwt::new(keys, declared);
    let gate = gate(&service, jwt).await;
    let known = (StatusCode::OK, "https://issuer alice|acme".to_owned());
    assert_eq!(asked(&gate, &one.sign(&claims())).await, known);
    assert_eq!(asked(&gate, &one.sign(&with("aud", json!(["other", "shop"])))).await, known);
    let stranger = Signer::new("one");
    let mut refused = vec![
        one.sign(&with("exp", json!(now() - 5))),
        one.sign(&with("exp", Value::Null)),
        one.sign(&with("nbf", json!(now() + 60))),
        one.sign(&with("iss", json!("https://other"))),
        one.sign(&with("iss", Value::Null)),
        one.sign(&with("aud", json!("other"))),
        one.sign(&with("aud", Value::Null)),
        one.sign(&with("sub", json!(""))),
        one.sign(&with("sub", json!(7))),
        one.sign(&with("sub", json!(["alice"]))),
        one.sign(&with("org", json!(7))),
        one.sign_under(Header { crit: Some(vec!["b64".to_owned()]), ..Header::new(Algorithm::ES256) }, &claims()),
        one.sign_under(Header { crit: Some(Vec::new()), ..Header::new(Algorithm::ES256) }, &claims()),
        stranger.sign(&claims()),
        Signer::new("two").sign(&claims()),
        unsigned("none"),
        unsigned("None"),
        unsigned("ES256"),
        "nonsense".to_owned(),
        String::new(),
    ];
    // The public key as the secret of a symmetric algorithm: the oldest trick.
    let public = one.key.public_key_pem();
    refused
        .push(encode(&Header::new(Algorithm::HS256), &claims(), &EncodingKey::from_secret(public.as_bytes())).unwrap());
    let before = service.seen().len();
    for token in refused {
        assert_eq!(asked(&gate, &token).await.0, StatusCode::UNAUTHORIZED, "{token}");
    }
    assert_eq!(service.seen().len(), before, "a refused request reaches no upstream");
}

#[tokio::test]
async fn a_key_that_is_not_known_yet_is_looked_for_but_not_each_time() {
    let (one, two, service) = (Signer::new("one"), Signer::new("two"), Service::start().await);
    let (held, asks) = (Arc::new(Mutex::new(set(&[&one]))), Arc::new(Mutex::new(0)));
    let answers = {
        let (held, asks) = (Arc::clone(&held), Arc::clone(&asks));
        move || {
            *asks.lock().unwrap() += 1;
            let text = held.lock().unwrap().to_string();
            async move { text }
        }
    };
    let url = serve(Router::new().fallback(answers)).await;
    let keys = Keys::open(&KeysFrom::Url(url), &Connect::default()).unwrap().again_after(Duration::from_millis(200));
    let gate = gate(&service, Jwt::new(keys, JwtDeclaration::default())).await;
    assert_eq!(asked(&gate, &one.sign(&claims())).await.0, StatusCode::OK);
    *held.lock().unwrap() = set(&[&two]);
    for _ in 0..5 {
        assert_eq!(asked(&gate, &two.sign(&claims())).await.0, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(*asks.lock().unwrap(), 1, "an unknown key makes nobody ask each time");
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(asked(&gate, &two.sign(&claims())).await.0, StatusCode::OK);
    assert_eq!(asked(&gate, &one.sign(&claims())).await.0, StatusCode::UNAUTHORIZED, "a withdrawn key ends");
    assert_eq!(*asks.lock().unwrap(), 2);
}

#[tokio::test]
async fn without_keys_nobody_is_believed_and_nobody_is_called_a_liar() {
    let (gone, service) = (nobody().await, Service::start().await);
    let keys = Keys::open(&KeysFrom::Url(gone), &Connect::default()).unwrap();
    let gate = gate(&service, Jwt::new(keys, JwtDeclaration::default())).await;
    assert_eq!(asked(&gate, &Signer::new("one").sign(&claims())).await.0, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn a_secret_is_used_where_it_is_said_and_a_set_holds_none() {
    let (folder, service) = (tempfile::tempdir().unwrap(), Service::start().await);
    let secret = "0123456789abcdef0123456789abcdef";
    let path = file(&folder, "secret.key", secret);
    let keys = Keys::open(&KeysFrom::Secret(path), &Connect::default()).unwrap();
    let gate = gate(&service, Jwt::new(keys, JwtDeclaration::default())).await;
    let token =
        |algorithm| encode(&Header::new(algorithm), &claims(), &EncodingKey::from_secret(secret.as_bytes())).unwrap();
    assert_eq!(asked(&gate, &token(Algorithm::HS256)).await.0, StatusCode::OK);
    assert_eq!(asked(&gate, &token(Algorithm::HS512)).await.0, StatusCode::UNAUTHORIZED);
    let short = file(&folder, "short.key", "too short");
    assert!(Keys::open(&KeysFrom::Secret(short), &Connect::default()).is_err());
    let symmetric = json!({ "keys": [{ "kty": "oct", "k": "c2VjcmV0", "alg": "HS256" }] });
    let set = file(&folder, "keys.json", &symmetric.to_string());
    assert!(Keys::open(&KeysFrom::File(set), &Connect::default()).is_err());
}

/// A service that knows `Bearer good` until it is revoked.
async fn authority(revoked: Arc<Mutex<bool>>, asked: Arc<Mutex<Vec<HeaderMap>>>) -> String {
    serve(Router::new().fallback(move |headers: HeaderMap| {
        let known = headers.get("authorization").is_some_and(|value| value == "Bearer good");
        let strange = headers.get("authorization").is_some_and(|value| value == "Bearer odd");
        let forbidden = headers.get("authorization").is_some_and(|value| value == "Bearer barred");
        asked.lock().unwrap().push(headers);
        let known = known && !*revoked.lock().unwrap();
        async move {
            match (known, forbidden, strange) {
                (true, ..) => ([("x-subject", "alice"), ("x-org", "acme")], "").into_response(),
                (_, true, _) => StatusCode::FORBIDDEN.into_response(),
                (_, _, true) => "yes, anyone".into_response(),
                _ => (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer realm=\"shop\"")]).into_response(),
            }
        }
    }))
    .await
}

fn asking(url: &str) -> AuthDeclaration {
    AuthDeclaration {
        url: url.to_owned(),
        subject_header: "x-subject".to_owned(),
        timeout: WITHIN,
        ..AuthDeclaration::default()
    }
}

#[tokio::test]
async fn a_service_is_asked_on_every_request() {
    let (revoked, shown) = (Arc::new(Mutex::new(false)), Arc::new(Mutex::new(Vec::new())));
    let (url, service) = (authority(Arc::clone(&revoked), Arc::clone(&shown)).await, Service::start().await);
    let declared = AuthDeclaration { tenant_header: Some("x-org".to_owned()), ..asking(&url) };
    let gate = gate(&service, Auth::new(&declared, &Connect::default()).unwrap()).await;
    let request = "POST /pay?x=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer good\r\nCookie: c=1\r\nX-Subject: root\r\nX-Org: other\r\nX-Other: 1\r\nContent-Length: 2\r\n\r\nhi";
    assert!(gate.raw(request).await.contains("x-caller: alice|acme"));
    let seen = service.only();
    assert_eq!((seen.header("x-subject"), seen.header("x-org")), (None, None), "a client does not name itself");
    let headers = shown.lock().unwrap()[0].clone();
    assert_eq!(
        (headers["x-forwarded-method"].as_bytes(), headers["x-forwarded-uri"].as_bytes()),
        (&b"POST"[..], &b"/pay?x=1"[..])
    );
    assert_eq!(headers["cookie"], "c=1");
    assert!(!headers.contains_key("x-other") && !headers.contains_key("content-length"));
    *revoked.lock().unwrap() = true;
    let answer = gate.raw(request).await;
    assert!(
        answer.starts_with("HTTP/1.1 401") && answer.contains("www-authenticate: Bearer realm=\"shop\""),
        "{answer}"
    );
    assert_eq!(asked(&gate, "barred").await.0, StatusCode::FORBIDDEN);
    assert_eq!(asked(&gate, "odd").await.0, StatusCode::SERVICE_UNAVAILABLE, "a yes without a name is none");
    assert_eq!(service.seen().len(), 1);
}

#[tokio::test]
async fn a_service_that_does_not_answer_lets_nobody_in() {
    let service = Service::start().await;
    for url in [nobody().await, format!("{}/moved", Service::start().await.url)] {
        let auth = Auth::new(&asking(&url), &Connect::default()).unwrap();
        let gate = gate(&service, auth).await;
        assert_eq!(asked(&gate, "good").await.0, StatusCode::SERVICE_UNAVAILABLE);
    }
    assert_eq!(service.seen().len(), 0);
}
