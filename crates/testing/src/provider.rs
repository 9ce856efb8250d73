//! A provider that counts what really happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Acts whenever it is asked, and counts how often it acted under each key. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct CountingProvider {
    done: Arc<Mutex<Done>>,
}

#[derive(Debug, Default)]
struct Done {
    effects: BTreeMap<String, u64>,
    requests: BTreeMap<String, u64>,
    voided: BTreeSet<String>,
}

/// The provider refuses this key for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Voided;

impl std::fmt::Display for Voided {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the key was voided; nothing is done under it")
    }
}

impl std::error::Error for Voided {}

impl CountingProvider {
    fn locked<T>(&self, look: impl FnOnce(&mut Done) -> T) -> T {
        look(&mut self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Acts, as a provider without keys does; tells how often it has acted under this key, which it would not know.
    pub fn act(&self, key: &str) -> u64 {
        self.locked(|done| done.act(key))
    }

    /// Acts only if the key is new, as a provider with idempotency keys does.
    pub fn act_by_key(&self, key: &str) -> Result<u64, Voided> {
        self.locked(|done| {
            if done.voided.contains(key) {
                return Err(Voided);
            }
            let before = done.effects.get(key).copied();
            Ok(match before {
                None => done.act(key),
                Some(effects) => {
                    *done.requests.entry(key.to_owned()).or_default() += 1;
                    effects
                }
            })
        })
    }

    /// Refuses the key from now on; tells instead how often it acted under it, if it did.
    pub fn void(&self, key: &str) -> Result<(), u64> {
        self.locked(|done| {
            if let Some(effects) = done.effects.get(key) {
                return Err(*effects);
            }
            done.voided.insert(key.to_owned());
            Ok(())
        })
    }

    /// Whether the key is refused.
    pub fn is_voided(&self, key: &str) -> bool {
        self.locked(|done| done.voided.contains(key))
    }

    /// How often it acted under this key.
    pub fn effects(&self, key: &str) -> u64 {
        self.locked(|done| done.effects.get(key).copied().unwrap_or(0))
    }

    /// How often it acted for an operation, under any of its keys: after a `void` the next attempt has another.
    pub fn effects_of_operation(&self, id: &str) -> u64 {
        let is_of = |key: &str| key == id || key.strip_prefix(id).is_some_and(|rest| rest.starts_with('~'));
        self.locked(|done| done.effects.iter().filter(|(key, _)| is_of(key)).map(|(_, effects)| effects).sum())
    }

    /// How often it acted at all.
    pub fn effects_in_all(&self) -> u64 {
        self.locked(|done| done.effects.values().sum())
    }

    /// How often it was asked to act under this key.
    pub fn requests(&self, key: &str) -> u64 {
        self.locked(|done| done.requests.get(key).copied().unwrap_or(0))
    }
}

impl Done {
    fn act(&mut self, key: &str) -> u64 {
        *self.requests.entry(key.to_owned()).or_default() += 1;
        let effects = self.effects.entry(key.to_owned()).or_default();
        *effects += 1;
        *effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_is_counted_and_a_key_is_acted_on_once() {
        let provider = CountingProvider::default();
        assert_eq!((provider.act("A"), provider.act("A")), (1, 2));
        assert_eq!((provider.act_by_key("B"), provider.act_by_key("B")), (Ok(1), Ok(1)));
        assert_eq!((provider.effects("B"), provider.requests("B"), provider.effects_in_all()), (1, 2, 3));
    }

    #[test]
    fn a_voided_key_is_refused_and_one_that_took_hold_cannot_be_voided() {
        let provider = CountingProvider::default();
        assert_eq!(provider.void("A"), Ok(()));
        assert_eq!(provider.act_by_key("A"), Err(Voided));
        provider.act("A~2");
        assert_eq!(provider.effects_of_operation("A"), 1);
        assert_eq!(provider.void("A~2"), Err(1));
    }
}
