//! The runtime on a real file: perform, policies, deadlines, callers that go away, restarts, the journal.

mod batch;
mod callers;
mod deadline;
mod held;
mod journal;
mod kinds;
mod perform;
mod policies;
mod restart;
mod retention;
mod shutdown;
mod source;
mod stage;
