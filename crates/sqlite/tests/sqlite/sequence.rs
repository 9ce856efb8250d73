//! Sequence numbers are never used again, so that the place where a page ended stays where it was.

use std::time::Duration;

use onefold_conformance::kinds::{SECOND, escalates};
use onefold_conformance::outcomes::{completion, unknown};
use onefold_core::effect::Retention;
use onefold_core::ledger::{Resolution, Verb};
use onefold_core::ports::{IncidentFilter, Keep as _, Look as _, Page, PruneRequest};
use onefold_core::retry::Category;

use crate::harness::FileScene;

const DAY: Duration = Duration::from_hours(24);

async fn incident(scene: &FileScene, id: &str) {
    let terms = escalates();
    let lease = scene.grant(&terms, id).await;
    scene.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
}

async fn close(scene: &FileScene, id: &str) {
    let verb = Verb::Resolve(Resolution::TookHold(completion(b"1", None)));
    scene.resolve(&escalates(), id, "ada", verb).await.unwrap();
}

async fn prune_all(scene: &FileScene) -> usize {
    scene.wait(DAY + SECOND);
    let rule = Retention { id_for: Some(DAY), ..Retention::default() };
    let rules = vec![(escalates().kind.clone(), rule)];
    let request = PruneRequest { by: scene.confirmed().await, rules, limit: 100, archive: None, dry_run: false };
    scene.store().prune(request).await.unwrap().operations
}

fn highest(scene: &FileScene, table: &str) -> i64 {
    let connection = rusqlite::Connection::open(scene.store().path()).unwrap();
    connection.query_row(&format!("SELECT coalesce(max(seq), 0) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn notes_and_incidents_never_get_a_number_twice() {
    let mut scene = FileScene::new().await;
    for round in 0..3 {
        let mut before = Vec::new();
        for id in ["A", "B", "C"] {
            incident(&scene, id).await;
            close(&scene, id).await;
        }
        for table in ["onefold_notes", "onefold_incidents"] {
            before.push((table, highest(&scene, table)));
        }
        assert_eq!(prune_all(&scene).await, 3, "round {round}");
        scene.reopen().await;
        incident(&scene, "NEXT").await;
        close(&scene, "NEXT").await;
        for (table, before) in before {
            assert!(highest(&scene, table) > before, "{table} used a number again");
        }
        assert_eq!(prune_all(&scene).await, 1);
    }
}

#[tokio::test]
async fn a_page_that_ended_before_a_prune_does_not_show_what_came_after_it() {
    let scene = FileScene::new().await;
    for id in ["A", "B", "C", "D"] {
        incident(&scene, id).await;
        close(&scene, id).await;
    }
    let page = |after| Page { after, limit: 2 };
    let first = scene.store().incidents(IncidentFilter::default(), page(None)).await.unwrap();
    assert_eq!(prune_all(&scene).await, 4);
    incident(&scene, "NEW").await;
    let second = scene.store().incidents(IncidentFilter::default(), page(first.next)).await.unwrap();
    assert!(second.items.is_empty(), "{:?}", second.items);
}
