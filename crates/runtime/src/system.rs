//! The system's clock and chance: the only place that asks for them.

use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use onefold_core::Timestamp;
use onefold_core::port::{BoxFuture, Clock, Random};
use rustix::time::{ClockId, clock_gettime};

/// The system's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        read(ClockId::Monotonic)
    }

    fn boot(&self) -> Duration {
        read(ClockId::Boottime)
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(wait))
    }
}

fn read(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

/// The system's source of chance, asked for a block at a time: claims draw often.
#[derive(Debug, Default)]
pub struct SystemRandom {
    block: Mutex<Block>,
}

struct Block {
    bytes: [u8; 1024],
    used: usize,
}

impl Default for Block {
    fn default() -> Self {
        Self { bytes: [0; 1024], used: 1024 }
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Block").field("used", &self.used).finish_non_exhaustive()
    }
}

impl Random for SystemRandom {
    fn bytes(&self) -> [u8; 16] {
        let mut block = self.block.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if block.used == block.bytes.len() {
            #[expect(clippy::expect_used, reason = "without chance two attempts could share an id; better to stop")]
            getrandom::fill(&mut block.bytes).expect("the system gives random bytes");
            block.used = 0;
        }
        let drawn = block.used..block.used + 16;
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&block.bytes[drawn.clone()]);
        // What was handed out does not stay in memory.
        block.bytes[drawn.clone()].fill(0);
        block.used = drawn.end;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_draws_are_the_same() {
        let random = SystemRandom::default();
        let mut seen = std::collections::HashSet::new();
        assert!((0..1_000).all(|_| seen.insert(random.bytes())));
    }
}
