//! What runs behind a service whose operations are all in its own transactions: its retention, and its counts.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use metrics_exporter_prometheus::PrometheusBuilder;
use onefold::settings::Settings;
use onefold::store::SqliteOptions;
use onefold::testing::ManualClock;
use onefold_example_case::http::routes;
use onefold_example_case::submit::Cases;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::service::{submission, with};

/// The service in this process, on a clock that the test moves.
async fn service(path: &Path, clock: &Arc<ManualClock>) -> Router {
    let options = SqliteOptions { clock: clock.clone(), ..onefold::store::sqlite_options() };
    let settings = Settings { clock: clock.clone(), ..Settings::default() };
    routes(Cases::open_with(path, options, settings).await.unwrap()).unwrap()
}

async fn submit(service: &Router, key: &str, submission: &Value) -> StatusCode {
    let request = Request::post("/cases").header("Idempotency-Key", key).header("Content-Type", "application/json");
    let request = request.body(Body::from(submission.to_string())).unwrap();
    service.clone().oneshot(request).await.unwrap().status()
}

fn operations(path: &Path) -> i64 {
    let database = rusqlite::Connection::open(path).unwrap();
    database.query_row("SELECT count(*) FROM onefold_operations", [], |row| row.get(0)).unwrap()
}

/// Lets 40 days pass. A key is kept for 30 of them, and retention is applied every hour.
async fn assert_forgotten(path: &Path, clock: &Arc<ManualClock>) {
    for _ in 0..40 * 24 {
        clock.advance(Duration::from_hours(1));
        tokio::time::sleep(Duration::from_millis(10)).await;
        if operations(path) == 0 {
            return;
        }
    }
    panic!("the answer is still kept after 40 days");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_forgotten_when_the_time_that_was_announced_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let clock = Arc::new(ManualClock::default());
    let service = service(&path, &clock).await;
    assert_eq!(submit(&service, "k", &submission()).await, StatusCode::CREATED);
    assert_eq!(operations(&path), 1);
    assert_forgotten(&path, &clock).await;
}

#[test]
fn an_answer_of_before_a_restart_is_forgotten_although_no_request_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.db");
    let clock = Arc::new(ManualClock::default());
    // Each life has a runtime of its own, with which everything of it ends.
    let life = || tokio::runtime::Runtime::new().unwrap();
    life().block_on(async {
        let service = service(&path, &clock).await;
        assert_eq!(submit(&service, "k", &submission()).await, StatusCode::CREATED);
    });
    assert_eq!(operations(&path), 1);
    life().block_on(async {
        let _service = service(&path, &clock).await;
        assert_forgotten(&path, &clock).await;
    });
}

/// Counts what happens on this thread alone: other tests of this program submit too.
#[tokio::test(flavor = "current_thread")]
async fn first_submissions_duplicates_and_conflicts_are_counted() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let seen = recorder.handle();
    let _counting = metrics::set_default_local_recorder(&recorder);
    let folder = tempfile::tempdir().unwrap();
    let service = service(&folder.path().join("cases.db"), &Arc::new(ManualClock::default())).await;
    assert_eq!(submit(&service, "k", &submission()).await, StatusCode::CREATED);
    assert_eq!(submit(&service, "k", &submission()).await, StatusCode::OK);
    assert_eq!(submit(&service, "k", &with("/subject", json!("company-8"))).await, StatusCode::CONFLICT);
    let scraped = seen.render();
    for line in [
        "onefold_dedup_misses_total{boundary=\"http\",kind=\"case.submit\"} 1",
        "onefold_dedup_hits_total{boundary=\"http\",kind=\"case.submit\"} 2",
        "onefold_claims_total{kind=\"case.submit\",answer=\"granted\"} 1",
        "onefold_claims_total{kind=\"case.submit\",answer=\"replay\"} 1",
        "onefold_claims_total{kind=\"case.submit\",answer=\"conflict\"} 1",
        "onefold_processing_seconds_count{boundary=\"http\",kind=\"case.submit\"} 1",
    ] {
        assert!(scraped.lines().any(|found| found == line), "{line} is not in\n{scraped}");
    }
}
