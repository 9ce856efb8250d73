//! Real processes, killed and stopped where it hurts; a provider in another process counts what really happened.

mod journal;
mod kill_points;
mod lost_answers;
mod pause;
mod random_kills;
mod stage;
