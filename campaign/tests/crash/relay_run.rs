//! A relay that is killed, on whichever store: nothing is lost, what appears first is in order, and at most a page of
//! each lane comes twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use onefold::store::FaultPoint;

use crate::event_receiver::{ArrivedEvent, EventReceiver};
use crate::fixture::Dice;
use crate::server::{Server, wait_for};

/// Events of one page at most.
pub(crate) const PAGE_MAX: usize = 10;
/// Aggregates of all events.
pub(crate) const AGGREGATES: usize = 5;

/// What a relay runs on.
pub(crate) struct RelayRun<'a> {
    pub(crate) receiver: EventReceiver,
    /// Starts a server that is killed at this point, or at none.
    pub(crate) serve: &'a dyn Fn(Option<&str>) -> Server,
    /// Commits so many events.
    pub(crate) stage: &'a dyn Fn(usize),
    /// Lanes that the events are in, at most.
    pub(crate) lanes: usize,
}

/// Declares the relay `cases` to a receiver, for servers that are started in this folder.
pub(crate) fn declare(folder: &Path, receiver: &EventReceiver) {
    let at = receiver.at;
    let config = format!(
        "[[relay]]\nname = \"cases\"\nevents = [\"case.*\"]\nbegin = \"oldest\"\npage_max = {PAGE_MAX}\n\
         lease_for = \"2s\"\ndelivery_within = \"1s\"\n\
         to = {{ webhook = \"http://{at}/events\", secret_file = \"hook.secret\" }}\n"
    );
    std::fs::write(folder.join("onefold.toml"), config).unwrap();
    std::fs::write(folder.join("hook.secret"), "a secret that both of us know").unwrap();
}

/// How often a point is reached before the process dies there: anywhere in a page, or at the end of one of so many.
pub(crate) fn reached(point: FaultPoint, pages: u64, dice: &mut Dice) -> u64 {
    match point {
        FaultPoint::MID_PAGE => 1 + dice.below(30),
        FaultPoint::AFTER_LAST_ACKNOWLEDGEMENT => 1 + dice.below(pages),
        _ => 1,
    }
}

impl RelayRun<'_> {
    /// Kills a process when it has reached this point so often, and lets another go on.
    pub(crate) fn killed_at(&self, point: FaultPoint, reached: u64) {
        (self.serve)(None).kill();
        if [FaultPoint::BEFORE_ASIDE_COMMIT, FaultPoint::AFTER_ASIDE_COMMIT].contains(&point) {
            // One event is set aside, and its aggregate waits behind it.
            self.receiver.refuse_once(7);
        }
        let fault = format!("{}:{reached}", point.as_str());
        // It has said where it listens before there is anything that it could die of.
        let dying = (self.serve)(Some(&fault));
        (self.stage)(40);
        assert!(dying.died_by_kill(), "{fault}");
        (self.stage)(5);
        let _server = (self.serve)(None);
        let repeated = arrived(&self.receiver, 45);
        println!("killed at {fault}: {repeated} came again");
        assert!(repeated <= self.lanes * PAGE_MAX, "{fault}: {repeated} came again");
    }

    /// Kills processes wherever they are while events are staged.
    pub(crate) fn killed_at_random(&self, dice: &mut Dice) {
        (self.serve)(None).kill();
        let (kills, mut staged) = (6, 0);
        for _ in 0..kills {
            let server = (self.serve)(None);
            (self.stage)(20);
            staged += 20;
            let enough = self.receiver.taken().len() + usize::try_from(1 + dice.below(15)).unwrap();
            wait_for("some events", || (self.receiver.taken().len() >= enough.min(staged)).then_some(()));
            server.kill();
        }
        let _server = (self.serve)(None);
        let repeated = arrived(&self.receiver, staged);
        assert!(repeated <= kills * self.lanes * PAGE_MAX, "{repeated} came again");
    }
}

/// Waits until so many different events have arrived, and checks the order; how many came more than once.
pub(crate) fn arrived(receiver: &EventReceiver, staged: usize) -> usize {
    wait_for("every event", || {
        let seen: BTreeSet<String> = receiver.taken().into_iter().map(|event| event.id).collect();
        (seen.len() >= staged).then_some(())
    });
    let taken = receiver.taken();
    assert_in_order(&taken);
    taken.len() - staged
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
