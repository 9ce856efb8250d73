//! A shop that takes orders, charges cards and issues receipts, each once.

use std::time::Duration;

use axum::Router;
use axum::http::request::Parts;
use axum::routing::post;
use onefold::call::{Attempt, CallFailure};
use onefold::class::{ExternalCommand, Local};
use onefold::error::DATABASE_UNAVAILABLE;
use onefold::http::idempotent::{Idempotent as _, Route};
use onefold::http::{Caller, ProblemResponse, required_header};
use onefold::kind::KindHandle;
use onefold::policy::Escalate;
use onefold::store::Sqlite;
use onefold::{Error, Kind, Ledger, Once, Performed, Result};
use serde::Serialize;
use sqlx::SqliteConnection;

/// What a customer orders.
#[derive(Debug, Clone, Serialize)]
pub struct Order {
    /// Its number.
    pub number: u32,
    /// What it costs.
    pub cents: u32,
}

/// The shop: its own table and its ledger in one file.
#[derive(Clone)]
pub struct Shop {
    ledger: Ledger<Sqlite>,
    orders: KindHandle<Sqlite, Local>,
    charges: KindHandle<Sqlite, ExternalCommand>,
}

impl Shop {
    /// Opens the shop on a ledger.
    pub async fn open(ledger: Ledger<Sqlite>) -> Result<Self> {
        let mut tx = ledger.store().begin().await?;
        let table = sqlx::query("CREATE TABLE IF NOT EXISTS orders (number INTEGER)").execute(&mut *tx);
        table.await.map_err(not_written)?;
        tx.commit().await?;
        let orders = ledger.kind(Kind::local("order.place"))?;
        let charge = Kind::external_command("card.charge").on_unknown(Escalate).deadline(Duration::from_secs(10));
        let charges = ledger.kind(charge)?;
        Ok(Self { ledger, orders, charges })
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger<Sqlite> {
        &self.ledger
    }

    /// Places an order in the shop's own transaction.
    pub async fn place(&self, order: &Order) -> Result<Once<u32>> {
        let mut tx = self.ledger.store().begin().await?;
        let placing = self.orders.operation(format!("ORDER-{}", order.number));
        let placed = placing.once_in(&mut tx, order, async |tx| insert(tx, order).await).await?;
        tx.commit().await?;
        Ok(placed)
    }

    /// Charges the card of an order.
    pub async fn charge<F, Fut>(&self, order: &Order, card: F) -> Result<Performed<String>>
    where
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = Result<String, CallFailure>> + Send + 'static,
    {
        self.charges.operation(format!("CHARGE-{}", order.number)).perform(order, card).await
    }

    /// The shop over HTTP: a repeated key is answered from the record.
    pub fn routes(&self, receipt: impl Fn() -> String + Clone + Send + Sync + 'static) -> Result<Router> {
        let layer = self.ledger.idempotent(Route::external_command("receipt.issue").caller(customer))?;
        let issue = move || std::future::ready(receipt());
        Ok(Router::new().route("/receipts", post(issue).layer(layer)))
    }
}

/// Who asks. A real shop verifies a token here.
fn customer(parts: &Parts) -> std::result::Result<Caller, ProblemResponse> {
    let name = required_header(&parts.headers, "x-customer")?;
    Ok(Caller::known(name))
}

async fn insert(tx: &mut SqliteConnection, order: &Order) -> Result<u32> {
    sqlx::query("INSERT INTO orders VALUES (?1)").bind(order.number).execute(tx).await.map_err(not_written)?;
    Ok(order.number)
}

fn not_written(cause: sqlx::Error) -> Error {
    Error::new(DATABASE_UNAVAILABLE, "the shop's table was not written").caused_by(cause)
}
