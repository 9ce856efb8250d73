//! Orders that are charged once: an ordinary axum service, and one layer.
//!
//! The handler knows nothing of keys. The layer claims the key before it, stores its answer after it, and answers
//! duplicates from what is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Json;
use axum::routing::post;
use onefold::Ledger;
use onefold::error::{AUTHENTICATION_REQUIRED, Error, Result};
use onefold::http::idempotent::{Idempotent as _, Route};
use onefold::http::{Body, Caller, ProblemResponse, answer_every_error};
use onefold::store::Sqlite;
use serde::{Deserialize, Serialize};

/// What a customer orders.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    item: String,
    cents: u32,
}

/// What the customer gets for it.
#[derive(Debug, Serialize)]
pub struct Receipt {
    charge: String,
    item: String,
    cents: u32,
}

/// A card provider that charges whenever it is asked. It does not know keys.
#[derive(Debug, Clone, Default)]
pub struct Provider {
    charges: Arc<AtomicUsize>,
}

impl Provider {
    /// How often a card was charged.
    pub fn charges(&self) -> usize {
        self.charges.load(Ordering::SeqCst)
    }

    async fn charge(&self) -> String {
        // As long as a call to another country takes.
        tokio::time::sleep(Duration::from_millis(50)).await;
        format!("CH-{}", self.charges.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

/// The whole service.
pub fn routes(ledger: &Ledger<Sqlite>, provider: Provider) -> Result<Router> {
    let once = Route::financial_or_legal("order.place").deadline(Duration::from_secs(10)).caller(customer);
    let placing = post(place).layer(ledger.idempotent(once)?);
    Ok(answer_every_error(Router::new().route("/orders", placing).with_state(provider)))
}

/// Who orders. A real service verifies a token here; its stable subject is the caller, never the token itself.
fn customer(parts: &Parts) -> Result<Caller, ProblemResponse> {
    let named = parts.headers.get("x-customer").and_then(|name| name.to_str().ok());
    let named = named.ok_or_else(|| Error::new(AUTHENTICATION_REQUIRED, "the request does not say who orders"))?;
    Ok(Caller::known(named))
}

async fn place(State(provider): State<Provider>, Body(order): Body<Order>) -> (StatusCode, Json<Receipt>) {
    let charge = provider.charge().await;
    (StatusCode::CREATED, Json(Receipt { charge, item: order.item, cents: order.cents }))
}
