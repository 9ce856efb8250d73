//! Relays under `kill -9` and SIGSTOP: nothing that was committed is lost, what appears first is in order, and at most a
//! page comes twice for each death.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use onefold::store::FaultPoint;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::event_receiver::{ArrivedEvent, EventReceiver};
use crate::fixture::Dice;
use crate::server::{Server, wait_for};

/// Events of one page at most.
const PAGE_MAX: usize = 10;
const AGGREGATES: usize = 5;

/// A file with an outbox, a relay to a receiver, and what was staged.
struct Outbox {
    _folder: TempDir,
    db: PathBuf,
    receiver: EventReceiver,
    staged: usize,
}

impl Outbox {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let receiver = EventReceiver::start();
        let at = receiver.at;
        let config = format!(
            "[[relay]]\nname = \"cases\"\nevents = [\"case.*\"]\nbegin = \"oldest\"\npage_max = {PAGE_MAX}\n\
             lease_for = \"2s\"\ndelivery_within = \"1s\"\n\
             to = {{ webhook = \"http://{at}/events\", secret_file = \"hook.secret\" }}\n"
        );
        std::fs::write(folder.path().join("onefold.toml"), config).unwrap();
        std::fs::write(folder.path().join("hook.secret"), "a secret that both of us know").unwrap();
        let db = folder.path().join("onefold.db");
        Self { _folder: folder, db, receiver, staged: 0 }
    }

    /// Commits events by SQL alone, as any other program would.
    fn stage(&mut self, count: usize) {
        stage(&self.db, self.staged, count);
        self.staged += count;
    }

    fn serve(&self, fault: Option<&str>) -> Server {
        Server::start(&self.db, fault, &[])
    }

    /// Waits until everything that was staged has arrived, and checks the order; how many came more than once.
    fn arrived(&self) -> usize {
        wait_for("every event", || {
            let seen: BTreeSet<String> = self.receiver.taken().into_iter().map(|event| event.id).collect();
            (seen.len() >= self.staged).then_some(())
        });
        let taken = self.receiver.taken();
        assert_in_order(&taken);
        taken.len() - self.staged
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

/// What appears first of each aggregate is in the order in which it was staged.
fn assert_in_order(taken: &[ArrivedEvent]) {
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for event in taken.iter().filter(|event| seen.insert(event.id.clone())) {
        let before = last.insert(&event.aggregate, event.sequence);
        assert!(before.is_none_or(|before| before < event.sequence), "{event:?} came after {before:?}");
    }
}

#[test]
fn a_relay_killed_at_each_point_loses_nothing_and_repeats_at_most_a_page() {
    let mut dice = Dice::seeded("relay kill points");
    for point in FaultPoint::OUTBOX {
        let mut outbox = Outbox::new();
        outbox.serve(None).kill();
        outbox.stage(40);
        if [FaultPoint::BEFORE_ASIDE_COMMIT, FaultPoint::AFTER_ASIDE_COMMIT].contains(point) {
            // One event is set aside, and its aggregate waits behind it.
            outbox.receiver.refuse_once(7);
        }
        let reached = match *point {
            FaultPoint::MID_PAGE => 1 + dice.below(30),
            FaultPoint::AFTER_LAST_ACKNOWLEDGEMENT => 1 + dice.below(3),
            _ => 1,
        };
        let fault = format!("{}:{reached}", point.as_str());
        assert!(outbox.serve(Some(&fault)).died_by_kill(), "{fault}");
        outbox.stage(5);
        let _server = outbox.serve(None);
        let repeated = outbox.arrived();
        println!("killed at {fault}: {repeated} came again");
        assert!(repeated <= PAGE_MAX, "{fault}: {repeated} came again");
    }
}

#[test]
fn a_relay_killed_at_random_while_events_are_staged_loses_nothing() {
    let mut dice = Dice::seeded("relay random kills");
    let mut outbox = Outbox::new();
    outbox.serve(None).kill();
    let kills = 6;
    for _ in 0..kills {
        let server = outbox.serve(None);
        outbox.stage(20);
        let enough = outbox.receiver.taken().len() + usize::try_from(1 + dice.below(15)).unwrap();
        wait_for("some events", || (outbox.receiver.taken().len() >= enough.min(outbox.staged)).then_some(()));
        server.kill();
    }
    let _server = outbox.serve(None);
    let repeated = outbox.arrived();
    assert!(repeated <= kills * PAGE_MAX, "{repeated} came again");
}

#[test]
fn a_relay_paused_beyond_its_lease_loses_its_place_and_another_goes_on() {
    let mut outbox = Outbox::new();
    outbox.serve(None).kill();
    let first = RelayProcess::start(&outbox);
    outbox.stage(10);
    assert_eq!(outbox.arrived(), 0);
    first.signal(Signal::STOP);
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
