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
use onefold_core::effect::Retention;
use onefold_core::error::AUTHENTICATION_REQUIRED;
use onefold_core::ledger::{Completion, Resolution, ResolveRequest, Status, StoredResult, Verb};
use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};
use onefold_core::port::{IncidentFilter, LedgerRead as _, LedgerWrite as _, Page};
use onefold_core::{Error, incident::Incident};
use onefold_http::idempotent::{Idempotent as _, IdempotentLayer, KeyRequirement, Route};
use onefold_http::{Caller, ProblemResponse};
use onefold_runtime::{DependencyDeclaration, Ledger, Rate};
use serde_json::Value;

use crate::client::{Answer, Call};
use crate::provider::Provider;
use crate::store_fixture::{Store, StoreFixture};

/// What a caller meets.
pub(crate) struct RouteFixture {
    pub(crate) at: SocketAddr,
    pub(crate) provider: Provider,
    behind: Behind,
    pub(crate) store_fixture: StoreFixture,
}

enum Behind {
    Layer(Ledger<Store>, IdempotentLayer<Store>),
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

/// Routes that every fixture has: `/payments` escalates what is unknown, `/notices` sends the provider its key, `/optional`
/// takes requests without a key, `/trusting` believes the provider, `/anyone` asks nobody who calls, `/shown` neither and
/// replays to everyone, `/accounts/{id}` varies in its path, `/uploads` passes bodies as they come, `/drafted` has a
/// provider that knows keys itself and little time, `/early` and `/busy` have their own status for a request in flight,
/// `/brief` keeps answers for a second, `/narrow` and `/rated` call a dependency with limits.
fn routes(ledger: &Ledger<Store>, provider: &Provider) -> (Router, IdempotentLayer<Store>) {
    let payments = ledger.idempotent(identified(Route::external_command("payments"))).unwrap();
    let notices = identified(Route::external_command("notices")).on_unknown(same_key());
    let notices = notices.provider_key("x-provider-key".parse().unwrap());
    let notices = ledger.idempotent(notices).unwrap();
    let optional =
        ledger.idempotent(identified(Route::external_command("optional")).key(KeyRequirement::Optional)).unwrap();
    let trusting = identified(Route::external_command("trusting")).trust_effect_header();
    let trusting = ledger.idempotent(trusting).unwrap();
    let accounts = ledger.idempotent(identified(Route::external_command("accounts"))).unwrap();
    let uploads = identified(Route::external_command("uploads")).streams();
    let uploads = ledger.idempotent(uploads).unwrap();
    let anyone = limited(Route::external_command("anyone"));
    let anyone = ledger.idempotent(anyone).unwrap();
    let shown = limited(Route::external_command("shown")).anonymous_replay();
    let shown = ledger.idempotent(shown).unwrap();
    let drafted = identified(Route::external_command("drafted"))
        .on_unknown(same_key())
        .deadline(Duration::from_secs(2))
        .provider_key("idempotency-key".parse().unwrap());
    let drafted = ledger.idempotent(drafted).unwrap();
    let answering = |name: &str, status: u16| {
        ledger.idempotent(identified(Route::external_command(name)).in_flight_status(status)).unwrap()
    };
    let brief = identified(Route::external_command("brief"))
        .retention(Retention { result_for: Some(Duration::from_secs(1)), ..Retention::default() });
    let brief = ledger.idempotent(brief).unwrap();
    let calling = |name: &str, limits: DependencyDeclaration| {
        ledger.dependency(name, limits).unwrap();
        ledger.idempotent(identified(Route::external_command(name)).depends_on(name)).unwrap()
    };
    let narrow = calling("narrow", DependencyDeclaration { calls_max: Some(1), ..DependencyDeclaration::default() });
    let rated =
        calling("rated", DependencyDeclaration { rate: Rate::parse("2/h"), ..DependencyDeclaration::default() });
    let behind = |layer: IdempotentLayer<Store>| any_service(provider.router()).layer(layer);
    let router = Router::new()
        .route("/payments", behind(payments.clone()))
        .route("/shown", behind(shown))
        .route("/drafted", behind(drafted))
        .route("/early", behind(answering("early", 425)))
        .route("/busy", behind(answering("busy", 503)))
        .route("/brief", behind(brief))
        .route("/narrow", behind(narrow))
        .route("/rated", behind(rated))
        .route("/notices", behind(notices))
        .route("/optional", behind(optional))
        .route("/trusting", behind(trusting))
        .route("/anyone", behind(anyone))
        .route("/accounts/{id}", behind(accounts))
        .route("/uploads", behind(uploads));
    (router, payments)
}

fn same_key() -> onefold_core::effect::SameKey {
    onefold_core::effect::SameKey::remembered_for(Duration::from_hours(24))
}

fn identified<C: onefold_core::effect::Class>(route: Route<C>) -> Route<C> {
    limited(route).caller(|parts| {
        let user = parts.headers.get("authorization").and_then(|value| value.to_str().ok());
        match user.filter(|user| *user != "revoked") {
            Some(user) => Ok(Caller::known(user)),
            None => Err(ProblemResponse::from(Error::new(AUTHENTICATION_REQUIRED, "nobody is logged in"))),
        }
    })
}

fn limited<C: onefold_core::effect::Class>(route: Route<C>) -> Route<C> {
    route.read_within(Duration::from_secs(2))
}

impl RouteFixture {
    /// Through the layer, in this process.
    pub(crate) async fn layer() -> Self {
        let (store_fixture, provider) = (StoreFixture::new(), Provider::default());
        let ledger = store_fixture.ledger().await;
        let (router, payments) = routes(&ledger, &provider);
        let app = onefold_http::answer_every_error(router);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { at, provider, behind: Behind::Layer(ledger, payments), store_fixture }
    }

