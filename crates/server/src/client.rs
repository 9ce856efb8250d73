//! How commands reach the ledger: through the server that owns the database, else through the same API in this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client as Sockets;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor; // tidy: allow(the name is hyper's)
use onefold_core::error::{ALL, CONFIGURATION_INVALID, Code, ErrorClass, SERVER_UNREACHABLE, UNEXPECTED};
use onefold_core::port::Faults;
use onefold_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::api::{self, Api};
use crate::api_server::Discovery;
use crate::app::{App, Opener};
use crate::cli::Context;
use crate::config::Config;
use crate::database::Creation;
use crate::exit::inform;
use crate::identity::{Identity, read_token};
use crate::outcome_file;

/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long a server may take to say that it lives.
const HEALTH_WITHIN: Duration = Duration::from_secs(2);
/// How long an answer may take; the ledger itself waits at most ten seconds for another writer.
const ANSWER_WITHIN: Duration = Duration::from_mins(1);

/// The ledger, wherever it is.
pub(crate) struct Client {
    way: Transport,
    /// Which ledger it is, for people.
    ledger: String,
}

enum Transport {
    Server { sockets: Box<Sockets<HttpConnector, Body>>, url: String, token: String },
    Here { router: Router, app: Arc<App> },
}

impl Client {
    /// Finds the ledger: the server that is named, the one of this folder, or the database itself.
    ///
    /// What runs before this one could not record is recorded first.
    pub(crate) async fn find(config: &Config, faults: &Arc<dyn Faults>, creation: Creation) -> Result<Self> {
        let client = Self::reach(config, faults, creation).await?;
        for waited in outcome_file::record_waiting(&client, &config.outcomes()).await {
            inform(&waited.to_string());
        }
        Ok(client)
    }

    async fn reach(config: &Config, faults: &Arc<dyn Faults>, creation: Creation) -> Result<Self> {
        if let Some(url) = &config.server {
            let url = url.trim_end_matches('/');
            if !url.starts_with("http://") {
                return Err(Error::new(CONFIGURATION_INVALID, format!("{url:?} is not the address of a server"))
                    .hint("write http://127.0.0.1:7070"));
            }
            let token = config.token.clone().map_or_else(|| read_token(&config.token_file), Ok)?;
            return Ok(Self::to(url.to_owned(), token, config.ledger_named()));
        }
        if let Some(client) = Self::beside(config).await {
            return Ok(client);
        }
        Self::here(config, faults, creation).await
    }

    fn to(url: String, token: String, ledger: String) -> Self {
        let sockets = Sockets::builder(TokioExecutor::new()).build(HttpConnector::new()); // tidy: allow(the name is hyper's)
        Self { way: Transport::Server { sockets: Box::new(sockets), url, token }, ledger }
    }

    /// The living server of this database here, if there is one and its token can be read.
    async fn beside(config: &Config) -> Option<Self> {
        let discovery = Discovery::read(&config.files.discovery)?;
        let token = config.token.clone().or_else(|| read_token(&config.token_file).ok())?;
        let client = Self::to(discovery.url, token, config.ledger_named());
        let health = tokio::time::timeout(HEALTH_WITHIN, client.get::<Value>("/health")).await.ok()?.ok()?;
        // Another server may have that address by now.
        (health["instance"] == discovery.instance.as_str()).then_some(client)
    }

    async fn here(config: &Config, faults: &Arc<dyn Faults>, creation: Creation) -> Result<Self> {
        let app = Arc::new(App::open_with(config, Opener::Command, creation, Arc::clone(faults)).await?);
        Ok(Self::within(&Api::new(app, String::new(), None), config))
    }

    /// The ledger of this process, for the owner of its database.
    pub(crate) fn within(api: &api::Shared, config: &Config) -> Self {
        let who = Identity { name: Arc::from(login_name()), ..Identity::owner() };
        let way = Transport::Here { router: api::here(api, who), app: Arc::clone(&api.app) };
        Self { way, ledger: config.ledger_named() }
    }

    /// Says which ledger was looked at, before what it shows; JSON has it as a field.
    pub(crate) fn announce(&self, context: &Context) {
        if !context.json {
            inform(&format!("ledger {}", self.ledger));
        }
    }

