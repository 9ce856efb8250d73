//! A process killed in mid replay, on PostgreSQL.

use crate::event_receiver::EventReceiver;
use crate::relay_run::declare;
use crate::replay_run::ReplayRun;
use crate::schema::Schema;
use crate::server::Server;

#[test]
fn a_process_killed_in_mid_replay_is_followed_by_one_that_repeats_at_most_a_page() {
    for reached in [1, 3] {
        let schema = Schema::new();
        let folder = tempfile::tempdir().unwrap();
        let receiver = EventReceiver::start();
        declare(folder.path(), &receiver);
        let serve = |fault: Option<&str>| {
            let mut command = schema.serve(&folder.path().join("data"));
            if let Some(fault) = fault {
                command.env("CAMPAIGN_FAULT", fault);
            }
            Server::listening(command)
        };
        ReplayRun { receiver, serve: &serve, stage: &|count| schema.stage(count) }.killed_in_page(reached);
    }
}
