//! A disk that is full: a small one, mounted for the test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use onefold_conformance::fixture::{granted, record_of};
use onefold_conformance::kinds::escalates;
use onefold_conformance::ledger::outcomes::completed;
use onefold_core::effect::KindSpec;
use onefold_core::error::DATABASE_FULL;
use onefold_core::ledger::{Lease, Outcome, Status};
use onefold_core::{Error, Result};
use onefold_postgres::Postgres;
use onefold_testing::SeededRandom;
use tempfile::TempDir;

use crate::asking::{accepted, as_recorded, claim, claim_of, find, grant, statuses, step};
use crate::fixture::options;
use crate::server::{Server, give};

/// A disk of its own in memory; unmounted when the test ends.
struct Disk {
    folder: TempDir,
}

impl Disk {
    fn mount(megabytes: u32) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let size = format!("size={megabytes}m,mode=0755");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        let mounted = mounted.expect("`mount` runs");
        let said = String::from_utf8_lossy(&mounted.stderr);
        assert!(mounted.status.success(), "this test mounts a small disk, for which it must be root: {said}");
        give(folder.path());
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A file that takes what is free, but for this much.
    fn fill(&self, but_bytes: u64) -> PathBuf {
        let path = self.path().join("filler");
        let asked = Command::new("df").args(["--output=avail", "-B1"]).arg(self.path()).output().expect("`df` runs");
        let said = String::from_utf8_lossy(&asked.stdout);
        let free: u64 = said.lines().nth(1).and_then(|line| line.trim().parse().ok()).expect("a number of bytes");
        let size = usize::try_from(free.saturating_sub(but_bytes)).expect("a small disk");
        std::fs::write(&path, vec![0; size]).expect("there is room for it");
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking(), "the disk is unmounted");
    }
}

/// A result that cannot be made smaller.
fn large(random: &SeededRandom) -> Outcome {
    let bytes: Vec<u8> = (0..2_500).flat_map(|_| random.draw().to_be_bytes()).collect();
    completed(&bytes)
}

async fn record(store: &Postgres, terms: &Arc<KindSpec>, lease: &Lease, outcome: Outcome) -> Result<bool> {
    step(store, record_of(terms, lease, outcome)).await.map(|answer| accepted(&as_recorded(answer)))
}

/// Claims and records until there is no room: what was acknowledged, what could not be recorded, and what was said.
async fn use_up(store: &Postgres, terms: &Arc<KindSpec>, random: &SeededRandom) -> (Vec<String>, Option<Lease>, Error) {
    let mut acknowledged = Vec::new();
    for number in 0..5_000 {
        let id = format!("OP-{number}");
        let lease = match claim(store, claim_of(store, terms, &id)).await {
            Ok(claim) => granted(claim),
            Err(error) => return (acknowledged, None, error),
        };
        match record(store, terms, &lease, large(random)).await {
            Ok(accepted) => assert!(accepted, "{id}"),
            Err(error) => return (acknowledged, Some(lease), error),
        }
        acknowledged.push(id);
    }
    panic!("the disk never became full");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_the_commit_and_keeps_what_was_acknowledged() {
    let disk = Disk::mount(120);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder, disk.path().join("data"), &["autovacuum=off"]).await;
    let store = Postgres::open(&server.url(), options()).await.unwrap();
    let (terms, random) = (escalates(), SeededRandom::new(1));
    let before = grant(&store, &terms, "BEFORE").await;
    let filler = disk.fill(2_000_000);
    let (acknowledged, unrecorded, error) = use_up(&store, &terms, &random).await;
    assert_eq!(error.code(), DATABASE_FULL, "{error}");
    assert!(error.next_step().contains("free some space"), "{error}");
    assert!(acknowledged.len() > 10, "{acknowledged:?}");
    // It still reads, and still refuses.
    let lease = unrecorded.unwrap_or(before);
    assert_eq!(find(&store, &terms, lease.key.id.as_str()).await.unwrap().status, Status::Started);
    assert_eq!(record(&store, &terms, &lease, large(&random)).await.unwrap_err().code(), DATABASE_FULL);
    // With room again, everything acknowledged is there and what was waiting is recorded.
    std::fs::remove_file(filler).unwrap();
    assert!(record(&store, &terms, &lease, large(&random)).await.unwrap());
    grant(&store, &terms, "AFTER").await;
    let elsewhere = Postgres::open(&server.url(), options()).await.unwrap();
    for (id, status) in acknowledged.iter().zip(statuses(&elsewhere, &terms, &acknowledged).await) {
        assert_eq!(status, Some(Status::Completed), "{id} was acknowledged");
    }
}
