//! The installation's keys. Old ones stay readable.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::error::{Error, FINGERPRINT_KEY_MISSING, Result};

/// The number of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u32);

/// A key with its number. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct FingerprintKey {
    id: KeyId,
    secret: [u8; 32],
}

impl FingerprintKey {
    /// The key with this number and these bytes.
    pub fn new(id: KeyId, secret: [u8; 32]) -> Self {
        Self { id, secret }
    }

    /// Its number.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// HMAC-SHA-256 over the label, a zero byte, what surrounds the form with its length (if anything does), and the form.
    pub(super) fn digest(&self, label: &str, around: &[u8], form: &[u8]) -> [u8; 32] {
        // A key shorter than a block is padded with zeros: the same as HMAC over the 32 bytes.
        let mut block = [0; 64];
        block[..32].copy_from_slice(&self.secret);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(label.as_bytes());
        mac.update(&[0]);
        if !around.is_empty() {
            mac.update(&(around.len() as u64).to_be_bytes());
            mac.update(around);
        }
        mac.update(form);
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FingerprintKey({})", self.id.0)
    }
}

/// The key in use and those that older entries were made with.
#[derive(Debug, Clone)]
pub struct Keyring {
    current: FingerprintKey,
    old: Vec<FingerprintKey>,
}

impl Keyring {
    /// A pseudonym for logs: the same name gives the same one, and only with the key can it be traced back.
    pub fn pseudonym(&self, name: &str) -> String {
        let digest = self.current().digest("pseudonym", &[], name.as_bytes());
        digest[..16].iter().map(|byte| char::from(b"abcdefghijklmnop"[usize::from(byte & 15)])).collect()
    }

    /// The pseudonym of a caller in the ids of its operations: 128 bits that cannot be traced back without the key.
    ///
    /// Always made with the oldest key: a mark that changed with the key would make yesterday's operations new.
    pub fn mark(&self, tenant: &str, caller: &str) -> [u8; 16] {
        let oldest = self.old.iter().chain([&self.current]).min_by_key(|key| key.id).unwrap_or(&self.current);
        let digest = oldest.digest("caller", tenant.as_bytes(), caller.as_bytes());
        let mut mark = [0; 16];
        mark.copy_from_slice(&digest[..16]);
        mark
    }

    /// A ring that digests with `current` and still reads `old`.
    pub fn new(current: FingerprintKey, old: Vec<FingerprintKey>) -> Self {
        Self { current, old }
    }

    /// The ring of these keys, the newest first; refused where stored operations were made with a key that is not among
    /// them: their duplicates could not be told from conflicts.
    pub fn complete(keys: Vec<FingerprintKey>, in_use: &[KeyId]) -> Result<Self> {
        let gone = in_use.iter().find(|id| !keys.iter().any(|key| key.id == **id));
        if let Some(KeyId(gone)) = gone {
            let what = format!("stored operations were fingerprinted with key {gone}, which is not in onefold_keys");
            return Err(Error::new(FINGERPRINT_KEY_MISSING, what).hint(
                "bring the row of onefold_keys back from a backup; without it every duplicate would be a conflict",
            ));
        }
        let mut keys = keys.into_iter();
        let none = || Error::new(FINGERPRINT_KEY_MISSING, "there is no fingerprint key");
        Ok(Self { current: keys.next().ok_or_else(none)?, old: keys.collect() })
    }

    /// The key in use.
    pub fn current(&self) -> &FingerprintKey {
        &self.current
    }

    /// The key with this number.
    pub fn find(&self, id: KeyId) -> Option<&FingerprintKey> {
        std::iter::once(&self.current).chain(&self.old).find(|key| key.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_mark_outlives_a_new_key() {
        let key = |id: u8| FingerprintKey::new(KeyId(u32::from(id)), [id; 32]);
        let (before, after) = (Keyring::new(key(1), Vec::new()), Keyring::new(key(2), vec![key(1)]));
        assert_eq!(before.mark("t", "alice"), after.mark("t", "alice"));
        assert_ne!(before.mark("t", "alice"), before.mark("t", "bob"));
        assert_ne!(before.mark("t", "alice"), before.mark("u", "alice"));
    }

    #[test]
    fn a_key_does_not_print_its_secret() {
        let key = FingerprintKey::new(KeyId(3), [0xAB; 32]);
        assert_eq!(format!("{key:?}"), "FingerprintKey(3)");
    }
}
