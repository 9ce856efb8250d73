//! The description of the API that its readers' tools understand.

use axum::Json;
use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{
    Shared, choices, claims, documented_problems, event_verbs, events, health, incidents, operations, pages, prune,
    records, relays, replays, verbs,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Onefold",
        description = "Side effects that take hold once, whatever fails. Claim an operation, act if it is granted, record what happened. Made for callers in any language.\n\nAn attempt id is a random UUID, made in memory right before a claim and never stored or derived: **the same attempt id again is permission to act again**.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    security(("token" = [])),
    modifiers(&Token),
    tags(
        (name = "ledger", description = "Claim, record, look"),
        (name = "incidents", description = "What needs a person"),
        (name = "outbox", description = "Events, and the relays that publish them"),
        (name = "server", description = "Alive, ready, measured"),
    ),
)]
struct Description;

struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut Document) {
        let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        document.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// Every route with its description.
pub(crate) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(claims::claim))
        .routes(routes!(claims::claim_many))
        .routes(routes!(records::complete))
        .routes(routes!(records::fail))
        .routes(routes!(records::unknown))
        .routes(routes!(records::release))
        .routes(routes!(records::renew))
        .routes(routes!(operations::list))
        .routes(routes!(operations::get))
        .routes(routes!(operations::timeline))
        .routes(routes!(operations::result))
        .routes(routes!(incidents::list))
        .routes(routes!(incidents::groups))
        .routes(routes!(incidents::get))
        .routes(routes!(verbs::resolve))
        .routes(routes!(verbs::resolve_many))
        .routes(routes!(verbs::retry))
        .routes(routes!(verbs::retry_many))
        .routes(routes!(verbs::ask))
        .routes(routes!(verbs::ask_many))
        .routes(routes!(events::stage))
        .routes(routes!(events::parked))
        .routes(routes!(events::get))
        .routes(routes!(event_verbs::release))
        .routes(routes!(event_verbs::skip))
        .routes(routes!(event_verbs::edit))
        .routes(routes!(relays::list))
        .routes(routes!(relays::start))
        .routes(routes!(relays::retire))
        .routes(routes!(relays::rebase))
        .routes(routes!(replays::request))
        .routes(routes!(replays::list))
        .routes(routes!(replays::get))
        .routes(routes!(replays::cancel))
        .routes(routes!(prune::prune))
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
        .routes(routes!(pages::error_page))
        .routes(routes!(pages::runbook))
        .route("/openapi.json", axum::routing::get(|| async { Json(document()) }))
}

/// The whole document.
pub(crate) fn document() -> Document {
    let mut document = routes().split_for_parts().1;
    documented_problems::describe(&mut document);
    choices::describe(&mut document);
    document
}
