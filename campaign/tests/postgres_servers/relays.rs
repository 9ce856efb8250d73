//! Relays under `kill -9` on PostgreSQL.

use onefold::store::FaultPoint;

use crate::event_receiver::EventReceiver;
use crate::fixture::Dice;
use crate::relay_run::{AGGREGATES, RelayRun, declare, reached};
use crate::schema::Schema;
use crate::server::Server;

/// A relay on a schema of its own.
fn with_run(check: impl FnOnce(&RelayRun<'_>)) {
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
    check(&RelayRun { receiver, serve: &serve, stage: &|count| schema.stage(count), lanes: AGGREGATES });
}

#[test]
fn a_relay_killed_at_each_point_loses_nothing_and_repeats_at_most_a_page_of_each_lane() {
    let mut dice = Dice::seeded("relay kill points on PostgreSQL");
    for point in FaultPoint::OUTBOX {
        // One commit: every lane has a page, and all of them are sent at once.
        let reached = reached(*point, 1, &mut dice);
        with_run(|run| run.killed_at(*point, reached));
    }
}

#[test]
fn a_relay_killed_at_random_while_events_are_staged_loses_nothing() {
    let mut dice = Dice::seeded("relay random kills on PostgreSQL");
    with_run(|run| run.killed_at_random(&mut dice));
}
