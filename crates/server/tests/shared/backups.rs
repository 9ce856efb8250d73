//! Backup and restore, on whichever store a folder's commands use.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::fixture::{Server, Workdir, attempt, claim, merged, until};

/// Performs operations until it is told to stop; each is noted once it is acknowledged.
fn load(server: &Server, name: &str, acknowledged: &Mutex<Vec<Value>>, stop: &AtomicBool) {
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let claim = claim(&format!("{name}-{number}"));
        let granted = server.granted(&claim);
        server.record(&granted, "complete", &json!({ "result": { "of": claim["id"] } })).ok();
        acknowledged.lock().unwrap().push(claim);
    }
}

/// Backs up under load and restores elsewhere: whatever was acknowledged before the backup began is replayed there.
pub(crate) fn whatever_was_acknowledged_before_a_backup_is_replayed_after_its_restore(here: &Workdir, there: &Workdir) {
    let file = here.path("ledger.backup");
    let file = file.to_str().unwrap();
    let server = here.serve(&[]);
    let (acknowledged, stop) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let before = std::thread::scope(|scope| {
        for name in ["A", "B", "C"] {
            let (server, acknowledged, stop) = (&server, &acknowledged, &stop);
            scope.spawn(move || load(server, name, acknowledged, stop));
        }
        until("there is load", || acknowledged.lock().unwrap().len() >= 150);
        let before = acknowledged.lock().unwrap().clone();
        let made = here.run(&["backup", file, "--json"]);
        let during = acknowledged.lock().unwrap().len();
        until("the load went on", || acknowledged.lock().unwrap().len() > during);
        stop.store(true, Ordering::Relaxed);
        let rows = made.json()["rows"]["onefold_operations"].as_u64().unwrap();
        assert!(rows >= before.len() as u64, "{rows}");
        before
    });
    drop(server);

    there.run(&["restore", file]).done();
    let refused = there.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(refused.err().contains("LEDGER_WENT_BACK") && refused.err().contains("backup"), "{}", refused.err());
    there.run(&["accept-restored", "--why", "the machine died"]).done();
    let server = there.serve(&[]);
    for claim in &before {
        let replay = server.claim(&merged(claim, &json!({ "attemptId": attempt() })));
        assert_eq!((&replay["claim"], &replay["outcome"]["result"]["of"]), (&json!("replay"), &claim["id"]));
    }
    // It is a ledger like any other: new operations are taken in, and numbered after the old ones.
    let granted = server.granted(&claim("AFTER"));
    server.unknown(&claim("AFTER-2"));
    server.record(&granted, "complete", &json!({})).ok();
    assert_eq!(server.get("/v1/operations?limit=1").ok()["items"][0]["id"], "AFTER-2");
}

/// What is there already stays, unless it is said otherwise, and a ledger in use is left alone.
pub(crate) fn nothing_gives_way_unless_it_is_said(here: &Workdir) {
    let file = here.path("ledger.backup");
    let file = file.to_str().unwrap();
    let server = here.serve(&[]);
    let done = claim("CASE-1");
    server.record(&server.granted(&done), "complete", &json!({ "result": 1 })).ok();
    here.run(&["backup", file]).done();
    let refused = here.run(&["backup", file]);
    assert_eq!(refused.code, Some(1), "{}", refused.err());
    assert!(refused.err().contains("BACKUP_REFUSED") && refused.err().contains("--overwrite"), "{}", refused.err());
    here.run(&["backup", file, "--overwrite"]).done();

    let refused = here.run(&["restore", file, "--replace"]);
    assert!(refused.err().contains("DATABASE_IN_USE"), "{}", refused.err());
    server.record(&server.granted(&claim("CASE-2")), "complete", &json!({ "result": 2 })).ok();
    drop(server);
    until("its connections are gone", || !here.run(&["restore", file]).err().contains("DATABASE_IN_USE"));
    let refused = here.run(&["restore", file]);
    assert_eq!(refused.code, Some(1), "{}", refused.err());
    assert!(refused.err().contains("2 operations") && refused.err().contains("--replace"), "{}", refused.err());
    let server = here.serve(&[]);
    assert_eq!(server.claim(&claim("CASE-2"))["claim"], "replay", "nothing was changed");
    drop(server);

    until("it is restored", || here.run(&["restore", file, "--replace"]).code == Some(0));
    let accepted = here.run(&["accept-restored", "--why", "practice", "--json"]).json();
    assert_eq!(accepted["accepted"], true);
    let server = here.serve(&[]);
    assert_eq!(server.claim(&claim("CASE-1"))["claim"], "replay");
    assert_eq!(
        server.claim(&claim("CASE-2"))["claim"],
        "granted",
        "performed after the backup, so it is granted again"
    );
}

/// A backup that was cut or changed is refused, and the place stays as it was.
pub(crate) fn a_damaged_backup_is_refused(here: &Workdir, there: &Workdir) {
    let file = here.path("ledger.backup");
    let server = here.serve(&[]);
    for number in 0..50 {
        let claim = claim(&format!("CASE-{number}"));
        server.record(&server.granted(&claim), "complete", &json!({ "result": "x".repeat(500) })).ok();
    }
    here.run(&["backup", file.to_str().unwrap()]).done();
    let whole = std::fs::read(&file).unwrap();
    let mut zeros = whole.clone();
    zeros[20_000..30_000].fill(0);
    for damaged in [&whole[..whole.len() / 2], &zeros, b"not a backup at all, and far too short"] {
        std::fs::write(&file, damaged).unwrap();
        let refused = there.run(&["restore", file.to_str().unwrap()]);
        assert_eq!(refused.code, Some(69), "{}", refused.err());
        assert!(refused.err().contains("DATABASE_CORRUPT"), "{}", refused.err());
    }
    there.serve(&[]).granted(&claim("NEW"));
}
