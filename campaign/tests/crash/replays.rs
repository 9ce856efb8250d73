//! A process killed in mid replay, on the embedded store.

use crate::event_receiver::EventReceiver;
use crate::fixture::Dice;
use crate::relay_run::declare;
use crate::relays::stage;
use crate::replay_run::ReplayRun;
use crate::server::Server;

#[test]
fn a_process_killed_in_mid_replay_is_followed_by_one_that_repeats_at_most_a_page() {
    let mut dice = Dice::seeded("mid replay");
    for reached in [1, 2 + dice.below(3)] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("onefold.db");
        let receiver = EventReceiver::start();
        declare(folder.path(), &receiver);
        let run = ReplayRun {
            receiver,
            serve: &|fault| Server::start(&db, fault, &[]),
            stage: &|count| stage(&db, 0, count),
        };
        run.killed_in_page(reached);
    }
}
