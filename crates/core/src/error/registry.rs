//! Every code of ours, a file a room.

#[expect(unreachable_pub, reason = "the list of a room is a part of the whole list")]
mod call;
#[expect(unreachable_pub, reason = "the list of a room is a part of the whole list")]
mod command;
#[expect(unreachable_pub, reason = "the list of a room is a part of the whole list")]
mod database;
#[expect(unreachable_pub, reason = "the list of a room is a part of the whole list")]
mod declaration;
#[expect(unreachable_pub, reason = "the list of a room is a part of the whole list")]
mod http;
#[expect(unreachable_pub, reason = "the list of a room is a part of the whole list")]
mod ledger;
#[expect(unreachable_pub, reason = "the list of a room is a part of the whole list")]
mod message;
#[expect(unreachable_pub, reason = "the list of a room is a part of the whole list")]
mod outbox;

pub use call::*;
pub use command::*;
pub use database::*;
pub use declaration::*;
pub use http::*;
pub use ledger::*;
pub use message::*;
pub use outbox::*;

use super::Code;

const ROOMS: [&[Code]; 8] =
    [call::ALL, command::ALL, database::ALL, declaration::ALL, http::ALL, ledger::ALL, message::ALL, outbox::ALL];

const COUNT: usize = {
    let mut count = 0;
    let mut room = 0;
    while room < ROOMS.len() {
        count += ROOMS[room].len();
        room += 1;
    }
    count
};

/// Every code declared here, room by room.
pub const ALL: &[Code] = &{
    let mut all = [call::ALL[0]; COUNT];
    let (mut room, mut at) = (0, 0);
    while room < ROOMS.len() {
        let mut code = 0;
        while code < ROOMS[room].len() {
            all[at] = ROOMS[room][code];
            at += 1;
            code += 1;
        }
        room += 1;
    }
    all
};
