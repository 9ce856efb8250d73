//! Backup and restore of an SQLite ledger.

use serde_json::json;

use crate::backups;
use crate::fixture::{Workdir, claim};

#[test]
fn whatever_was_acknowledged_before_a_backup_is_replayed_after_its_restore() {
    backups::whatever_was_acknowledged_before_a_backup_is_replayed_after_its_restore(&Workdir::new(), &Workdir::new());
}

#[test]
fn nothing_gives_way_unless_it_is_said() {
    let dir = Workdir::new();
    backups::nothing_gives_way_unless_it_is_said(&dir);
    let names = std::fs::read_dir(dir.folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let aside = names.filter(|name| name.starts_with("onefold.db.replaced-"));
    assert_eq!(aside.filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm")).count(), 1);
}

#[test]
fn a_damaged_backup_is_refused() {
    backups::a_damaged_backup_is_refused(&Workdir::new(), &Workdir::new());
}

/// Every page is whole and every table can be read: only a check of the whole file sees it.
#[test]
fn a_backup_whose_tables_and_indexes_disagree_is_refused() {
    let (dir, elsewhere) = (Workdir::new(), Workdir::new());
    let server = dir.serve(&[]);
    server.record(&server.granted(&claim("CASE-1")), "complete", &json!({ "result": 1 })).ok();
    dir.run(&["backup", "copy"]).done();
    let whole = std::fs::read(dir.path("copy")).unwrap();
    let places: Vec<usize> = (0..whole.len()).filter(|at| whole[*at..].starts_with(b"CASE-1")).collect();
    assert!(places.len() > 1, "in the table, and in an index: {places:?}");
    for at in places {
        let mut damaged = whole.clone();
        damaged[at + 5] = b'2';
        std::fs::write(dir.path("copy"), &damaged).unwrap();
        let refused = elsewhere.run(&["restore", dir.path("copy").to_str().unwrap()]);
        assert_eq!(refused.code, Some(69), "{at}: {}", refused.err());
        assert!(refused.err().contains("DATABASE_CORRUPT"), "{}", refused.err());
    }
    assert!(!elsewhere.path("onefold.db").exists(), "the place stays as it was");
}

/// On a machine that remembers nothing, the file itself says what it is.
#[test]
fn a_backup_that_was_copied_by_hand_must_be_accepted_too() {
    let (dir, elsewhere) = (Workdir::new(), Workdir::new());
    let server = dir.serve(&[]);
    dir.run(&["backup", "copy"]).done();
    std::fs::copy(dir.path("copy"), elsewhere.path("onefold.db")).unwrap();
    drop(server);
    let refused = elsewhere.run(&["operations"]);
    assert!(refused.err().contains("LEDGER_WENT_BACK"), "{}", refused.err());
}
