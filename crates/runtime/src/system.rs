//! The system's clock and chance: the only place that asks for them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use onefold_core::Timestamp;
use onefold_core::ports::{BoxFuture, Clock, Random};
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

/// The system's source of chance.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        #[expect(clippy::expect_used, reason = "without chance two attempts could share an id; better to stop")]
        getrandom::fill(&mut bytes).expect("the system gives random bytes");
        bytes
    }
}
