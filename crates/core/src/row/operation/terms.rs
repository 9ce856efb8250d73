//! What is the same for most operations of a kind, in one column: how the fingerprint was made, how the operation came
//! in, its class and its policy.
//!
//! A JSON list, `["raw.1",1,"api","external-command","escalate"]`: one value to bind and to copy instead of five.

use std::str::FromStr as _;

use crate::effect::{EffectClass, EffectContract, Policy};
use crate::fingerprint::{KeyId, Mode};
use crate::ledger::{Entry, Source};

/// The terms of an entry.
#[derive(Debug, PartialEq)]
pub(super) struct RowTerms<'a> {
    mode: &'a Mode,
    key_id: KeyId,
    source: Source,
    contract: &'a EffectContract,
}

/// The same, as they were read.
pub(super) struct ReadTerms {
    pub(super) mode: Mode,
    pub(super) key_id: KeyId,
    pub(super) source: Source,
    pub(super) contract: EffectContract,
}

impl<'a> RowTerms<'a> {
    pub(super) fn of(entry: &'a Entry) -> Self {
        let Entry { fingerprint, origin, contract, .. } = entry;
        Self { mode: &fingerprint.mode, key_id: fingerprint.key_id, source: origin.source, contract }
    }

    pub(super) fn text(&self) -> String {
        let (class, policy) = (self.contract.class().as_str(), self.contract.policy().to_string());
        let list = (self.mode.to_string(), self.key_id.0, self.source.as_str(), class, policy);
        // A list of texts and a number can always be written.
        serde_json::to_string(&list).unwrap_or_default()
    }
}

impl ReadTerms {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (mode, key_id, source, class, policy): (String, u32, String, String, String) =
            serde_json::from_str(text).ok()?;
        Some(Self {
            mode: Mode::from_str(&mode).ok()?,
            key_id: KeyId(key_id),
            source: Source::parse(&source)?,
            contract: EffectContract::new(EffectClass::parse(&class).ok()?, Policy::parse(&policy).ok()?).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::DuplicateReason;

    #[test]
    fn terms_are_read_back_whatever_a_policy_or_a_mode_says() {
        let because = DuplicateReason::new("a second \"reminder\", [harms] nobody");
        let contract =
            EffectContract::new(EffectClass::HumanNotification, Policy::AcceptDuplicate { because }).unwrap();
        let fields = Mode::fields(["/a", "/c\"d"]).unwrap();
        for mode in [Mode::Raw, Mode::Canonical, fields] {
            let terms = RowTerms { mode: &mode, key_id: KeyId(7), source: Source::Job, contract: &contract };
            let read = ReadTerms::parse(&terms.text()).unwrap();
            let ReadTerms { mode, key_id, source, contract } = &read;
            assert_eq!(RowTerms { mode, key_id: *key_id, source: *source, contract }, terms);
        }
    }

    #[test]
    fn terms_that_cannot_be_are_refused() {
        let right = r#"["raw.1",1,"api","external-command","escalate"]"#;
        assert!(ReadTerms::parse(right).is_some());
        for (part, wrong) in [("raw.1", "raw.9"), ("api", "fax"), ("escalate", "rerun"), ("1,", ""), ("]", ",1]")] {
            assert!(ReadTerms::parse(&right.replacen(part, wrong, 1)).is_none(), "{part} {wrong}");
        }
    }
}
