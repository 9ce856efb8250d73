//! The server under `kill -9`, at each named point it reaches and at random, with 64 callers at work.
//!
//! `after-effect` belongs to `perform`, where the effect happens in the same process: a server performs
//! nothing, so it never reaches that point. Its callers act in between, and their death is `run`'s story.

use onefold::store::FaultPoint;
use onefold_campaign::wire::ask;
use serde_json::json;
use uuid::Uuid;

use crate::callers::{CALLERS, Callers, assert_believed, assert_granted_once, claim};
use crate::fixture::{Dice, Provider};
use crate::server::{Server, Site};

/// Leases are looked for all the time: one that a restart forgot would be found.
const SWEEPING: [&str; 2] = ["--sweep-every", "100ms"];
/// Kills at random steps.
const KILLS: usize = 12;

/// How one life of a server ends.
#[derive(Debug)]
enum End {
    /// At a named point.
    Fault(String),
    /// After so many answers.
    Steps(u64),
}

impl End {
    fn fault(&self) -> Option<&str> {
        match self {
            Self::Fault(fault) => Some(fault),
            Self::Steps(_) => None,
        }
    }
}

#[test]
fn a_server_killed_at_each_point_grants_each_operation_once_and_loses_no_acknowledged_record() {
    let mut dice = Dice::seeded("served kill points");
    let points = FaultPoint::LEDGER.iter().chain(FaultPoint::LOG).copied();
    let points = points.filter(|point| *point != FaultPoint::AFTER_EFFECT);
    let points: Vec<FaultPoint> = points.flat_map(|point| [point; 2]).collect();
    let faults = points.iter().map(|point| End::Fault(format!("{}:{}", point.as_str(), 1 + dice.below(40))));
    let (claims, records) = campaign(&faults.collect::<Vec<_>>());
    assert!(claims >= 4 && records >= 4, "each kill loses an answer: {claims} claims and {records} records");
}

#[test]
fn a_server_killed_at_random_grants_each_operation_once_and_loses_no_acknowledged_record() {
    let mut dice = Dice::seeded("served random kills");
    let lives: Vec<End> = (0..KILLS).map(|_| End::Steps(1 + dice.below(400))).collect();
    let (claims, records) = campaign(&lives);
    assert!(claims + records > 0, "the kills must have hit something");
}

/// Lives of one server on one database, under load. Answers with how many claims and records were repeated.
fn campaign(lives: &[End]) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    let (provider, site) = (Provider::start(), Site::default());
    let callers = Callers::new(&site, &provider);
    let mut believed = 0;
    let last = callers.work_while(|| {
        for end in lives {
            let server = Server::start(&db, end.fault(), &SWEEPING);
            // Before the callers come back: what was acknowledged in an earlier life is there.
            let known = callers.acknowledged.lock().unwrap().clone();
            assert_believed(&mut server.connect(), &known[believed..]);
            believed = known.len();
            site.open(&server);
            match end {
                End::Fault(fault) => assert!(server.died_by_kill(), "{fault}"),
                End::Steps(steps) => {
                    site.wait_for_steps(*steps);
                    server.kill();
                }
            }
            site.close();
            println!("killed {end:?}; {} acknowledged before", callers.acknowledged.lock().unwrap().len());
        }
        let last = Server::start(&db, None, &SWEEPING);
        site.open(&last);
        site.wait_for_steps(4 * CALLERS as u64);
        last
    });
    let acknowledged = callers.acknowledged.into_inner().unwrap();
    let mut connection = last.connect();
    assert_believed(&mut connection, &acknowledged);
    assert_granted_once(&mut connection, acknowledged.len());
    for done in &acknowledged {
        assert_eq!(ask(&provider.address, &format!("COUNT {}", done.id)).unwrap(), "1", "{}", done.id);
    }
    let repeated = (callers.claims_repeated.into_inner(), callers.records_repeated.into_inner());
    println!("{} operations; {} claims and {} records were repeated", acknowledged.len(), repeated.0, repeated.1);
    repeated
}

#[test]
fn leases_of_living_callers_survive_the_death_of_their_server() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    let server = Server::start(&db, None, &SWEEPING);
    let mut connection = server.connect();
    let attempts: Vec<(String, Uuid)> = (0..CALLERS).map(|number| (format!("OP-{number}"), Uuid::new_v4())).collect();
    for (id, attempt) in &attempts {
        assert_eq!(connection.post("/v1/claims", &claim(id, *attempt)).unwrap().body["claim"], "granted");
    }
    server.kill();

    let server = Server::start(&db, None, &SWEEPING);
    let mut connection = server.connect();
    for (id, attempt) in &attempts {
        let other = connection.post("/v1/claims", &claim(id, Uuid::new_v4())).unwrap().body;
        assert_eq!(other["claim"], "inFlight", "{other}");
        let again = connection.post("/v1/claims", &claim(id, *attempt)).unwrap().body;
        assert_eq!((&again["claim"], &again["fence"]), (&json!("granted"), &json!(1)), "{again}");
        let operation = again["operation"].as_str().unwrap();
        let held = json!({ "fence": 1, "attemptId": attempt });
        let renewed = connection.post(&format!("/v1/operations/{operation}/renew"), &held).unwrap();
        assert_eq!(renewed.status, 200, "{}", renewed.body);
        let done = connection.post(&format!("/v1/operations/{operation}/complete"), &held).unwrap();
        assert_eq!(done.body["status"], "COMPLETED", "{}", done.body);
    }
    assert_granted_once(&mut connection, attempts.len());
}
