//! An outage costs what the breaker lets through, and is one cause to a person.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::routing::post;
use onefold_core::Timestamp;
use onefold_core::port::{BoxFuture, Clock, IncidentFilter, LedgerRead as _, Page};
use onefold_http::idempotent::{Idempotent as _, Route};
use onefold_runtime::{Breaker, DependencyDeclaration, Ledger, Settings, SystemClock, SystemRandom};
use onefold_sqlite::{Sqlite, SqliteOptions};
use tower::ServiceExt as _;

/// A clock that the test moves; waiting is as always.
struct Moved(AtomicU64);

impl Moved {
    fn by(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_micros()).unwrap(), Ordering::Relaxed);
    }

    fn moved(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus(self.moved())
    }
    fn monotonic(&self) -> Duration {
        SystemClock.monotonic() + self.moved()
    }
    fn boot(&self) -> Duration {
        SystemClock.boot() + self.moved()
    }
    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        SystemClock.sleep(wait)
    }
}

const THRESHOLD: u32 = 5;
const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn ten_minutes_of_500s_cost_the_threshold_the_calls_in_flight_and_one_per_probe() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(Moved(AtomicU64::new(0)));
    let options = SqliteOptions::new(Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(SystemRandom::default()));
    let store = Sqlite::open(folder.path().join("onefold.db"), options).await.unwrap();
    let settings = Settings { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..Settings::default() };
    let ledger = Ledger::open(store, settings).unwrap();
    let breaker = Breaker { failures: THRESHOLD, open_for: Duration::from_secs(30) };
    let limits = DependencyDeclaration { breaker: Some(breaker), ..DependencyDeclaration::default() };
    ledger.dependency("provider", limits).unwrap();
    let route = Route::external_command("pay").depends_on("provider");
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let failing = move || {
        count.fetch_add(1, Ordering::Relaxed);
        async { (StatusCode::INTERNAL_SERVER_ERROR, "down") }
    };
    let app: Router = Router::new().route("/", post(failing).layer(ledger.idempotent(route).unwrap()));

    // A request every second for ten minutes, eight callers at once.
    let (refused, answered) = (Mutex::new(0), Mutex::new(0));
    let mut number = 0;
    for _ in 0..600 {
        let wave = (0..AT_ONCE).map(|_| {
            number += 1;
            let request = Request::post("/").header("idempotency-key", format!("k-{number}"));
            let sending = app.clone().oneshot(request.body(Body::empty()).unwrap());
            tokio::spawn(async move { sending.await.unwrap() })
        });
        for response in wave.collect::<Vec<_>>() {
            let response = response.await.unwrap();
            match response.status().as_u16() {
                503 => {
                    assert!(response.headers().contains_key("retry-after"));
                    *refused.lock().unwrap() += 1;
                }
                500 => *answered.lock().unwrap() += 1,
                other => panic!("{other}"),
            }
        }
        clock.by(Duration::from_secs(1));
    }
    let probes = 600 / 30;
    let most = THRESHOLD as usize + AT_ONCE + probes;
    let made = calls.load(Ordering::Relaxed);
    assert!(made <= most, "{made} calls of {number} requests; at most {most}");
    assert!(made > THRESHOLD as usize + 10, "it is tried again: {made}");
    assert_eq!(*refused.lock().unwrap() + *answered.lock().unwrap(), number);
    let tenant = ledger.tenant().clone();
    let groups = ledger.store().groups(tenant).await.unwrap();
    assert_eq!(groups.len(), 1, "{groups:?}");
    let page = Page { limit: 500, ..Page::default() };
    let incidents = ledger.store().incidents(IncidentFilter::default(), page).await.unwrap();
    assert_eq!(incidents.items.len(), made, "every unknown has its incident");
}
