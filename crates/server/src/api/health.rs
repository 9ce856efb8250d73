//! Alive, ready, measured.

use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use metrics::gauge;
use onefold_core::error::{DATABASE_UNAVAILABLE, SHUTTING_DOWN};
use onefold_core::outbox::RelayName;
use onefold_core::port::{LedgerRead as _, OutboxOperate as _};
use onefold_core::retry::Category;
use onefold_core::{Error, Result, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::problem_response::{Problem, ProblemBody};
use super::relays::table_relays;
use super::{Shared, need};
use crate::identity::{Identity, Permission};

/// A probe gives up soon; a store tries for longer to reconnect.
const READY_WITHIN: Duration = Duration::from_secs(3);

/// This server lives.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Health {
    #[schema(example = "ok")]
    pub(crate) status: String,
    pub(crate) version: String,
    /// Different for every start of a server.
    pub(crate) instance: String,
}

/// Whether the process lives. Says nothing of the database: a restart would not fix that.
#[utoipa::path(
    get, path = "/health", tag = "server", security(()),
    responses((status = 200, description = "It lives", body = Health)),
)]
pub(crate) async fn health(State(api): State<Shared>) -> Json<Health> {
    Json(Health {
        status: "ok".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: api.instance.clone(),
    })
}

/// Whether it can serve: the database answers and can be written to, and it is not stopping.
#[utoipa::path(
    get, path = "/ready", tag = "server", security(()),
    responses(
        (status = 200, description = "It serves", body = Health),
        (status = "5XX", description = "It does not serve now", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn ready(State(api): State<Shared>) -> Result<Json<Health>, Problem> {
    if api.is_draining() {
        return Err(Error::new(SHUTTING_DOWN, "this server drains").into());
    }
    let asked = async {
        api.app.ledger.store().counts().await?;
        // Answering is not enough: on a full disk every claim is refused.
        api.app.ledger.ready().await
    };
    let answered = tokio::time::timeout(READY_WITHIN, asked).await;
    answered.map_err(|_| Error::new(DATABASE_UNAVAILABLE, "the database did not answer in time"))??;
    Ok(health(State(api)).await)
}

/// Metrics for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "server",
    responses(
        (status = 200, description = "Prometheus text", body = String, content_type = "text/plain"),
        (status = "4XX", description = "Not authorized", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn metrics(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
) -> Result<Response, Problem> {
    need(&who, Permission::Look)?;
    let counts = api.app.ledger.store().counts().await?;
    show("onefold_unknown_outcomes", &counts.unknown);
    show("onefold_open_incidents", &counts.open_incidents);
    let (now, relays) = api.app.ledger.store().relays().await?;
    for relay in relays.iter().filter(|relay| relay.retired_at.is_none()) {
        show_relay(&relay.name, (relay.waiting, relay.parked), relay.oldest, now);
    }
    for relay in table_relays(&api.app).await {
        let Ok(counted) = relay.counted else { continue };
        show_relay(&relay.spec.name, (counted.waiting, counted.parked), counted.oldest, now);
    }
    let text = api.metrics.as_ref().map(metrics_exporter_prometheus::PrometheusHandle::render).unwrap_or_default();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

/// How far a relay has come.
fn show_relay(name: &RelayName, (waiting, parked): (u64, u64), oldest: Option<Timestamp>, now: Timestamp) {
    let lag = oldest.map_or(Duration::ZERO, |oldest| now.since(oldest));
    let name = name.to_string();
    gauge!("onefold_outbox_lag_seconds", "relay" => name.clone()).set(lag.as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
    {
        gauge!("onefold_outbox_waiting", "relay" => name.clone()).set(waiting as f64);
        gauge!("onefold_outbox_parked", "relay" => name).set(parked as f64);
    }
}

/// Every category is shown, so that one whose last incident was closed falls to zero.
fn show(name: &'static str, counts: &[(Category, u64)]) {
    for category in Category::ALL {
        let count = counts.iter().find(|(known, _)| known == category).map_or(0, |(_, count)| *count);
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        gauge!(name, "category" => category.as_str()).set(count as f64);
    }
}
