//! The two ways to a provider that takes hold once: the layer in this process, the gateway in its own.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::any_service;
use onefold_core::error::AUTHENTICATION_REQUIRED;
use onefold_core::ports::{IncidentFilter, Look as _, Page};
use onefold_core::{Error, incident::Incident};
use onefold_http::idempotent::{Answers, BodyLimits, Idempotent as _, IdempotentLayer, Key, Route, RouteSettings};
use onefold_http::{Caller, FromRequest, Rejection};
use onefold_runtime::Ledger;
use serde_json::Value;

use crate::client::{Answer, Call};
use crate::home::{Home, Store};
use crate::provider::Provider;

/// What a caller meets.
pub(crate) struct Door {
    pub(crate) at: SocketAddr,
    pub(crate) provider: Provider,
    behind: Behind,
    pub(crate) home: Home,
}

enum Behind {
    Layer(Ledger<Store>),
    Gateway(Box<Gateway>),
}

/// A gateway process.
pub(crate) struct Gateway {
    child: Child,
    api: String,
    token: String,
    upstream: SocketAddr,
    auth: SocketAddr,
    folder: std::path::PathBuf,
}

/// Routes that every door has: `/payments` escalates what is unknown, `/notices` sends the provider its key, `/optional`
/// takes requests without a key, `/trusting` believes the provider, `/anyone` asks nobody who calls,
/// `/accounts/{id}` varies in its path, `/uploads` passes bodies as they come.
fn routes(ledger: &Ledger<Store>, provider: &Provider) -> Router {
    let payments = ledger.idempotent(identified(Route::external_command("payments"))).unwrap();
    let notices = identified(Route::external_command("notices")).on_unknown(same_key()).settings(|settings| {
        settings.provider_key = Some("x-provider-key".parse().unwrap());
    });
    let notices = ledger.idempotent(notices).unwrap();
    let optional = ledger.idempotent(identified(Route::external_command("optional")).key(Key::Optional)).unwrap();
    let trusting = identified(Route::external_command("trusting"))
        .settings(|settings| settings.answers = Answers::default().trusting_upstream());
    let trusting = ledger.idempotent(trusting).unwrap();
    let accounts = ledger.idempotent(identified(Route::external_command("accounts"))).unwrap();
    let uploads = identified(Route::external_command("uploads")).settings(|settings| settings.streams = true);
    let uploads = ledger.idempotent(uploads).unwrap();
    let anyone = Route::external_command("anyone").settings(limits);
    let anyone = ledger.idempotent(anyone).unwrap();
    let behind = |layer: IdempotentLayer<Store>| any_service(provider.router()).layer(layer);
    Router::new()
        .route("/payments", behind(payments))
        .route("/notices", behind(notices))
        .route("/optional", behind(optional))
        .route("/trusting", behind(trusting))
        .route("/anyone", behind(anyone))
        .route("/accounts/{id}", behind(accounts))
        .route("/uploads", behind(uploads))
}

fn same_key() -> onefold_core::effect::SameKey {
    onefold_core::effect::SameKey::remembered_for(Duration::from_hours(24))
}

fn identified<C: onefold_core::effect::Class>(route: Route<C>) -> Route<C> {
    route.settings(|settings| {
        limits(settings);
        settings.caller = Arc::new(FromRequest(|parts: &axum::http::request::Parts| {
            let user = parts.headers.get("authorization").and_then(|value| value.to_str().ok());
            match user.filter(|user| *user != "revoked") {
                Some(user) => Ok(Caller::known(user)),
                None => Err(Rejection::from(Error::new(AUTHENTICATION_REQUIRED, "nobody is logged in"))),
            }
        }));
    })
}

fn limits(settings: &mut RouteSettings) {
    settings.body = BodyLimits {
        bytes_max: 1024 * 1024,
        answer_bytes_max: 1024 * 1024,
        read_within: Duration::from_secs(2),
        ..BodyLimits::default()
    };
}

impl Door {
    /// Through the layer, in this process.
    pub(crate) async fn layer() -> Self {
        let (home, provider) = (Home::new(), Provider::default());
        let ledger = home.ledger().await;
        let app = onefold_http::answer_every_error(routes(&ledger, &provider));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { at, provider, behind: Behind::Layer(ledger), home }
    }

    /// Through a gateway in its own process.
    pub(crate) async fn gateway() -> Self {
        let (home, provider) = (Home::new(), Provider::default());
        let (upstream, auth) = (provider.serve().await, authority().await);
        let (gateway, at) = Gateway::start(&home, upstream, auth);
        Self { at, provider, behind: Behind::Gateway(Box::new(gateway)), home }
    }

    pub(crate) fn pay(&self, key: &str) -> Call {
        Call::new(self.at, key)
    }

    /// The operations that need a person.
    pub(crate) async fn incidents(&self) -> Vec<Value> {
        match &self.behind {
            Behind::Layer(ledger) => {
                let listed = ledger.store().incidents(IncidentFilter::default(), Page::default()).await.unwrap();
                let shown = |one: &Incident| serde_json::to_value(one).unwrap();
                listed.items.iter().map(shown).collect()
            }
            Behind::Gateway(gateway) => {
                let answer = gateway.api("/v1/incidents").await;
                answer.json()["items"].as_array().unwrap().clone()
            }
        }
    }

    /// What the gateway's API answers.
    pub(crate) async fn api(&self, path: &str) -> Answer {
        let Behind::Gateway(gateway) = &self.behind else { panic!("the layer has no API") };
        gateway.api(path).await
    }

