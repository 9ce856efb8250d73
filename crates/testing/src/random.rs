//! Chance that can be repeated.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use onefold_core::port::Random;

/// Chance from a seed: the same seed gives the same draws.
#[derive(Debug)]
pub struct SeededRandom {
    state: AtomicU64,
}

impl SeededRandom {
    /// Draws from this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }

    /// The next 64 bits (splitmix64).
    pub fn draw(&self) -> u64 {
        let mut bits = self.state.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }
}

impl Random for SeededRandom {
    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.draw().to_be_bytes());
        bytes[8..].copy_from_slice(&self.draw().to_be_bytes());
        bytes
    }
}

/// The seed in this environment variable, or a new one; printed, so that a failure can be repeated.
pub fn seed(variable: &str) -> u64 {
    let given = std::env::var(variable).ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    println!("{variable}={seed}");
    seed
}
