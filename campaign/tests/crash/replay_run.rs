//! A process that is killed in mid replay, on whichever store: the next one goes on from the last page.

use std::collections::BTreeSet;

use onefold::store::FaultPoint;
use serde_json::{Value, json};

use crate::event_receiver::{ArrivedEvent, EventReceiver};
use crate::relay_run::PAGE_MAX;
use crate::server::{Server, wait_for};

const EVENTS: usize = 45;

/// What a replay runs on.
pub(crate) struct ReplayRun<'a> {
    pub(crate) receiver: EventReceiver,
    /// Starts a server that is killed at this point, or at none.
    pub(crate) serve: &'a dyn Fn(Option<&str>) -> Server,
    /// Commits so many events.
    pub(crate) stage: &'a dyn Fn(usize),
}

impl ReplayRun<'_> {
    /// Kills a process in its `reached`-th page, and lets another end the replay.
    pub(crate) fn killed_in_page(&self, reached: u64) {
        let server = (self.serve)(None);
        (self.stage)(EVENTS);
        wait_for("every event to be passed", || {
            let relays = server.connect().get("/v1/relays").unwrap().body;
            (self.receiver.taken().len() >= EVENTS && relays["relays"][0]["waiting"] == 0).then_some(())
        });
        server.kill();
        let fault = format!("{}:{reached}", FaultPoint::MID_REPLAY.as_str());
        let dying = (self.serve)(Some(&fault));
        let wanted = json!({ "type": "case.submitted", "max": 1000, "rate": "10000/s", "why": "a hole in the topic" });
        // The answer may be lost with the process; the replay is not.
        let asked = dying.connect().post("/v1/relays/cases/replays", &wanted);
        assert!(dying.died_by_kill(), "{fault}: {asked:?}");
        let server = (self.serve)(None);
        let ended = wait_for("the replay to be done", || done(&server));
        assert_eq!((&ended["published"], &ended["refused"]), (&json!(EVENTS), &json!(0)), "{fault}");
        let taken = self.receiver.taken();
        let (live, again): (Vec<ArrivedEvent>, Vec<_>) = taken.into_iter().partition(|event| event.replay.is_none());
        assert_eq!(live.len(), EVENTS, "what is live came once");
        assert!(again.iter().all(|event| event.replay.as_deref() == ended["id"].as_str()));
        let ids = |events: &[ArrivedEvent]| events.iter().map(|event| event.id.clone()).collect::<BTreeSet<_>>();
        assert_eq!(ids(&again), ids(&live), "{fault}: none is left out, and each has its own id");
        let repeated = again.len() - EVENTS;
        println!("killed at {fault}: {repeated} came again");
        assert!((1..=PAGE_MAX).contains(&repeated), "{fault}: {repeated} came again");
    }
}

fn done(server: &Server) -> Option<Value> {
    let listed = server.connect().get("/v1/replays").unwrap().body;
    Some(listed["items"][0].clone()).filter(|replay| replay["state"] == "DONE")
}
