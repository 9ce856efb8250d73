//! Real processes, killed and stopped where it hurts; a provider in another process counts what really happened.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

mod callers;
mod command;
mod dying_connections;
mod event_receiver;
mod fixture;
mod journal;
mod kill_points;
mod lossy_proxy;
mod lost_answers;
mod pause;
mod random_kills;
mod relay_run;
mod relays;
mod replay_run;
mod replays;
mod run;
mod served;
mod server;
mod stalls;
