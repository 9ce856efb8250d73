//! A table that another session has locked: the claims of every server wait for it.

use crate::dying_connections::{Sent, nobody_acts_beside_the_caller};
use crate::schema::Schema;
use crate::server::Server;

#[test]
fn a_claim_sent_again_to_another_server_while_the_table_is_locked_is_performed_once() {
    let (schema, folder) = (Schema::new(), tempfile::tempdir().unwrap());
    let servers: Vec<Server> =
        (0..2).map(|number| Server::listening(schema.serve(&folder.path().join(format!("server-{number}"))))).collect();
    for sent in [Sent::Alone, Sent::InABatch] {
        nobody_acts_beside_the_caller(&servers, |during| schema.locked(during), sent);
    }
}
