//! The outbox: events staged in the user's transaction, and relays that publish them.

pub(crate) mod delivery;
pub(crate) mod event;
pub(crate) mod handle;
pub(crate) mod lanes;
mod limited;
pub(crate) mod one_at_a_time;
pub(crate) mod outage;
pub(crate) mod own_table;
pub(crate) mod relay;
pub(crate) mod replay;
pub(crate) mod turn;
pub(crate) mod wake;
