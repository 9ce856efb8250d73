//! A ledger that went back, lost its log, is gone or is another one is refused until a person accepts it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use onefold_core::error::{DATABASE_ALIASED, FINGERPRINT_KEY_MISSING, LEDGER_WENT_BACK};
use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};
use onefold_core::port::{LedgerRead as _, Store as _};
use onefold_files::PositionFile;
use onefold_runtime::{Kind, Ledger, Settings, Shutdown};
use onefold_sqlite::Sqlite;

use crate::fixture::{Folder, open, options};

/// Names the file that a child process works on.
const CHILD_WORKS: &str = "ONEFOLD_TEST_CHILD_WORKS";
/// How often a child remembers how far it has come.
const REMEMBER_EVERY: Duration = Duration::from_millis(20);

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

async fn ledger(path: &Path) -> Ledger<Sqlite> {
    let settings = Settings { remember_every: REMEMBER_EVERY, ..Settings::default() };
    Ledger::open(open(path.to_owned()).await.unwrap(), settings).unwrap()
}

/// Waits until no connection of this process is open on the file: the last one that closes folds the log in.
async fn closed(path: &Path) {
    let files = || std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    while files().any(|file| std::fs::read_link(file.path()).is_ok_and(|open| open == path)) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn perform(ledger: &Ledger<Sqlite>, number: usize) {
    let kind = ledger.kind(Kind::converging("work.do")).unwrap();
    let id = OperationId::parse(&format!("W-{number}")).unwrap();
    kind.operation(id).perform(&number, move |_| async move { Ok(number) }).await.unwrap();
}

async fn missing(store: &Sqlite, acknowledged: usize) -> Vec<usize> {
    let key = |number: usize| {
        let id = OperationId::parse(&format!("W-{number}")).unwrap();
        OperationKey::new(Tenant::default(), KindName::parse("work.do").unwrap(), id)
    };
    let found = store.find((0..acknowledged).map(key).collect()).await.unwrap();
    found.iter().enumerate().filter(|(_, entry)| entry.is_none()).map(|(number, _)| number).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_works_on_what_its_parent_names() {
    let Ok(path) = std::env::var(CHILD_WORKS) else {
        return;
    };
    let ledger = ledger(Path::new(&path)).await;
    for number in 0.. {
        perform(&ledger, number).await;
        println!("\nacknowledged {number}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A process that performs one operation after the other until it is killed.
struct Worker {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    position: PositionFile,
}

impl Worker {
    fn start(path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "position::a_child_works_on_what_its_parent_names", "--nocapture"])
            .env(CHILD_WORKS, path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, said, position: PositionFile::beside(path) }
    }

    /// Waits for this many further acknowledgements; answers how many there are.
    fn acknowledges(&mut self, further: usize) -> usize {
        let numbers = self.said.by_ref().filter_map(|line| line.unwrap().strip_prefix("acknowledged ")?.parse().ok());
        numbers.take(further).last().map(|last: usize| last + 1).unwrap()
    }

    fn mark(&self) -> u64 {
        self.position.read().unwrap().unwrap().mark
    }

    /// Works until at least this many operations are acknowledged and remembered, then is killed.
    fn killed_after(mut self, operations: usize) -> usize {
        let acknowledged = self.acknowledges(operations);
        // A mark that is raised from here on covers them all; the next one but one surely was.
        let covered = self.mark() + 2;
        while self.mark() < covered {
            assert!(self.acknowledges(1) < 20_000, "what is acknowledged is never marked");
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        acknowledged
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a killed process left; a log that was never folded in.
fn crashed() -> (Folder, usize) {
    let folder = Folder::new();
    let acknowledged = Worker::start(&folder.path()).killed_after(60);
    assert!(std::fs::metadata(beside(&folder.path(), "-wal")).unwrap().len() > 100_000, "the log holds it all");
    (folder, acknowledged)
}

fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files = files.map(|path| (path.clone(), std::fs::read(&path).unwrap()));
    // Opening a database makes an empty log, and the log's index anew.
    files.filter(|(path, bytes)| !bytes.is_empty() && !path.to_string_lossy().ends_with("-shm")).collect()
}

/// It is refused, more than once, and nothing is changed by that.
async fn assert_refused(path: &Path, what: &str) {
    let before = contents(path.parent().unwrap());
    for _ in 0..2 {
        let refused = open(path.to_owned()).await.map(drop).expect_err(what);
        assert_eq!(refused.code(), LEDGER_WENT_BACK, "{what}: {refused}");
        assert!(refused.to_string().contains(&path.display().to_string()), "{what}: {refused}");
        assert!(refused.next_step().contains("accept-restored"), "{what}: {refused}");
    }
    assert_eq!(contents(path.parent().unwrap()), before, "{what}");
}

#[tokio::test]
async fn a_killed_process_with_all_its_files_is_not_a_setback() {
    let (folder, acknowledged) = crashed();
    let store = open(folder.path()).await.unwrap();
    assert_eq!(missing(&store, acknowledged).await, [0; 0]);
}

#[tokio::test]
async fn a_log_that_is_gone_cut_or_damaged_is_noticed() {
    let (folder, _) = crashed();
    let wal = beside(&folder.path(), "-wal");
    let whole = std::fs::read(&wal).unwrap();
    std::fs::remove_file(beside(&folder.path(), "-shm")).unwrap();
    std::fs::remove_file(&wal).unwrap();
    assert_refused(&folder.path(), "the log is gone").await;
    for (cut, what) in [(0, "empty"), (32, "its header alone"), (whole.len() / 2, "cut in the middle")] {
        std::fs::write(&wal, &whole[..cut]).unwrap();
        assert_refused(&folder.path(), what).await;
    }
    for at in [8, 32 + 8, whole.len() / 3, whole.len() / 2] {
        let mut damaged = whole.clone();
        damaged[at..at + 4].iter_mut().for_each(|byte| *byte ^= 0x5a);
        std::fs::write(&wal, &damaged).unwrap();
        assert_refused(&folder.path(), &format!("damaged at {at}")).await;
    }
    // Nothing of all that was lost by looking.
    std::fs::write(&wal, &whole).unwrap();
    open(folder.path()).await.unwrap();
}

#[tokio::test]
async fn a_database_that_is_gone_or_another_one_is_noticed() {
    let (folder, _) = crashed();
    let other = Folder::new();
    let ledger = ledger(&other.path()).await;
    perform(&ledger, 0).await;
    ledger.shutdown(Shutdown::Now).await;
    drop(ledger);
    for ending in ["", "-wal", "-shm"] {
        std::fs::remove_file(beside(&folder.path(), ending)).unwrap();
    }
    assert_refused(&folder.path(), "the file is gone").await;
    std::fs::write(folder.path(), b"").unwrap();
    assert_refused(&folder.path(), "the file is empty").await;
    std::fs::copy(other.path(), folder.path()).unwrap();
    assert_refused(&folder.path(), "another ledger").await;
    std::fs::write(beside(&folder.path(), ".position"), b"{").unwrap();
    assert_refused(&folder.path(), "what was remembered cannot be read").await;
}

#[tokio::test]
async fn a_ledger_that_a_person_accepts_is_opened_and_says_who_and_why() {
    let (folder, _) = crashed();
    std::fs::remove_file(beside(&folder.path(), "-wal")).unwrap();
    assert_refused(&folder.path(), "the log is gone").await;
    let wrong = Sqlite::accept(folder.path(), options(), "ann", "the disk died").await.unwrap().unwrap();
    assert_eq!(wrong.code(), LEDGER_WENT_BACK);
    drop(open(folder.path()).await.unwrap());
    assert!(Sqlite::accept(folder.path(), options(), "ann", "again").await.unwrap().is_none(), "nothing to accept");
    let connection = rusqlite::Connection::open(folder.path()).unwrap();
    let said: (String, String) = connection
        .query_row("SELECT who, why FROM onefold_generations ORDER BY number DESC", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(said, ("ann".to_owned(), "the disk died".to_owned()));
}

#[tokio::test]
async fn after_a_clean_stop_the_file_alone_is_the_whole_ledger() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    let ledger = ledger(&folder.path()).await;
    for number in 0..20 {
        perform(&ledger, number).await;
    }
    ledger.shutdown(Shutdown::Now).await;
    std::fs::copy(folder.path(), elsewhere.path()).unwrap();
    assert_eq!(std::fs::metadata(beside(&folder.path(), "-wal")).unwrap().len(), 0);
    let store = open(elsewhere.path()).await.unwrap();
    assert_eq!(missing(&store, 20).await, [0; 0]);
}

#[tokio::test]
async fn what_was_marked_before_the_stop_is_remembered_to_the_last_operation() {
    let (folder, before) = (Folder::new(), Folder::new());
    let ledger = ledger(&folder.path()).await;
    perform(&ledger, 0).await;
    ledger.store().finish().await.unwrap();
    std::fs::copy(folder.path(), before.path()).unwrap();
    perform(&ledger, 1).await;
    ledger.shutdown(Shutdown::Now).await;
    drop(ledger);
    closed(&folder.path()).await;
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(beside(&folder.path(), ending));
    }
    std::fs::copy(before.path(), folder.path()).unwrap();
    assert_refused(&folder.path(), "the state before the last operation").await;
}

#[tokio::test]
async fn a_file_that_is_replaced_under_a_living_process_grants_nothing_more() {
    let (folder, aside) = (Folder::new(), Folder::new());
    let store = open(folder.path()).await.unwrap();
    std::fs::rename(folder.path(), aside.path()).unwrap();
    assert_eq!(store.remember().await.unwrap_err().code(), LEDGER_WENT_BACK);
    let ledger = Ledger::open(store, Settings::default()).unwrap();
    let kind = ledger.kind(Kind::converging("work.do")).unwrap();
    let id = OperationId::parse("W-1").unwrap();
    let refused = kind.operation(id).perform(&1, |_| async { Ok(1) }).await.unwrap_err();
    assert_eq!(refused.code(), LEDGER_WENT_BACK, "{refused}");
}

/// An older state that is written into the open file itself: name and inode stay.
#[tokio::test]
async fn a_ledger_that_goes_back_within_its_file_under_a_living_process_grants_nothing_more() {
    let folder = Folder::new();
    let ledger = ledger(&folder.path()).await;
    perform(&ledger, 0).await;
    ledger.store().remember().await.unwrap();
    let connection = rusqlite::Connection::open(folder.path()).unwrap();
    connection.execute_batch("UPDATE onefold_position SET mark = mark - 1").unwrap();
    assert_eq!(ledger.store().remember().await.unwrap_err().code(), LEDGER_WENT_BACK);
    let kind = ledger.kind(Kind::converging("work.do")).unwrap();
    let id = OperationId::parse("W-9").unwrap();
    let refused = kind.operation(id).perform(&1, |_| async { Ok(1) }).await.unwrap_err();
    assert_eq!(refused.code(), LEDGER_WENT_BACK, "{refused}");
}

#[tokio::test]
async fn a_hard_link_to_the_file_is_noticed_and_every_other_name_is_the_same_file() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    let held = store.lock_installation("server").unwrap();
    let (link, symbolic) = (folder.file("hard.db"), folder.file("symbolic.db"));
    std::os::unix::fs::symlink(folder.path(), &symbolic).unwrap();
    std::fs::create_dir(folder.file("x")).unwrap();
    for other in [symbolic, folder.file("x/../onefold.db")] {
        let second = open(other.clone()).await.unwrap();
        assert!(second.lock_installation("server").is_err(), "{}", other.display());
    }
    std::fs::hard_link(folder.path(), &link).unwrap();
    for name in [&link, &folder.path()] {
        let refused = open(name.clone()).await.map(drop).unwrap_err();
        assert_eq!(refused.code(), DATABASE_ALIASED, "{refused}");
    }
    std::fs::remove_file(link).unwrap();
    drop(held);
    open(folder.path()).await.unwrap().lock_installation("server").unwrap();
}

#[tokio::test]
async fn a_fingerprint_key_that_is_gone_is_refused_at_the_start() {
    let folder = Folder::new();
    let ledger = ledger(&folder.path()).await;
    perform(&ledger, 0).await;
    ledger.shutdown(Shutdown::Now).await;
    let connection = rusqlite::Connection::open(folder.path()).unwrap();
    for lost in ["DELETE FROM onefold_keys", "INSERT INTO onefold_keys VALUES (2, zeroblob(32), 0)"] {
        connection.execute_batch(lost).unwrap();
        let refused = open(folder.path()).await.map(drop).unwrap_err();
        assert_eq!(refused.code(), FINGERPRINT_KEY_MISSING, "{lost}: {refused}");
    }
}
