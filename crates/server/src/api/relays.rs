//! Relays: how far each is, and what a person decides about one. They serve every tenant, and so do these calls.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use onefold_core::error::{CodeName, RELAY_NOT_FOUND, REQUEST_BODY_INVALID};
use onefold_core::ledger::check_reason;
use onefold_core::outbox::{Begin, OwnTable, RelayName, RelaySpec};
use onefold_core::port::{OutboxOperate as _, OwnTableStore as _, RelayVerb, RowCounts};
use onefold_core::{Error, Result, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::outbox_shapes::{RelayList, RelayView};
use super::problem_response::{Problem, ProblemBody};
use super::{Shared, need};
use crate::app::App;
use crate::identity::{Identity, Permission};
use onefold_http::{Body, Path};

/// Why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RelayVerbBody {
    /// Kept with who from the credential.
    #[schema(example = "the target was fixed", min_length = 1, max_length = 500, pattern = "[^\\s\\u0085]")]
    pub(super) why: String,
}

/// Why, and where it begins.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RebaseBody {
    /// Kept with who from the credential.
    #[schema(
        example = "restored from the backup of 08:00",
        min_length = 1,
        max_length = 500,
        pattern = "[^\\s\\u0085]"
    )]
    why: String,
    /// `now`, `oldest`, or a time (RFC 3339): with what was staged then or later.
    #[schema(
        example = "2026-11-15T08:00:00Z",
        pattern = "^(now|oldest|[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?Z)$"
    )]
    begin: String,
}

/// What was done.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RelayVerbAnswer {
    relay: String,
    /// `STARTED`, `RETIRED` or `REBASED`.
    #[schema(example = "STARTED")]
    verb: &'static str,
    /// How many stopped lanes go on, where it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    lanes: Option<usize>,
}

/// A relay on a team's own table, as this server's configuration declares it.
pub(super) struct TableRelay {
    pub(super) spec: RelaySpec,
    pub(super) table: OwnTable,
    /// What its table holds; or why that cannot be told.
    pub(super) counted: std::result::Result<RowCounts, CodeName>,
}

/// The relays on tables of teams' own. A table that does not fit, or that we may not read, hides none of the others.
pub(super) async fn table_relays(app: &App) -> Vec<TableRelay> {
    let store = app.ledger.store();
    let mut relays = Vec::new();
    for (spec, table) in app.table_relays() {
        let counted = match store.check_table(table.clone()).await {
            Ok(checked) => store.count_rows(checked, spec.events.clone()).await,
            Err(error) => Err(error),
        };
        relays.push(TableRelay { spec, table, counted: counted.map_err(|error| error.code().name()) });
    }
    relays
}

/// Every relay, by name: what waits, what is parked, what stopped. Of relays on tables of their own, those that this
/// server's configuration declares.
#[utoipa::path(
    get, path = "/v1/relays", operation_id = "list_relays", tag = "outbox",
    responses(
        (status = 200, description = "The relays", body = RelayList),
        (status = "4XX", description = "Not authorized", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn list(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
) -> Result<Json<RelayList>, Problem> {
    need(&who, Permission::Look)?;
    let (now, relays) = api.app.ledger.store().relays().await?;
    let on_tables = table_relays(&api.app).await;
    let mut relays: Vec<RelayView> = relays.iter().map(|relay| RelayView::new(relay, now)).collect();
    relays.extend(on_tables.iter().map(|relay| RelayView::of_table(relay, now)));
    relays.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Json(RelayList { relays }))
}

macro_rules! relay_verb {
    ($(#[$doc:meta])* $name:ident, $path:literal, $id:literal, $body:ty, $needs:expr, $said:literal,
    |$store:ident, $given:ident, $verb:ident| $done:expr) => {
        $(#[$doc])*
        #[utoipa::path(
            post, path = $path, operation_id = $id, tag = "outbox", request_body = $body,
            params(("relay" = String, Path, description = "The relay's name")),
            responses(
                (status = 200, description = "Done", body = RelayVerbAnswer),
                (status = "4XX", description = "Refused: the code says why", body = ProblemBody, content_type = "application/problem+json"),
                (status = "5XX", description = "Not known to be done: look, then send it again", body = ProblemBody, content_type = "application/problem+json"),
            ),
        )]
        pub(crate) async fn $name(
            State(api): State<Shared>,
            Extension(who): Extension<Identity>,
            Path(relay): Path<String>,
            Body($given): Body<$body>,
        ) -> Result<Json<RelayVerbAnswer>, Problem> {
            need(&who, $needs)?;
            let $verb = verb(&who, &relay, &$given.why)?;
            let $store = api.app.ledger.store();
            let lanes = $done;
            // Who it was is in the span, by a pseudonym.
            tracing::info!(relay, verb = $said, "relay decided");
            Ok(Json(RelayVerbAnswer { relay, verb: $said, lanes }))
        }
    };
}

relay_verb! {
    /// Starts the lanes that stopped; they go on where they were.
    start, "/v1/relays/{relay}/start", "start_relay", RelayVerbBody, Permission::Decide, "STARTED",
    |store, body, verb| Some(store.start(verb).await?)
}

relay_verb! {
    /// Ends a relay that nobody serves any more: its place no longer holds retention back. Needs the administrator role.
    retire, "/v1/relays/{relay}/retire", "retire_relay", RelayVerbBody, Permission::Administer, "RETIRED",
    |store, body, verb| { store.retire(verb).await?; None }
}

relay_verb! {
    /// Gives a relay a new beginning, after its database was restored: what lies before it is not published again, what
    /// lies after it is. Needs the administrator role.
    rebase, "/v1/relays/{relay}/rebase", "rebase_relay", RebaseBody, Permission::Administer, "REBASED",
    |store, body, verb| { store.rebase(verb, begin(&body.begin)?).await?; None }
}

fn verb(who: &Identity, relay: &str, why: &str) -> Result<RelayVerb> {
    check_reason(why)?;
    Ok(RelayVerb { relay: relay_named(relay)?, who: Arc::clone(&who.name), why: Arc::from(why) })
}

/// The relay's name. One that cannot be one is nobody's.
pub(super) fn relay_named(relay: &str) -> Result<RelayName> {
    RelayName::parse(relay).map_err(|_| {
        let shown: String = relay.chars().take(60).collect();
        Error::new(RELAY_NOT_FOUND, format!("no relay is called {shown:?}"))
    })
}

fn begin(text: &str) -> Result<Begin> {
    match text {
        "now" => Ok(Begin::Now),
        "oldest" => Ok(Begin::Oldest),
        time => Timestamp::parse(time).map(Begin::At).ok_or_else(|| {
            let shown: String = time.chars().take(60).collect();
            Error::new(REQUEST_BODY_INVALID, format!("begin: {shown:?} is neither now, oldest nor a time"))
                .hint("write a time as RFC 3339, such as 2026-11-15T08:00:00Z")
        }),
    }
}
