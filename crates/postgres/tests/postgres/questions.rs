//! Questions are shared out among servers: one that somebody takes is nobody else's until it is given back.

use std::collections::HashSet;
use std::time::Duration;

use onefold_conformance::fixture::StoreFixture;
use onefold_conformance::kinds::{asks, escalates};
use onefold_conformance::ledger::outcomes::unknown;
use onefold_core::port::LedgerMaintenance as _;
use onefold_core::retry::Category;

use crate::fixture::PostgresHarness;

const HOLD: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_question_that_one_server_takes_is_given_to_no_other() {
    let fixture = StoreFixture::<PostgresHarness>::new().await;
    let terms = asks();
    for number in 0..40 {
        let lease = fixture.grant(&terms, &format!("OP-{number}")).await;
        fixture.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
    }
    fixture.wait(Duration::from_hours(1));
    let take = || fixture.store().take_due(vec![terms.kind.clone(), escalates().kind.clone()], 25, HOLD);
    let (one, other) = tokio::join!(take(), take());
    let (one, other) = (one.unwrap().entries, other.unwrap().entries);
    let taken: HashSet<_> = one.iter().chain(&other).map(|entry| entry.key.clone()).collect();
    assert_eq!(taken.len(), one.len() + other.len(), "a question was given to both");
    let rest = take().await.unwrap().entries.len();
    assert_eq!(taken.len() + rest, 40);
    assert!(take().await.unwrap().entries.is_empty());
    // The process that took them went away.
    fixture.wait(HOLD + Duration::from_secs(1));
    assert_eq!(take().await.unwrap().entries.len(), 25);
}