    /// Through a gateway in its own process.
    pub(crate) async fn gateway() -> Self {
        let (store_fixture, provider) = (StoreFixture::new(), Provider::default());
        let (upstream, auth) = (provider.serve().await, authority().await);
        let (gateway, at) = Gateway::start(&store_fixture, upstream, auth);
        Self { at, provider, behind: Behind::Gateway(Box::new(gateway)), store_fixture }
    }

    pub(crate) fn pay(&self, key: &str) -> Call {
        Call::new(self.at, key)
    }

    /// The operations that need a person.
    pub(crate) async fn incidents(&self) -> Vec<Value> {
        match &self.behind {
            Behind::Layer(ledger, _) => {
                let listed = ledger
                    .store()
                    .incidents(IncidentFilter { open_only: true, ..IncidentFilter::default() }, Page::default())
                    .await
                    .unwrap();
                let shown = |one: &Incident| serde_json::to_value(one).unwrap();
                listed.items.iter().map(shown).collect()
            }
            Behind::Gateway(gateway) => {
                let answer = gateway.api("/v1/incidents").await;
                answer.json()["items"].as_array().unwrap().clone()
            }
        }
    }

    /// Waits until so many requests of `/payments` wait for another one.
    pub(crate) async fn waited_for_by(&self, requests: usize) {
        for _ in 0..6_000 {
            let waiting = match &self.behind {
                Behind::Layer(_, payments) => payments.waiting(),
                Behind::Gateway(gateway) => {
                    let metrics = String::from_utf8(gateway.api("/metrics").await.body.to_vec()).unwrap();
                    let line = metrics
                        .lines()
                        .find_map(|line| line.strip_prefix("onefold_route_waiting{route=\"payments\"} "));
                    line.map_or(0, |count| count.parse().unwrap())
                }
            };
            if waiting == requests {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never waited for by {requests}");
    }

    /// Applies retention now.
    pub(crate) async fn prune(&self) {
        match &self.behind {
            Behind::Layer(ledger, _) => drop(ledger.prune().await.unwrap()),
            Behind::Gateway(gateway) => {
                let pruned = gateway.post("/v1/prune", "{\"dryRun\": false}").await;
                assert_eq!(pruned.status.as_u16(), 200, "{pruned:?}");
            }
        }
    }

    /// A person says of the one open incident that it took hold, and not what it answered.
    pub(crate) async fn took_hold(&self, reference: &str) {
        let incidents = self.incidents().await;
        let [incident] = incidents.as_slice() else { panic!("one incident: {incidents:?}") };
        match &self.behind {
            Behind::Layer(ledger, _) => {
                let text = |name: &str| incident[name].as_str().unwrap();
                let (kind, id) = (KindName::parse(text("kind")), OperationId::stored(text("operationId")));
                let evidence: Option<Arc<str>> = Some(Arc::from(reference));
                let completion = Completion { result: StoredResult::none(evidence.clone()), evidence };
                let request = ResolveRequest {
                    key: OperationKey::new(Tenant::default(), kind.unwrap(), id.unwrap()),
                    fence: incident["fence"].as_u64().unwrap(),
                    status: Status::Unknown,
                    verb: Verb::Resolve(Resolution::TookHold(completion)),
                    who: Arc::from("ada"),
                    why: Arc::from("found in the register"),
                    terms: None,
                };
                ledger.store().resolve(vec![request]).await.unwrap().pop().unwrap().unwrap();
            }
            Behind::Gateway(gateway) => {
                let path = format!("/v1/incidents/{}/resolve", incident["id"].as_str().unwrap());
                let found =
                    serde_json::json!({ "tookHold": { "reference": reference }, "why": "found in the register" });
                let resolved = gateway.post(&path, &found.to_string()).await;
                assert_eq!(resolved.status.as_u16(), 200, "{resolved:?}");
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
        let (again, at) = Gateway::start(&self.store_fixture, gateway.upstream, gateway.auth);
        **gateway = again;
        self.at = at;
    }

    /// Another gateway on the same ledger, which SQLite has no two of.
    #[allow(dead_code, reason = "used on PostgreSQL")]
    pub(crate) fn another(&self) -> (Gateway, SocketAddr) {
        let Behind::Gateway(gateway) = &self.behind else { panic!("the layer is one process") };
        Gateway::start(&self.store_fixture, gateway.upstream, gateway.auth)
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
    fn start(store_fixture: &StoreFixture, upstream: SocketAddr, auth: SocketAddr) -> (Self, SocketAddr) {
        let folder = store_fixture.folder().join(uuid::Uuid::new_v4().simple().to_string());
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("provider.key"), "Bearer provider-hush\n").unwrap();
        std::fs::write(folder.join("onefold.toml"), configuration(upstream, auth)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_onefold"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ONEFOLD_")) {
            command.env_remove(name);
        }
        let log = std::fs::File::create(folder.join("log")).unwrap();
        command.envs(store_fixture.environment()).env("ONEFOLD_TOKEN", "gateway-tests-token-0123456789");
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

    async fn post(&self, path: &str, body: &str) -> Answer {
        let to = self.api.trim_start_matches("http://").parse().unwrap();
        let call = Call::plain(to, axum::http::Method::POST, path).user("").body(body.to_owned());
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
                    breaker = { failures = 2, open_for = \"10m\" }\n\
                    [dependency.narrow]\ncalls_max = 1\n[dependency.rated]\nrate = \"2/h\"\n"
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
        ("flaky", &auth, "depends_on = \"provider\""),
        ("narrow", &auth, "depends_on = \"narrow\""),
        ("rated", &auth, "depends_on = \"rated\""),
        ("shown", "caller = \"anonymous\"", "anonymous_replay = true"),
        (
            "drafted",
            &auth,
            "deadline = \"2s\"\non_unknown = { same_key = \"Idempotency-Key\", provider_memory = \"24h\" }",
        ),
        ("early", &auth, "in_flight_status = 425"),
        ("busy", &auth, "in_flight_status = 503"),
        ("brief", &auth, "retention = { result = \"1s\", id = \"30d\" }"),
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
    let knows_us = format!("{asked}\ncredential = {{ file = \"provider.key\" }}");
    let routes = routes.into_iter().chain([
        ("asked", auth.as_str(), asked.as_str()),
        ("knows-us", &auth, &knows_us),
        ("voided", &auth, &voided),
    ]);
    for (name, caller, more) in routes {
        let _ = write!(
            text,
            "\n[[route]]\nname = \"{name}\"\nmatch = \"* /{name}{}\"\nupstream = \"http://{upstream}\"\n\
             class = \"external-command\"\nread_within = \"2s\"\n{caller}\n{more}\n",
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
                Box::pin(super::$name(crate::route_fixture::RouteFixture::layer().await)).await;
            })+
        }
        mod through_the_gateway {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                Box::pin(super::$name(crate::route_fixture::RouteFixture::gateway().await)).await;
            })+
        }
    };
}
pub(crate) use through_both;
