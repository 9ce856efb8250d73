//! Sequence numbers are never used again, so that the place where a page ended stays where it was.

use std::time::Duration;

use onefold_conformance::kinds::{SECOND, escalates};
use onefold_conformance::ledger::outcomes::{completion, unknown};
use onefold_core::effect::Retention;
use onefold_core::ledger::{Resolution, Verb};
use onefold_core::port::{IncidentFilter, LedgerMaintenance as _, LedgerRead as _, Page, PruneRequest};
use onefold_core::retry::Category;

use crate::fixture::SqliteFixture;

const DAY: Duration = Duration::from_hours(24);

async fn incident(fixture: &SqliteFixture, id: &str) {
    let terms = escalates();
    let lease = fixture.grant(&terms, id).await;
    fixture.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
}

async fn close(fixture: &SqliteFixture, id: &str) {
    let verb = Verb::Resolve(Resolution::TookHold(completion(b"1", None)));
    fixture.resolve(&escalates(), id, "ada", verb).await.unwrap();
}

async fn prune_all(fixture: &SqliteFixture) -> usize {
    fixture.wait(DAY + SECOND);
    let rule = Retention { id_for: Some(DAY), ..Retention::default() };
    let rules = vec![(escalates().kind.clone(), rule)];
    let request = PruneRequest { by: fixture.confirmed().await, rules, limit: 100, archive: None, dry_run: false };
    fixture.store().prune(request).await.unwrap().operations
}

fn highest(fixture: &SqliteFixture, table: &str) -> i64 {
    let connection = rusqlite::Connection::open(fixture.store().path()).unwrap();
    connection.query_row(&format!("SELECT coalesce(max(seq), 0) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn notes_and_incidents_never_get_a_number_twice() {
    let mut fixture = SqliteFixture::new().await;
    for round in 0..3 {
        let mut before = Vec::new();
        for id in ["A", "B", "C"] {
            incident(&fixture, id).await;
            close(&fixture, id).await;
        }
        for table in ["onefold_notes", "onefold_incidents"] {
            before.push((table, highest(&fixture, table)));
        }
        assert_eq!(prune_all(&fixture).await, 3, "round {round}");
        fixture.reopen().await;
        incident(&fixture, "NEXT").await;
        close(&fixture, "NEXT").await;
        for (table, before) in before {
            assert!(highest(&fixture, table) > before, "{table} used a number again");
        }
        assert_eq!(prune_all(&fixture).await, 1);
    }
}

#[tokio::test]
async fn a_page_that_ended_before_a_prune_does_not_show_what_came_after_it() {
    let fixture = SqliteFixture::new().await;
    for id in ["A", "B", "C", "D"] {
        incident(&fixture, id).await;
        close(&fixture, id).await;
    }
    let page = |after| Page { after, limit: 2 };
    let first = fixture.store().incidents(IncidentFilter::default(), page(None)).await.unwrap();
    assert_eq!(prune_all(&fixture).await, 4);
    incident(&fixture, "NEW").await;
    let second = fixture.store().incidents(IncidentFilter::default(), page(first.next)).await.unwrap();
    assert!(second.items.is_empty(), "{:?}", second.items);
}
