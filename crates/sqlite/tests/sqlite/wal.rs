//! What was acknowledged survives whatever a crash leaves behind the last commit.

use std::path::{Path, PathBuf};

use onefold_conformance::fixture::key;
use onefold_conformance::kinds::{escalates, reruns};
use onefold_conformance::ledger::outcomes::completed;
use onefold_core::ledger::Status;
use onefold_core::port::LedgerRead as _;
use onefold_testing::{SeededRandom, seed};

use crate::fixture::{Folder, SqliteFixture, open};

/// Operations that were acknowledged before the crash.
const ACKNOWLEDGED: usize = 12;
/// Bytes before a WAL's first frame, and before each frame's page.
const WAL_HEADER: usize = 32;
const FRAME: usize = 24 + 4096;

pub(crate) fn wal_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// Database and log as a `kill -9` leaves them, at the last acknowledged commit and some commits later.
struct Crash {
    database: Vec<u8>,
    acknowledged: Vec<u8>,
    later: Vec<u8>,
}

async fn crash() -> Crash {
    let fixture = SqliteFixture::new().await;
    let path = fixture.store().path().to_owned();
    let terms = escalates();
    for index in 0..ACKNOWLEDGED {
        let lease = fixture.grant(&terms, &format!("OP-{index}")).await;
        if index % 2 == 0 {
            fixture.record(&terms, &lease, completed(b"{\"n\":1}")).await;
        }
    }
    let read = |path: &Path| std::fs::read(path).unwrap();
    let (database, acknowledged) = (read(&path), read(&wal_of(&path)));
    for index in 0..4 {
        let lease = fixture.grant(&reruns(), &format!("LATER-{index}")).await;
        fixture.record(&reruns(), &lease, completed(&[9; 5000])).await;
    }
    let later = read(&wal_of(&path));
    assert_eq!(read(&path), database, "nothing was moved into the database meanwhile");
    assert!(later.starts_with(&acknowledged) && (acknowledged.len() - WAL_HEADER).is_multiple_of(FRAME));
    Crash { database, acknowledged, later }
}

/// Opens what a crash left; everything acknowledged must be there, and work goes on.
async fn assert_survived(crash: &Crash, wal: &[u8], what: &str) {
    let folder = Folder::new();
    std::fs::write(folder.path(), &crash.database).unwrap();
    std::fs::write(wal_of(&folder.path()), wal).unwrap();
    let store = open(folder.path()).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    let keys = (0..ACKNOWLEDGED).map(|index| key(&escalates(), &format!("OP-{index}"))).collect();
    for (index, found) in store.find(keys).await.unwrap().into_iter().enumerate() {
        let expected = if index % 2 == 0 { Status::Completed } else { Status::Started };
        assert_eq!(found.map(|entry| entry.status), Some(expected), "{what}: OP-{index}");
    }
    drop(store);
    let connection = rusqlite::Connection::open(folder.path()).unwrap();
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok", "{what}");
}

#[tokio::test]
async fn the_log_as_it_stood_is_enough() {
    let crash = crash().await;
    assert_survived(&crash, &crash.acknowledged, "at the last commit").await;
    assert_survived(&crash, &crash.later, "some commits later").await;
}

#[tokio::test]
async fn garbage_behind_the_last_commit_is_ignored() {
    let crash = crash().await;
    let random = SeededRandom::new(seed("ONEFOLD_SEED"));
    for length in [1, 23, 24, 25, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME] {
        let garbage = std::iter::repeat_with(|| random.draw().to_be_bytes()).flatten().take(length);
        let wal: Vec<u8> = crash.acknowledged.iter().copied().chain(garbage).collect();
        assert_survived(&crash, &wal, &format!("{length} bytes of garbage")).await;
    }
    let zeros = [&crash.acknowledged[..], &vec![0; 2 * FRAME]].concat();
    assert_survived(&crash, &zeros, "zeros").await;
    // A frame that was valid once, somewhere else in the log.
    let stale = &crash.acknowledged[WAL_HEADER..WAL_HEADER + 2 * FRAME];
    assert_survived(&crash, &[&crash.acknowledged[..], stale].concat(), "stale frames").await;
}

#[tokio::test]
async fn a_torn_tail_is_ignored_wherever_it_was_torn() {
    let crash = crash().await;
    let random = SeededRandom::new(seed("ONEFOLD_SEED"));
    let (from, to) = (crash.acknowledged.len(), crash.later.len());
    let mut cuts = vec![from + 1, from + 23, from + 24, from + FRAME - 1, from + FRAME, from + FRAME + 1, to - 1];
    cuts.extend((0..24).map(|_| from + usize::try_from(random.draw() % 1_000_000).unwrap() % (to - from)));
    for cut in cuts {
        assert_survived(&crash, &crash.later[..cut], &format!("cut at {cut} of {from}..{to}")).await;
    }
}

#[tokio::test]
async fn flipped_bits_behind_the_last_commit_are_noticed() {
    let crash = crash().await;
    let random = SeededRandom::new(seed("ONEFOLD_SEED"));
    let (from, to) = (crash.acknowledged.len(), crash.later.len());
    for _ in 0..32 {
        let at = from + usize::try_from(random.draw() % 1_000_000).unwrap() % (to - from);
        let bit = 1 << (random.draw() % 8);
        let mut wal = crash.later.clone();
        wal[at] ^= bit;
        assert_survived(&crash, &wal, &format!("bit {bit} at {at} of {from}..{to}")).await;
    }
}
