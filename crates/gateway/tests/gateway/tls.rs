//! TLS from clients and to upstreams, and who a client certificate names.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode, Version};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo}; // tidy: allow(the name is hyper's)
use hyper_util::service::TowerToHyperService;
use onefold_gateway::Table;
use onefold_gateway::identify::Certificate;
use onefold_http::client::Connect;
use onefold_http::listen::ConnectionLimits;
use onefold_http::listen::{ServerTls, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::fixture::{Gate, Service, WITHIN, entry, file, forward, remembering, route, telling};

/// Somebody who vouches for others.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate and its key, in PEM.
    fn vouches(&self, name: SanType) -> (String, String) {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![name];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

fn here() -> SanType {
    SanType::IpAddress("127.0.0.1".parse().unwrap())
}

type Secure = Client<HttpsConnector<HttpConnector>, Body>;

/// A client that trusts this authority, and shows this certificate.
fn client(authority: &Authority, shown: Option<(String, String)>) -> Secure {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match shown {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => builder
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap(),
    };
    let connector = HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_all_versions().build();
    Client::builder(TokioExecutor::new()).build(connector) // tidy: allow(the name is hyper's)
}

fn files(folder: &tempfile::TempDir, authority: &Authority, asks: bool) -> TlsFiles {
    let (certificate, key) = authority.vouches(here());
    TlsFiles {
        certificate: file(folder, "certificate.pem", &certificate),
        key: file(folder, "key.pem", &key),
        client_ca: asks.then(|| file(folder, "ca.pem", &authority.pem())),
    }
}

/// A service that speaks TLS, and HTTP/2 where a client can.
async fn secure_service(authority: &Authority) -> Service {
    let (certificate, key) = authority.vouches(here());
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (router, seen) = remembering();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, router) = (acceptor.clone(), router.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new()); // tidy: allow(the name is hyper's)
                let _ = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).await;
            });
        }
    });
    Service::at(url, seen)
}

async fn gate(entry: onefold_gateway::RouteEntry, files: &TlsFiles) -> Gate {
    let tls = ServerTls::read(files).unwrap();
    Gate::with(Table::new(vec![entry]).unwrap(), Some(tls), ConnectionLimits::default()).await
}

fn get(gate: &Gate) -> Request<Body> {
    Request::get(format!("https://{}/a", gate.at)).body(Body::empty()).unwrap()
}

#[tokio::test]
async fn both_sides_speak_http2_over_tls() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let service = secure_service(&authority).await;
    let connect = Connect { ca: Some(file(&folder, "upstream.pem", &authority.pem())), ..Connect::default() };
    let way = entry("all", "* /*", forward(&[&service.url], &connect, WITHIN));
    let gate = gate(way, &files(&folder, &authority, false)).await;
    let response = client(&authority, None).request(get(&gate)).await.unwrap();
    assert_eq!((response.status(), response.version()), (StatusCode::OK, Version::HTTP_2));
    let seen = service.only();
    assert_eq!(seen.version, Version::HTTP_2);
    assert_eq!(seen.header("x-forwarded-proto"), Some("https"));
    assert_eq!(seen.header("via"), Some("2 onefold"));
}

#[tokio::test]
async fn an_upstream_that_nobody_vouches_for_gets_nothing() {
    let (authority, other, folder) = (Authority::new(), Authority::new(), tempfile::tempdir().unwrap());
    let service = secure_service(&other).await;
    let connect = Connect { ca: Some(file(&folder, "upstream.pem", &authority.pem())), ..Connect::default() };
    let way = forward(&[&service.url], &connect, WITHIN);
    let lost = way.send(Request::get("/").body(Body::empty()).unwrap()).await.unwrap_err();
    assert_eq!(lost.sent, onefold_core::call::Sent::Nothing);
}

#[tokio::test]
async fn the_caller_is_who_the_client_certificate_names() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let service = Service::start().await;
    let gate = gate(telling(&service.url, Certificate), &files(&folder, &authority, true)).await;
    let uri = SanType::URI("spiffe://shop/till/7".try_into().unwrap());
    let response = client(&authority, Some(authority.vouches(uri))).request(get(&gate)).await.unwrap();
    assert_eq!(response.headers()["x-caller"], "URI:spiffe://shop/till/7|-");
}

#[tokio::test]
async fn a_client_without_a_certificate_or_with_a_strangers_is_not_let_in() {
    let (authority, stranger, folder) = (Authority::new(), Authority::new(), tempfile::tempdir().unwrap());
    let service = Service::start().await;
    let gate = gate(telling(&service.url, Certificate), &files(&folder, &authority, true)).await;
    assert!(client(&authority, None).request(get(&gate)).await.is_err());
    let uri = SanType::URI("spiffe://shop/till/7".try_into().unwrap());
    assert!(client(&authority, Some(stranger.vouches(uri))).request(get(&gate)).await.is_err());
    assert_eq!(service.seen().len(), 0);
}

#[tokio::test]
async fn a_route_that_wants_a_certificate_answers_401_without_one() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let service = Service::start().await;
    let gate = gate(telling(&service.url, Certificate), &files(&folder, &authority, false)).await;
    let response = client(&authority, None).request(get(&gate)).await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(service.seen().len(), 0);
}

#[tokio::test]
async fn a_certificate_is_exchanged_while_it_serves() {
    let (authority, next, folder) = (Authority::new(), Authority::new(), tempfile::tempdir().unwrap());
    let service = Service::start().await;
    let tls = ServerTls::read(&files(&folder, &authority, false)).unwrap();
    let table = Table::new(vec![route(&service.url)]).unwrap();
    let gate = Gate::with(table, Some(tls.clone()), ConnectionLimits::default()).await;
    assert!(client(&authority, None).request(get(&gate)).await.is_ok());
    tls.exchange(&ServerTls::read(&files(&folder, &next, false)).unwrap());
    assert!(client(&authority, None).request(get(&gate)).await.is_err());
    assert!(client(&next, None).request(get(&gate)).await.is_ok());
    std::fs::write(folder.path().join("key.pem"), "nonsense").unwrap();
    let broken = TlsFiles {
        key: folder.path().join("key.pem"),
        certificate: folder.path().join("certificate.pem"),
        client_ca: None,
    };
    assert!(ServerTls::read(&broken).is_err());
    assert!(client(&next, None).request(get(&gate)).await.is_ok());
}
