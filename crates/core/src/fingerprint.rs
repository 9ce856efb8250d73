//! Whether two requests under one id are the same request.

mod canonical;
mod fields;
mod key;
mod mode;
mod number;

pub use key::{FingerprintKey, KeyId, Keyring};
pub use mode::Mode;

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::error::{Error, FINGERPRINT_INVALID, FINGERPRINT_KEY_MISSING, Result};

/// A keyed digest of a request, with the mode, version and key that made it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// What was digested.
    pub mode: Mode,
    /// Which key was used.
    pub key_id: KeyId,
    /// HMAC-SHA-256.
    pub digest: [u8; 32],
}

/// A request that can be fingerprinted in the mode a stored entry was, whatever the present mode is.
#[derive(Debug, Clone)]
pub struct FingerprintInput {
    /// What surrounds the input, compared byte by byte in every mode.
    around: Arc<[u8]>,
    input: Input,
    current: Fingerprint,
    keys: Arc<Keyring>,
}

/// What is digested.
#[derive(Debug, Clone)]
enum Input {
    Bytes(Arc<[u8]>),
    /// Only its SHA-256 is known: it was too large to hold, or came as a stream.
    Hashed([u8; 32]),
}

impl FingerprintInput {
    /// Fingerprints `input` in `mode` with the current key.
    pub fn new(input: impl Into<Arc<[u8]>>, mode: &Mode, keys: &Arc<Keyring>) -> Result<Self> {
        Self::within([], input, mode, keys)
    }

    /// The same for an input that is part of something, such as a body in a request: `around` is compared byte by byte,
    /// whatever the mode.
    pub fn within(
        around: impl Into<Arc<[u8]>>,
        input: impl Into<Arc<[u8]>>,
        mode: &Mode,
        keys: &Arc<Keyring>,
    ) -> Result<Self> {
        Self::of(around.into(), Input::Bytes(input.into()), mode, keys)
    }

    /// The same as [`FingerprintInput::within`] in [`Mode::Raw`] for an input of which only the SHA-256 is at hand. It cannot
    /// be compared with a request whose stored mode reads the input.
    pub fn hashed(around: impl Into<Arc<[u8]>>, sha256: [u8; 32], keys: &Arc<Keyring>) -> Result<Self> {
        Self::of(around.into(), Input::Hashed(sha256), &Mode::Raw, keys)
    }

    fn of(around: Arc<[u8]>, input: Input, mode: &Mode, keys: &Arc<Keyring>) -> Result<Self> {
        let current = digest(&around, &input, mode, keys.current())?;
        Ok(Self { around, input, current, keys: Arc::clone(keys) })
    }

    /// The fingerprint to store with a new entry.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.current
    }

    /// Whether this is the request that `stored` was made of, compared in the *stored* mode and key.
    pub fn matches(&self, stored: &Fingerprint) -> Result<bool> {
        if stored.mode == self.current.mode && stored.key_id == self.current.key_id {
            return Ok(stored.digest == self.current.digest);
        }
        let key = self.keys.find(stored.key_id).ok_or_else(|| {
            Error::new(FINGERPRINT_KEY_MISSING, format!("the stored fingerprint was made with key {}", stored.key_id.0))
        })?;
        // A request without a canonical form cannot be the one that had it.
        Ok(digest(&self.around, &self.input, &stored.mode, key).is_ok_and(|print| print.digest == stored.digest))
    }
}

