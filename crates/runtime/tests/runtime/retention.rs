//! What is kept, and for how long.

use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use onefold_core::effect::Retention;
use onefold_runtime::{Kind, Performed, Settings};

use crate::stage::{Stage, find, id, settings, until};

#[tokio::test]
async fn the_loop_forgets_what_is_over_and_archives_it_first() {
    let stage = Stage::new();
    let settings =
        Settings { prune_every: Duration::from_millis(20), archive: Some(stage.file("archive")), ..settings() };
    let ledger = stage.ledger_with(settings).await;
    let retention = Retention { id_for: Some(Duration::ZERO), ..Retention::default() };
    let short = ledger.kind(Kind::external_command("key.short").retention(retention)).unwrap();
    let long = ledger.kind(Kind::external_command("key.long")).unwrap();
    long.operation(id("B")).perform(&"in", |_| async { Ok(7) }).await.unwrap();
    short.operation(id("A")).perform(&"in", |_| async { Ok(7) }).await.unwrap();
    until("it is forgotten", async || find(&ledger, "key.short", "A").await.is_none().then_some(())).await;
    assert!(find(&ledger, "key.long", "B").await.is_some());
    let archive = stage.file("archive/operations.jsonl");
    assert_eq!(std::fs::metadata(&archive).unwrap().mode() & 0o777, 0o600);
    let lines = std::fs::read_to_string(&archive).unwrap();
    let kept: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&kept["kind"], &kept["operationId"], &kept["result"]), (&"key.short".into(), &"A".into(), &"7".into()));
    // A duplicate of a forgotten operation is a new one.
    let again = short.operation(id("A")).perform(&"in", |_| async { Ok(8) }).await.unwrap();
    assert_eq!(again, Performed::Completed { result: 8, replayed: false });
}
