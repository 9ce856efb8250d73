//! Each of 10,000 ids is claimed through each of four servers: 10,000 grants, calm or under `kill -9`.

use std::sync::atomic::Ordering;

use crate::caller_pool::{CallerPool, IDS, SERVERS};
use crate::callers::{assert_believed, assert_granted_once};
use crate::fixture::Dice;
use crate::schema::Schema;
use crate::server::Server;

/// Servers killed at random steps.
const KILLS: usize = 12;
/// Answers before the last kill at most: every id is claimed through every server, and recorded once.
const STEPS: u64 = (SERVERS * IDS + IDS) as u64 * 4 / 5;

#[test]
fn four_servers_grant_each_of_ten_thousand_ids_once() {
    campaign(&[]);
}

#[test]
fn four_servers_that_are_killed_grant_each_id_once_and_lose_no_acknowledged_record() {
    let mut dice = Dice::seeded("servers on one schema");
    let mut kills: Vec<(u64, usize)> =
        (0..KILLS).map(|_| (1 + dice.below(STEPS), usize::try_from(dice.below(SERVERS as u64)).unwrap())).collect();
    kills.sort_unstable();
    let repeated = campaign(&kills);
    assert!(repeated > 0, "the kills must have hit something");
}

/// Servers on one schema, each killed after so many answers in all and started again. Answers with how many requests
/// were repeated.
fn campaign(kills: &[(u64, usize)]) -> u64 {
    let (schema, folder) = (Schema::new(), tempfile::tempdir().unwrap());
    let start = |number: usize| Server::listening(schema.serve(&folder.path().join(format!("server-{number}"))));
    let pool = CallerPool::default();
    let mut servers: Vec<Option<Server>> = (0..SERVERS).map(|number| Some(start(number))).collect();
    for (site, server) in pool.sites.iter().zip(servers.iter().flatten()) {
        site.open(server);
    }
    pool.work_while(|| {
        for (step, number) in kills {
            pool.wait_for_step(*step);
            pool.sites[*number].close();
            servers[*number].take().unwrap().kill();
            let next = start(*number);
            pool.sites[*number].open(&next);
            servers[*number] = Some(next);
            println!("killed server {number} after {step} answers; {} granted before", pool.grants());
        }
    });
    assert_eq!(pool.grants(), IDS, "each id is granted once, through whichever server");
    let acknowledged = pool.acknowledged.into_inner().unwrap();
    assert_eq!(acknowledged.len(), IDS);
    for server in servers.iter().flatten() {
        assert_believed(&mut server.connect(), &acknowledged[..IDS / SERVERS]);
    }
    let mut connection = servers[0].as_ref().unwrap().connect();
    assert_believed(&mut connection, &acknowledged);
    assert_granted_once(&mut connection, IDS);
    let repeated = pool.repeated.load(Ordering::SeqCst);
    println!("{IDS} grants; {} kills; {repeated} requests were repeated", kills.len());
    repeated
}
