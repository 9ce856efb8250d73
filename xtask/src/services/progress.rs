//! What is going on, told on standard error: standard output is for what another program may read.

use std::time::{Duration, Instant};

/// How long nothing may be heard of something that takes its time.
const SILENCE_MAX: Duration = Duration::from_secs(10);

pub(super) fn say(who: &str, what: &str) {
    eprintln!("{who}: {what}");
}

/// Says now and then that something still goes on.
pub(super) struct Ticker {
    started: Instant,
    said: Instant,
}

impl Ticker {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { started: now, said: now }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// To be called often; speaks seldom.
    pub(super) fn tick(&mut self, who: &str, what: &str) {
        if self.said.elapsed() >= SILENCE_MAX {
            self.said = Instant::now();
            say(who, &format!("{what} ({:.0} s)", self.elapsed().as_secs_f64()));
        }
    }
}
