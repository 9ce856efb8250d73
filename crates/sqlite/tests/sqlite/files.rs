//! Files that cannot be used: each is refused with its code, its path and a next step, and left as it was.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use onefold_conformance::fixture::key;
use onefold_conformance::kinds::escalates;
use onefold_core::error::{Code, DATABASE_CORRUPT, DATABASE_READ_ONLY, DATABASE_TOO_NEW};
use onefold_core::port::{LedgerRead as _, Random as _};
use onefold_core::{Error, Result};
use onefold_sqlite::Sqlite;
use onefold_testing::{SeededRandom, seed};

use crate::fixture::{Folder, SqliteFixture, open};

/// Names the file that a child process opens.
const CHILD_OPENS: &str = "ONEFOLD_TEST_CHILD_OPENS";

fn assert_refused(path: &Path, opened: Result<Sqlite>, code: Code) {
    let error = opened.err().unwrap_or_else(|| panic!("{} was opened", path.display()));
    assert_says(path, &error, code);
}

fn assert_says(path: &Path, error: &Error, code: Code) {
    assert_eq!(error.code(), code, "{error}");
    assert!(error.detail().contains(&path.display().to_string()), "the path is not named: {error}");
    assert!(!error.next_step().is_empty());
}

/// A file of ours, closed, with everything in the database itself.
async fn used_file(folder: &Folder) -> PathBuf {
    let path = folder.path();
    drop(open(path.clone()).await.unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    path
}

#[tokio::test]
async fn an_empty_file_becomes_a_ledger() {
    let folder = Folder::new();
    std::fs::write(folder.path(), b"").unwrap();
    let store = open(folder.path()).await.unwrap();
    assert_eq!(store.find(vec![key(&escalates(), "A")]).await.unwrap(), [None]);
}

#[tokio::test]
async fn a_new_file_is_readable_by_its_owner_alone() {
    let folder = Folder::new();
    open(folder.path()).await.unwrap();
    assert_eq!(std::fs::metadata(folder.path()).unwrap().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_folder_is_refused() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path()).unwrap();
    assert_refused(&folder.path(), open(folder.path()).await, DATABASE_READ_ONLY);
}

#[tokio::test]
async fn a_missing_folder_is_refused_and_not_made() {
    let folder = Folder::new();
    let path = folder.file("missing/onefold.db");
    assert_refused(&path, open(path.clone()).await, DATABASE_READ_ONLY);
    assert!(!folder.file("missing").exists());
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_refused_and_left_as_it_is() {
    let random = SeededRandom::new(seed("ONEFOLD_SEED"));
    // SQLite takes a file of one byte for an empty one.
    for length in [2, 15, 16, 99, 100, 512, 4096, 20_000] {
        let folder = Folder::new();
        let garbage: Vec<u8> = std::iter::repeat_with(|| random.bytes()).flatten().take(length).collect();
        std::fs::write(folder.path(), &garbage).unwrap();
        assert_refused(&folder.path(), open(folder.path()).await, DATABASE_CORRUPT);
        assert_eq!(std::fs::read(folder.path()).unwrap(), garbage, "{length}");
    }
}

#[tokio::test]
async fn damaged_pages_are_refused_or_survived_but_never_believed() {
    let random = SeededRandom::new(seed("ONEFOLD_SEED"));
    let origin = Folder::new();
    let whole = std::fs::read(used_file(&origin).await).unwrap();
    let pages = whole.len() / 4096;
    let mut refused = 0;
    for page in 0..pages {
        let folder = Folder::new();
        let mut damaged = whole.clone();
        // The header's first 100 bytes say what the file is; garbage there is the test above.
        let from = (page * 4096).max(100);
        for byte in &mut damaged[from..(page + 1) * 4096] {
            *byte = random.bytes()[0];
        }
        std::fs::write(folder.path(), &damaged).unwrap();
        match open(folder.path()).await {
            Err(error) => {
                assert_says(&folder.path(), &error, DATABASE_CORRUPT);
                refused += 1;
            }
            Ok(store) => {
                // A page that opening does not read: reading it answers with the code and does not panic.
                if let Err(error) =
                    store.list(onefold_core::port::Filter::default(), onefold_core::port::Page::default()).await
                {
                    assert_eq!(error.code(), DATABASE_CORRUPT, "page {page}: {error}");
                }
            }
        }
    }
    assert!(refused > 0, "of {pages} pages");
}

#[tokio::test]
async fn a_file_from_a_newer_version_is_refused_and_left_as_it_is() {
    let folder = Folder::new();
    let path = used_file(&folder).await;
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "INSERT INTO onefold_migrations VALUES (999, 'from_the_future', 0); PRAGMA wal_checkpoint(TRUNCATE)",
        )
        .unwrap();
    drop(connection);
    let before = std::fs::read(&path).unwrap();
    let error = open(path.clone()).await.unwrap_err();
    assert_says(&path, &error, DATABASE_TOO_NEW);
    assert!(error.to_string().contains("999") && error.to_string().contains("upgrade"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_file_of_the_users_own_is_joined_and_its_tables_stay() {
    let folder = Folder::new();
    let connection = rusqlite::Connection::open(folder.path()).unwrap();
    connection.execute_batch("CREATE TABLE orders (id TEXT); INSERT INTO orders VALUES ('O-1')").unwrap();
    drop(connection);
    drop(open(folder.path()).await.unwrap());
    let connection = rusqlite::Connection::open(folder.path()).unwrap();
    let id: String = connection.query_row("SELECT id FROM orders", [], |row| row.get(0)).unwrap();
    assert_eq!(id, "O-1");
}

#[tokio::test]
async fn the_file_is_in_wal_mode() {
    let fixture = SqliteFixture::new().await;
    let connection = rusqlite::Connection::open(fixture.store().path()).unwrap();
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

/// What is in a folder: each name with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file());
    files.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

/// Opens a file in a process that file modes hold back, and answers what it said.
fn opened_without_rights(folder: &Path, path: &Path) -> String {
    // Modes do not hold root back; another user may not even reach this program, so it gets a copy.
    let program = folder.join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut child = Command::new(&program);
    child.args(["--exact", "files::a_child_opens_what_its_parent_names", "--nocapture"]).env(CHILD_OPENS, path);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        child.uid(65534).gid(65534);
    }
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said.lines()
        .find_map(|line| line.split_once("opened: ").map(|(_, said)| said.to_owned()))
        .unwrap_or_else(|| panic!("{said}"))
}

#[tokio::test]
async fn a_child_opens_what_its_parent_names() {
    let Ok(path) = std::env::var(CHILD_OPENS) else {
        return;
    };
    match open(PathBuf::from(path)).await {
        Ok(_) => println!("\nopened: yes"),
        Err(error) => println!("\nopened: {error}"),
    }
}

#[tokio::test]
async fn a_file_or_folder_that_cannot_be_written_is_refused_and_left_as_it_is() {
    // (mode of the file, mode of the folder); none means that there is no file.
    for (file_mode, folder_mode) in
        [(Some(0o444), 0o755), (Some(0o444), 0o555), (Some(0o666), 0o555), (None, 0o555), (Some(0o000), 0o755)]
    {
        let outer = Folder::new();
        let inner = outer.file("inner");
        let programs = outer.file("programs");
        for made in [&inner, &programs] {
            std::fs::create_dir(made).unwrap();
        }
        let path = inner.join("onefold.db");
        if let Some(mode) = file_mode {
            drop(open(path.clone()).await.unwrap());
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::fs::set_permissions(outer.file("."), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::set_permissions(&inner, std::fs::Permissions::from_mode(folder_mode)).unwrap();
        let before = contents(&inner);
        let said = opened_without_rights(&programs, &path);
        assert!(said.starts_with("DATABASE_READ_ONLY: "), "{file_mode:?} {folder_mode:o}: {said}");
        assert!(said.contains(&path.display().to_string()) && said.contains("write permission"), "{said}");
        assert_eq!(contents(&inner), before);
    }
}
