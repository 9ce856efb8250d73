//! Whatever is in the headers, a request is refused or performed once, and nothing panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request};
use axum::routing::post;
use onefold_http::idempotent::{Idempotent as _, Route};
use onefold_runtime::{Ledger, Settings, SystemClock, SystemRandom};
use onefold_sqlite::{Sqlite, SqliteOptions};
use proptest::prelude::*;
use tower::ServiceExt as _;

/// Bytes as a header may bring them, more often than not near to a key.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let near = prop::collection::vec(prop::sample::select(b"ab0\"\\;=:, ?*()@%~/._-\t\xc3\xa9".to_vec()), 0..12);
    let any = prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![3 => near, 1 => any]
}

#[test]
fn any_header_is_refused_or_means_one_key() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (app, calls) = runtime.block_on(async {
        let options = SqliteOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()));
        let store = Sqlite::open(folder.path().join("onefold.db"), options).await.unwrap();
        let ledger = Ledger::open(store, Settings::default()).unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let acting = async move || count.fetch_add(1, Ordering::Relaxed).to_string();
        let route = Route::external_command("pay").anonymous_replay().streams();
        let app: Router = Router::new().route("/", post(acting).layer(ledger.idempotent(route).unwrap()));
        (app, calls)
    });
    let send = |key: &HeaderValue, prefer: &HeaderValue, digest: &HeaderValue| {
        let request = Request::post("/").header("idempotency-key", key).header("prefer", prefer);
        let request = request.header("content-digest", digest).body(Body::empty()).unwrap();
        runtime.block_on(app.clone().oneshot(request)).unwrap()
    };
    proptest!(ProptestConfig::with_cases(400), |(key in value(), prefer in value(), digest in value())| {
        let headers = [key, prefer, digest].map(|bytes| HeaderValue::from_bytes(&bytes));
        let [Ok(key), Ok(prefer), Ok(digest)] = headers else { return Ok(()) };
        let before = calls.load(Ordering::Relaxed);
        let statuses = [send(&key, &prefer, &digest), send(&key, &prefer, &digest)].map(|answer| answer.status().as_u16());
        prop_assert!(statuses == [400, 400] || statuses == [200, 200] || statuses[0] != 200, "{statuses:?}");
        let made = calls.load(Ordering::Relaxed) - before;
        prop_assert!(made <= 1, "{made} calls for {key:?}");
        prop_assert!(statuses[0] != 400 || made == 0);
    });
}
