//! Relays under `kill -9` and SIGSTOP on the embedded store, one process and two.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use onefold::store::FaultPoint;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::event_receiver::EventReceiver;
use crate::fixture::Dice;
use crate::relay_run::{AGGREGATES, PAGE_MAX, RelayRun, arrived, declare, reached};
use crate::server::{Server, wait_for};

/// A file with an outbox, a relay to a receiver, and what was staged.
struct Outbox {
    _folder: TempDir,
    db: PathBuf,
    receiver: EventReceiver,
    staged: Cell<usize>,
}

impl Outbox {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let receiver = EventReceiver::start();
        declare(folder.path(), &receiver);
        let db = folder.path().join("onefold.db");
        Self { _folder: folder, db, receiver, staged: Cell::new(0) }
    }

    /// Commits events by SQL alone, as any other program would.
    fn stage(&self, count: usize) {
        stage(&self.db, self.staged.get(), count);
        self.staged.set(self.staged.get() + count);
    }

    fn serve(&self, fault: Option<&str>) -> Server {
        Server::start(&self.db, fault, &[])
    }

    /// Waits until everything that was staged has arrived, and checks the order; how many came more than once.
    fn arrived(&self) -> usize {
        arrived(&self.receiver, self.staged.get())
    }

    fn run(&self, check: impl FnOnce(&RelayRun<'_>)) {
        check(&RelayRun {
            receiver: self.receiver.clone(),
            serve: &|fault| self.serve(fault),
            stage: &|count| self.stage(count),
            lanes: 1,
        });
    }
}

pub(crate) fn stage(db: &Path, from: usize, count: usize) {
    let connection = rusqlite::Connection::open(db).unwrap();
    connection.busy_timeout(crate::fixture::PATIENCE).unwrap();
    for number in from..from + count {
        let id = uuid::Uuid::new_v4();
        let aggregate = format!("CASE-{}", number % AGGREGATES);
        connection
            .execute(
                "INSERT INTO onefold_events (id, tenant, aggregate_type, aggregate_id, event_type, schema_version, \
                 created_at, payload, content_type, headers) \
                 VALUES (?1, 'default', 'case', ?2, 'case.submitted', 1, ?3, ?4, 'application/json', '{}')",
                (id.as_bytes().as_slice(), aggregate, 1_794_700_800_000_000_i64, b"{}".as_slice()),
            )
            .unwrap();
    }
}

#[test]
fn a_relay_killed_at_each_point_loses_nothing_and_repeats_at_most_a_page() {
    let mut dice = Dice::seeded("relay kill points");
    for point in FaultPoint::OUTBOX {
        let reached = reached(*point, 3, &mut dice);
        Outbox::new().run(|run| run.killed_at(*point, reached));
    }
}

#[test]
fn a_relay_killed_at_random_while_events_are_staged_loses_nothing() {
    let mut dice = Dice::seeded("relay random kills");
    Outbox::new().run(|run| run.killed_at_random(&mut dice));
}

#[test]
fn two_relay_processes_on_one_file_killed_in_turn_lose_nothing() {
    let mut dice = Dice::seeded("two relay processes");
    let outbox = Outbox::new();
    outbox.serve(None).kill();
    let mut processes = [RelayProcess::start(&outbox), RelayProcess::start(&outbox)];
    let kills = 6;
    for kill in 0..kills {
        outbox.stage(20);
        let enough = outbox.receiver.taken().len() + usize::try_from(1 + dice.below(15)).unwrap();
        wait_for("some events", || (outbox.receiver.taken().len() >= enough.min(outbox.staged.get())).then_some(()));
        // The one that holds the lane, or the one that waits for it.
        processes[kill % 2] = RelayProcess::start(&outbox);
    }
    let repeated = outbox.arrived();
    assert!(repeated <= kills * PAGE_MAX, "{repeated} came again");
}

#[test]
fn a_relay_paused_beyond_its_lease_loses_its_place_and_another_goes_on() {
    let outbox = Outbox::new();
    outbox.serve(None).kill();
    let first = RelayProcess::start(&outbox);
    outbox.stage(10);
    assert_eq!(outbox.arrived(), 0);
    first.pause(&outbox.db);
    outbox.stage(10);
    let second = RelayProcess::start(&outbox);
    let repeated = outbox.arrived();
    assert!(repeated <= PAGE_MAX, "{repeated} came again");
    // It comes back with a lease that is over, and settles nothing of what the other one does.
    first.signal(Signal::CONT);
    outbox.stage(30);
    let repeated = outbox.arrived();
    assert!(repeated <= 2 * PAGE_MAX, "{repeated} came again");
    drop(second);
}

/// A relay of the library, in a process of its own.
struct RelayProcess(Child);

impl RelayProcess {
    fn start(outbox: &Outbox) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_relay"));
        let secret = outbox.db.with_file_name("hook.secret");
        command.arg(&outbox.db).arg(format!("http://{}/events", outbox.receiver.at)).arg(secret);
        Self(command.stdout(Stdio::null()).spawn().unwrap())
    }

    /// Stops it outside of a transaction: one that is stopped inside keeps every writer of the file waiting.
    fn pause(&self, db: &Path) {
        let connection = rusqlite::Connection::open(db).unwrap();
        connection.busy_timeout(Duration::ZERO).unwrap();
        wait_for("a moment between two transactions", || {
            self.signal(Signal::STOP);
            let free = connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok();
            if !free {
                self.signal(Signal::CONT);
            }
            free.then_some(())
        });
    }

    fn signal(&self, signal: Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for RelayProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