fn digest(around: &[u8], input: &Input, mode: &Mode, key: &FingerprintKey) -> Result<Fingerprint> {
    let label = mode.to_string();
    let digest = match (mode, input) {
        (Mode::Raw, Input::Bytes(bytes)) if around.is_empty() => key.digest(&label, around, bytes),
        (Mode::Raw, Input::Bytes(bytes)) => key.digest(&label, around, &Sha256::digest(bytes)),
        (Mode::Raw, Input::Hashed(sha256)) => key.digest(&label, around, sha256),
        (Mode::Canonical, Input::Bytes(bytes)) => key.digest(&label, around, &canonical::form(bytes)?),
        (Mode::Fields(pointers), Input::Bytes(bytes)) => key.digest(&label, around, &fields::form(bytes, pointers)?),
        (Mode::Canonical | Mode::Fields(_), Input::Hashed(_)) => {
            return Err(Error::new(FINGERPRINT_INVALID, "the request is known by its digest only"));
        }
    };
    Ok(Fingerprint { mode: mode.clone(), key_id: key.id(), digest })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(current: u32) -> Arc<Keyring> {
        let key = |id: u32| FingerprintKey::new(KeyId(id), [u8::try_from(id).unwrap(); 32]);
        Arc::new(Keyring::new(key(current), (1..current).map(key).collect()))
    }

    fn fingerprint_input(input: &str, mode: &Mode, keys: &Arc<Keyring>) -> FingerprintInput {
        FingerprintInput::new(input.as_bytes(), mode, keys).unwrap()
    }

    #[test]
    fn raw_bytes_differ_where_canonical_json_does_not() {
        let keys = keys(1);
        let (left, right) = (r#"{"a":1,"b":[2]}"#, "{ \"b\":[2.0], \"a\":1 }");
        for (mode, same) in [(Mode::Raw, false), (Mode::Canonical, true)] {
            let stored = fingerprint_input(left, &mode, &keys).fingerprint().clone();
            assert_eq!(fingerprint_input(right, &mode, &keys).matches(&stored).unwrap(), same, "{mode}");
        }
    }

    #[test]
    fn chosen_fields_leave_the_rest_out() {
        let keys = keys(1);
        let mode = Mode::fields(["/amount", "/to/iban"]).unwrap();
        let stored =
            fingerprint_input(r#"{"amount":5,"to":{"iban":"X"},"note":"a"}"#, &mode, &keys).fingerprint().clone();
        assert!(
            fingerprint_input(r#"{"to":{"iban":"X"},"amount":5,"note":"b"}"#, &mode, &keys).matches(&stored).unwrap()
        );
        assert!(!fingerprint_input(r#"{"to":{"iban":"Y"},"amount":5}"#, &mode, &keys).matches(&stored).unwrap());
    }

    #[test]
    fn a_duplicate_is_compared_in_the_stored_mode_and_with_the_stored_key() {
        let old = keys(1);
        let stored = fingerprint_input(r#"{"a":1}"#, &Mode::Canonical, &old).fingerprint().clone();
        let now = keys(2);
        assert!(fingerprint_input("{\"a\": 1}", &Mode::Raw, &now).matches(&stored).unwrap());
        assert!(!fingerprint_input("{\"a\": 2}", &Mode::Raw, &now).matches(&stored).unwrap());
        assert!(!fingerprint_input("no json", &Mode::Raw, &now).matches(&stored).unwrap());
    }

    #[test]
    fn a_missing_key_is_an_error_and_never_a_guess() {
        let lost = Arc::new(Keyring::new(FingerprintKey::new(KeyId(9), [9; 32]), Vec::new()));
        let stored = fingerprint_input("x", &Mode::Raw, &keys(1)).fingerprint().clone();
        assert_eq!(
            fingerprint_input("x", &Mode::Raw, &lost).matches(&stored).unwrap_err().code(),
            FINGERPRINT_KEY_MISSING
        );
    }

    #[test]
    fn what_an_input_stands_in_is_compared_in_every_mode() {
        let keys = keys(1);
        let of = |around: &str, input: &str, mode: &Mode| {
            FingerprintInput::within(around.as_bytes(), input.as_bytes(), mode, &keys).unwrap()
        };
        for mode in [Mode::Raw, Mode::Canonical, Mode::fields(["/a"]).unwrap()] {
            let stored = of("POST", "{\"a\":1}", &mode).fingerprint().clone();
            assert!(of("POST", "{\"a\":1}", &Mode::Raw).matches(&stored).unwrap(), "{mode}");
            for around in ["PATCH", "", "POST{"] {
                assert!(!of(around, "{\"a\":1}", &mode).matches(&stored).unwrap(), "{mode} {around}");
            }
        }
        // Where one ends and the other begins counts too.
        assert_ne!(of("a", "bc", &Mode::Raw).fingerprint(), of("ab", "c", &Mode::Raw).fingerprint());
        assert_eq!(of("", "x", &Mode::Raw).fingerprint(), fingerprint_input("x", &Mode::Raw, &keys).fingerprint());
        let hashed = FingerprintInput::hashed("a".as_bytes(), Sha256::digest("bc").into(), &keys).unwrap();
        assert_eq!(hashed.fingerprint(), of("a", "bc", &Mode::Raw).fingerprint());
        let canonical = of("a", "1", &Mode::Canonical).fingerprint().clone();
        let hashed = FingerprintInput::hashed("a".as_bytes(), Sha256::digest("1").into(), &keys).unwrap();
        assert!(!hashed.matches(&canonical).unwrap(), "what was not read cannot be compared by what it says");
    }

    #[test]
    fn different_keys_give_different_fingerprints() {
        let one = fingerprint_input("x", &Mode::Raw, &keys(1)).fingerprint().digest;
        let two = fingerprint_input("x", &Mode::Raw, &keys(2)).fingerprint().digest;
        assert_ne!(one, two);
    }
}
