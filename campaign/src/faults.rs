//! Kills the process at a named place, as `kill -9` would.

use std::sync::atomic::{AtomicUsize, Ordering};

use onefold::store::{FaultPoint, Faults};

/// Kills the process when a point is reached for the n-th time.
#[derive(Debug)]
pub struct KillAt {
    point: FaultPoint,
    left: AtomicUsize,
}

impl KillAt {
    /// Reads `point:n`, such as `after-effect:3`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, count) = text.split_once(':')?;
        let point = FaultPoint::parse(name)?;
        Some(Self { point, left: AtomicUsize::new(count.parse().ok()?) })
    }
}

impl Faults for KillAt {
    fn reach(&self, point: FaultPoint) {
        if point == self.point && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            kill_self();
        }
    }
}

fn kill_self() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    loop {
        std::thread::park();
    }
}