    /// What the gateway has logged.
    pub(crate) fn log(&self) -> String {
        let Behind::Gateway(gateway) = &self.behind else { panic!("the layer has no log of its own") };
        std::fs::read_to_string(gateway.folder.join("log")).unwrap()
    }

    /// Kills the gateway and starts another on the same ledger.
    pub(crate) fn kill_and_restart(&mut self) {
        let Behind::Gateway(gateway) = &mut self.behind else { panic!("only a gateway dies alone") };
        gateway.child.kill().unwrap();
        gateway.child.wait().unwrap();
        let (again, at) = Gateway::start(&self.home, gateway.upstream, gateway.auth);
        **gateway = again;
        self.at = at;
    }

    /// Another gateway on the same ledger, which SQLite has no two of.
    #[allow(dead_code, reason = "used on PostgreSQL")]
    pub(crate) fn another(&self) -> (Gateway, SocketAddr) {
        let Behind::Gateway(gateway) = &self.behind else { panic!("the layer is one process") };
        Gateway::start(&self.home, gateway.upstream, gateway.auth)
    }
}

/// Says who calls: what the sub-request's `authorization` names, unless that is revoked.
async fn authority() -> SocketAddr {
    let app = Router::new().fallback(async |headers: axum::http::HeaderMap| {
        let user = headers.get("authorization").and_then(|value| value.to_str().ok()).filter(|user| *user != "revoked");
        match user {
            Some(user) => (StatusCode::OK, [("x-subject", user.to_owned())], ""),
            None => (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer".to_owned())], ""),
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

impl Gateway {
    fn start(home: &Home, upstream: SocketAddr, auth: SocketAddr) -> (Self, SocketAddr) {
        let folder = home.folder().join(uuid::Uuid::new_v4().simple().to_string());
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("provider.key"), "Bearer provider-hush\n").unwrap();
        std::fs::write(folder.join("onefold.toml"), configuration(upstream, auth)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_onefold"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ONEFOLD_")) {
            command.env_remove(name);
        }
        let log = std::fs::File::create(folder.join("log")).unwrap();
        command.envs(home.environment()).env("ONEFOLD_TOKEN", "gateway-tests-token-0123456789");
        command.current_dir(&folder).args(["serve", "--listen", "127.0.0.1:0", "--json"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("{line}{}", std::fs::read_to_string(folder.join("log")).unwrap()));
        let at = said["gateway"].as_str().unwrap().trim_start_matches("http://").parse().unwrap();
        let api = said["url"].as_str().unwrap().to_owned();
        let token = "gateway-tests-token-0123456789".to_owned();
        (Self { child, api, token, upstream, auth, folder }, at)
    }

    pub(crate) async fn api(&self, path: &str) -> Answer {
        let to = self.api.trim_start_matches("http://").parse().unwrap();
        let call = Call::plain(to, axum::http::Method::GET, path).user("").body("");
        call.header("authorization", format!("Bearer {}", self.token)).send().await
    }

    #[allow(dead_code, reason = "used on PostgreSQL")]
    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(upstream: SocketAddr, auth: SocketAddr) -> String {
    let mut text = "gateway_listen = \"127.0.0.1:0\"\n\n[dependency.provider]\n\
                    breaker = { failures = 2, open_for = \"10m\" }\n"
        .to_owned();
    let auth = format!("caller = {{ auth = {{ url = \"http://{auth}/\", subject_header = \"x-subject\" }} }}");
    let routes = [
        ("payments", auth.as_str(), ""),
        ("notices", &auth, "on_unknown = { same_key = \"x-provider-key\", provider_memory = \"24h\" }"),
        ("optional", &auth, "key = \"optional\""),
        ("trusting", &auth, "trust_effect_header = true"),
        ("anyone", "caller = \"anonymous\"", ""),
        ("uploads", &auth, "streams = true"),
        ("accounts", &auth, ""),
        ("lent", &auth, "credential = { file = \"provider.key\" }"),
        ("flaky", &auth, "dependency = \"provider\""),
    ];
    let asked = format!(
        "on_unknown = {{ ask = \"GET http://{upstream}/lookup/{{key}}\", took_hold = \"/items/id\", result = \"/items\", \
         settle = \"1s\" }}\ndeadline = \"2s\""
    );
    let voided = format!(
        "on_unknown = {{ void = \"DELETE http://{upstream}/void/{{key}}\", took_hold = \"/id\" }}\ndeadline = \"2s\""
    );
    // A port on which nobody listens.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let _ = write!(
        text,
        "\n[[route]]\nname = \"dead\"\nmatch = \"* /dead\"\nupstream = \"http://{nobody}\"\n\
         class = \"external-command\"\ncaller = \"anonymous\"\n"
    );
    let routes = routes.into_iter().chain([("asked", auth.as_str(), asked.as_str()), ("voided", &auth, &voided)]);
    for (name, caller, more) in routes {
        let _ = write!(
            text,
            "\n[[route]]\nname = \"{name}\"\nmatch = \"* /{name}{}\"\nupstream = \"http://{upstream}\"\n\
             class = \"external-command\"\nbody_read_timeout = \"2s\"\n{caller}\n{more}\n",
            if name == "accounts" { "/{id}" } else { "" },
        );
    }
    text
}

/// Each promise once through the layer and once through the gateway.
macro_rules! through_both {
    ($($name:ident),+ $(,)?) => {
        mod through_the_layer {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                Box::pin(super::$name(crate::door::Door::layer().await)).await;
            })+
        }
        mod through_the_gateway {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                Box::pin(super::$name(crate::door::Door::gateway().await)).await;
            })+
        }
    };
}
pub(crate) use through_both;
