//! A process killed between publishing rows of a team's own table and marking them.

use std::collections::BTreeSet;

use onefold::store::FaultPoint;

use crate::event_receiver::EventReceiver;
use crate::schema::Schema;
use crate::server::{Server, wait_for};

/// Events of one page at most.
const PAGE_MAX: usize = 10;
const ROWS: usize = 25;

#[test]
fn a_process_killed_between_publish_and_mark_is_followed_by_one_that_sends_the_same_ids() {
    let schema = Schema::new();
    let app = schema.app();
    Schema::run(&format!(
        "CREATE SCHEMA {app}; CREATE TABLE {app}.outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), \
         aggregate_type text NOT NULL, aggregate_id text NOT NULL, type text NOT NULL, payload jsonb NOT NULL, \
         created_at timestamptz NOT NULL DEFAULT clock_timestamp(), published_at timestamptz, \
         next_attempt_at timestamptz, attempts integer NOT NULL DEFAULT 0); \
         INSERT INTO {app}.outbox (aggregate_type, aggregate_id, type, payload) \
         SELECT 'case', 'CASE-' || n % 5, 'case.submitted', '{{}}' FROM generate_series(1, {ROWS}) AS n"
    ));
    let folder = tempfile::tempdir().unwrap();
    let receiver = EventReceiver::start();
    let at = receiver.at;
    let config = format!(
        "[[relay]]\nname = \"legacy\"\nevents = [\"case.*\"]\ntable = \"{app}.outbox\"\npage_max = {PAGE_MAX}\n\
         lease_for = \"2s\"\ndelivery_within = \"1s\"\n\
         to = {{ webhook = \"http://{at}/events\", secret_file = \"hook.secret\" }}\n"
    );
    std::fs::write(folder.path().join("onefold.toml"), config).unwrap();
    std::fs::write(folder.path().join("hook.secret"), "a secret that both of us know").unwrap();
    let fault = format!("{}:2", FaultPoint::AFTER_LAST_ACKNOWLEDGEMENT.as_str());
    let mut command = schema.serve(&folder.path().join("data"));
    command.env("CAMPAIGN_FAULT", &fault);
    assert!(Server::listening(command).died_by_kill(), "{fault}");
    let unmarked = format!("SELECT count(*) FROM {app}.outbox WHERE published_at IS NULL");
    let left = Schema::number(&unmarked);
    assert!(left > 0, "it died before it had marked everything");
    let _server = Server::listening(schema.serve(&folder.path().join("data")));
    wait_for("every row to be marked", || (Schema::number(&unmarked) == 0).then_some(()));
    let taken = receiver.taken();
    let ids: BTreeSet<String> = taken.iter().map(|event| event.id.clone()).collect();
    assert_eq!(ids.len(), ROWS, "none is lost, and what comes again has the same id");
    let repeated = taken.len() - ROWS;
    println!("killed at {fault}: {repeated} came again");
    assert!((1..=PAGE_MAX).contains(&repeated), "{repeated} came again");
    assert_eq!(Schema::number(&format!("SELECT count(*) FROM {app}.outbox WHERE attempts > 0")), 0);
}
