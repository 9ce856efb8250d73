//! What a test of effects that take hold once needs: time that it moves, chance that it can repeat, a provider that counts.
//!
//! Hand [`ManualClock`] and [`SeededRandom`] to a ledger, and let the effect act on a [`CountingProvider`]:
//!
//! ```
//! use onefold_testing::CountingProvider;
//!
//! let provider = CountingProvider::default();
//! provider.act("CASE-1");
//! provider.act("CASE-1");
//! assert_eq!(provider.effects("CASE-1"), 2, "a second effect shows");
//! ```

mod clock;
mod event_pages;
mod provider;
mod random;
mod target;

pub use clock::ManualClock;
pub use event_pages::hold_event_pages;
pub use provider::{CountingProvider, Voided};
pub use random::{SeededRandom, seed};
pub use target::{RecordingTarget, TakenEvent};