    /// Which ledger it is, for people.
    pub(crate) fn ledger(&self) -> &str {
        &self.ledger
    }

    /// The ledger in this process, if there is no server in between.
    pub(crate) fn app(&self) -> Option<&Arc<App>> {
        match &self.way {
            Transport::Here { app, .. } => Some(app),
            Transport::Server { .. } => None,
        }
    }

    /// Asks for something.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.send(Method::GET, path, Body::empty()).await
    }

    /// Asks for something to be done.
    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T> {
        self.send(Method::POST, path, Body::from(body.to_string())).await
    }

    async fn send<T: DeserializeOwned>(&self, method: Method, path: &str, body: Body) -> Result<T> {
        let sent = tokio::time::timeout(ANSWER_WITHIN, self.exchange(method, path, body)).await;
        let (status, bytes) = sent
            .map_err(|_| Error::new(SERVER_UNREACHABLE, format!("no answer within {} s", ANSWER_WITHIN.as_secs())))??;
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|cause| {
                Error::new(SERVER_UNREACHABLE, "what answers there is not an Onefold server of this version")
                    .caused_by(cause)
            });
        }
        Err(problem(status, &bytes))
    }

    async fn exchange(&self, method: Method, path: &str, body: Body) -> Result<(StatusCode, Bytes)> {
        let request = Request::builder().method(method).header(CONTENT_TYPE, "application/json");
        let built = |request: hyper::http::request::Builder, body: Body| {
            request.body(body).map_err(|cause| {
                Error::new(CONFIGURATION_INVALID, "the server's address or token cannot be sent").caused_by(cause)
            })
        };
        match &self.way {
            Transport::Here { router, .. } => {
                let request = built(request.uri(path).header(HOST, "here"), body)?;
                let answer = router.clone().oneshot(request).await.map_err(|never| -> Error { match never {} })?;
                read(answer).await
            }
            Transport::Server { sockets, url, token } => {
                let request = request.uri(format!("{url}{path}")).header(AUTHORIZATION, format!("Bearer {token}"));
                let answer = sockets.request(built(request, body)?).await.map_err(|cause| {
                    Error::new(SERVER_UNREACHABLE, format!("{url} does not answer{}", why(&cause))).caused_by(cause)
                })?;
                read(answer).await
            }
        }
    }
}

async fn read<B>(answer: Response<B>) -> Result<(StatusCode, Bytes)>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let status = answer.status();
    let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
    let body = body.map_err(|_| Error::new(SERVER_UNREACHABLE, "the answer did not arrive whole"))?;
    Ok((status, body.to_bytes()))
}

/// Whether asking again may help: the ledger was not reached, or was busy.
pub(crate) fn may_pass(error: &Error) -> bool {
    error.code() == SERVER_UNREACHABLE
        || matches!(
            error.code().descriptor().class,
            ErrorClass::Dependency | ErrorClass::Contention | ErrorClass::Operational | ErrorClass::Process
        )
}

/// The reason beneath an error of the client, which by itself says only that there is one.
fn why(error: &dyn std::error::Error) -> String {
    let mut deepest = None;
    let mut next = error.source();
    while let Some(cause) = next {
        (deepest, next) = (Some(cause), cause.source());
    }
    deepest.map(|cause| format!(": {cause}")).unwrap_or_default()
}

/// The error behind a problem.
fn problem(status: StatusCode, body: &[u8]) -> Error {
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    let code: Option<Code> = ALL.iter().copied().find(|code| code.as_str() == text("code"));
    match code {
        Some(code) => Error::new(code, text("detail")).hint(text("next")),
        None => Error::new(UNEXPECTED, format!("the server answered {status}")),
    }
}

/// Who runs this process, by the system's own list.
pub(crate) fn login_name() -> String {
    let uid = rustix::process::getuid().as_raw();
    let users = std::fs::read_to_string(Path::new("/etc/passwd")).unwrap_or_default();
    let found = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid.to_string()).then(|| name.to_owned())
    });
    found.unwrap_or_else(|| format!("uid-{uid}"))
}
