//! A file that another writer holds: the server's claims wait for it.

use crate::dying_connections::{Sent, nobody_acts_beside_the_caller};
use crate::server::Server;

#[test]
fn a_claim_sent_again_while_the_file_is_held_is_performed_once() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    let server = [Server::start(&db, None, &[])];
    let stalled = |during: &mut dyn FnMut()| {
        let writer = rusqlite::Connection::open(&db).unwrap();
        writer.busy_timeout(crate::fixture::PATIENCE).unwrap();
        writer.execute_batch("BEGIN IMMEDIATE").unwrap();
        during();
        writer.execute_batch("ROLLBACK").unwrap();
    };
    for sent in [Sent::Alone, Sent::InABatch] {
        nobody_acts_beside_the_caller(&server, stalled, sent);
    }
}
