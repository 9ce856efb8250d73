//! Our side: events staged in a transaction of the caller's, and a relay whose target takes everything at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use onefold::Ledger;
use onefold::outbox::{Begin, BoxFuture, Delivery, Event, EventContract, Outbox, Publication, Publisher, Relay};
use onefold::settings::Settings;
use onefold::store::{Postgres, PostgresOptions};
use sqlx::PgPool;
use tokio::sync::Notify;

use super::{FILLING, pool};

/// The one type of event of the benchmarks.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseSubmitted {
    /// The aggregate.
    pub case_id: String,
    /// What makes it as long as events usually are.
    pub text: &'static str,
}

impl CaseSubmitted {
    /// An event of this case.
    pub fn new(case_id: String) -> Self {
        Self { case_id, text: FILLING }
    }
}

impl Event for CaseSubmitted {
    const CONTRACT: EventContract = EventContract::new("case.submitted", 1)
        .aggregate("case")
        .owner("benchmarks")
        .ordering_key("/caseId")
        .schema(r#"{ "type": "object", "required": ["caseId"], "properties": { "text": { "type": "string" } } }"#);

    fn aggregate_id(&self) -> &str {
        &self.case_id
    }
}

/// An outbox on a schema of its own, and the caller's own pool.
pub struct Ours {
    pub ledger: Ledger<Postgres>,
    pub outbox: Outbox<Postgres>,
    pub pool: PgPool,
    schema: String,
}

impl Ours {
    /// Opens a schema; the loops of the ledger stay out of the way.
    pub async fn open(url: &str, schema: &str, connections: u32) -> Self {
        let options = PostgresOptions { schema: Some(schema.to_owned()), ..onefold::store::postgres_options() };
        let store = Postgres::open(url, options).await.expect("the database opens");
        let far = Duration::from_secs(3600);
        let settings = Settings { sweep_every: far, ask_every: far, prune_every: far, ..Settings::default() };
        let ledger = Ledger::open(store, settings).expect("the ledger opens");
        let outbox = ledger.outbox();
        Self { ledger, outbox, pool: pool(url, schema, connections).await, schema: schema.to_owned() }
    }

    /// A change of the caller's own with its event, in one commit.
    pub async fn submit(&self, case: String) {
        let mut tx = self.pool.begin().await.expect("begun");
        super::hand_written::open_case(&mut tx, &self.schema, &case).await;
        self.outbox.stage(&mut tx, &CaseSubmitted::new(case)).await.expect("staged");
        tx.commit().await.expect("committed");
    }

    /// Runs the relay until the target has this many more.
    pub async fn drain(&self, target: &Arc<Acknowledging>, events: usize) -> Duration {
        let until = target.count() + events;
        let began = Instant::now();
        let relay = self.relay(target).run(target.reached(until));
        relay.await.expect("the relay runs");
        began.elapsed()
    }

    /// The relay, not started yet.
    pub fn relay(&self, target: &Arc<Acknowledging>) -> Relay {
        Relay::new(&self.outbox, "bench").events(["case.*"]).to(Arc::clone(target)).begin(Begin::Now)
    }
}

/// A target that takes whatever comes, and counts: no broker is measured.
#[derive(Default)]
pub struct Acknowledging {
    count: AtomicUsize,
    grew: Notify,
    /// When each event came, where that is asked for.
    seen: Mutex<Option<Vec<(String, Instant)>>>,
}

impl Acknowledging {
    /// One that remembers when each aggregate was first heard of.
    pub fn remembering() -> Self {
        Self { seen: Mutex::new(Some(Vec::new())), ..Self::default() }
    }

    /// How many it took.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Ready once it has taken this many.
    pub async fn reached(&self, count: usize) {
        loop {
            let grew = self.grew.notified();
            if self.count() >= count {
                return;
            }
            grew.await;
        }
    }

    /// The aggregates and when they came, since it was asked last.
    pub fn take_seen(&self) -> Vec<(String, Instant)> {
        self.seen.lock().expect("no panic").as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn take(&self, delivery: &Delivery) -> Vec<Publication> {
        if let Some(seen) = self.seen.lock().expect("no panic").as_mut() {
            let now = Instant::now();
            seen.extend(delivery.events.iter().map(|event| (event.stored.event.aggregate.id.to_string(), now)));
        }
        self.count.fetch_add(delivery.events.len(), Ordering::AcqRel);
        self.grew.notify_waiters();
        delivery.events.iter().map(|_| Publication::Published { position: None }).collect()
    }
}

impl Publisher for Acknowledging {
    fn target(&self) -> String {
        "a counter".to_owned()
    }

    fn unfenced(&self) -> Option<&'static str> {
        None
    }

    fn check(&self, _: Duration, _: Duration) -> BoxFuture<'_, onefold::Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn publish(&self, deliveries: Vec<Delivery>) -> BoxFuture<'_, Vec<Vec<Publication>>> {
        Box::pin(async move { deliveries.iter().map(|delivery| self.take(delivery)).collect() })
    }

    fn leave(&self, _: u16) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
