//! Time and chance.

use std::time::Duration;

use super::BoxFuture;
use crate::time::Timestamp;

/// Time, asked for in one place.
pub trait Clock: Send + Sync {
    /// The time of day.
    fn now(&self) -> Timestamp;
    /// Time that never goes back, and may stand still while the machine sleeps.
    fn monotonic(&self) -> Duration;
    /// Time that never goes back and counts the machine's sleep.
    fn boot(&self) -> Duration;
    /// Waits.
    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()>;
}

/// Chance, asked for in one place.
pub trait Random: Send + Sync {
    /// Sixteen random bytes.
    fn bytes(&self) -> [u8; 16];
}
