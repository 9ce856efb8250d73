//! The key that a provider gets, is asked about and is told to refuse: one token, read the same way by everybody.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::effect::Policy;
use crate::operation::OperationId;

/// Bytes a provider's key may have: what the `Idempotency-Key` draft and most providers take.
pub const PROVIDER_KEY_BYTES_MAX: usize = 255;

/// Bytes of a long id that stay readable in its key.
const READABLE_BYTES_MAX: usize = 180;

/// The key that an attempt sends to its provider: the operation's id as one token, the same for every attempt.
///
/// Letters, digits and `-._:` are kept; every other byte is `~` and two hexadecimal digits, so spaces at
/// either end survive a header and nothing bends an address. An id too long for a key ends in `~h` and its SHA-256.
/// Different ids have different keys.
///
/// Under `void` the provider refuses a key for ever, so an attempt after the first has one of its own: it ends in `~v`
/// and the fence.
pub fn provider_key(id: &OperationId, fence: u64, policy: &Policy) -> Arc<str> {
    let suffix = match policy {
        Policy::Void if fence > 1 => format!("~v{fence}"),
        Policy::Void
        | Policy::Rerun
        | Policy::AcceptDuplicate { .. }
        | Policy::SameKey { .. }
        | Policy::Ask { .. }
        | Policy::Escalate
        | Policy::InTransaction => String::new(),
    };
    let token = token(id.as_str());
    if token.len() + suffix.len() <= PROVIDER_KEY_BYTES_MAX {
        return Arc::from(token + &suffix);
    }
    let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(id.as_str()));
    Arc::from(format!("{}~h{digest}{suffix}", readable(&token)))
}

fn token(text: &str) -> String {
    let mut token = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b':' => token.push(char::from(byte)),
            _ => _ = write!(token, "~{byte:02X}"),
        }
    }
    token
}

/// The start of a token, no escape cut in two.
fn readable(token: &str) -> &str {
    let start = &token[..READABLE_BYTES_MAX.min(token.len())];
    match start.rfind('~') {
        Some(at) if at + 3 > start.len() => &start[..at],
        Some(_) | None => start,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn key(id: &str, fence: u64, policy: &Policy) -> Arc<str> {
        provider_key(&OperationId::stored(id).unwrap(), fence, policy)
    }

    #[test]
    fn a_plain_id_is_its_own_key_and_every_other_byte_is_escaped() {
        let rows = [
            ("CASE-2026-000091:ISSUE_NOTICE:BREACH", "CASE-2026-000091:ISSUE_NOTICE:BREACH"),
            (" lead@AAAA", "~20lead~40AAAA"),
            ("trail @AAAA", "trail~20~40AAAA"),
            ("a/b?c#d%e~f", "a~2Fb~3Fc~23d~25e~7Ef"),
            ("Ü", "~C3~9C"),
            ("a\"b\\c", "a~22b~5Cc"),
        ];
        for (id, token) in rows {
            assert_eq!(&*key(id, 1, &Policy::Escalate), token);
        }
    }

    #[test]
    fn different_ids_have_different_keys_of_at_most_255_bytes() {
        let long = "x".repeat(255);
        let spaces = " ".repeat(255);
        let mut ids: Vec<String> =
            ["x", " x", "x ", "x~20", "~20x", "%20x", "x@y", "x%40y", "x~v2", "x~h", "X"].map(str::to_owned).into();
        for text in [&long, &spaces] {
            ids.extend([text.clone(), format!("{text}@A"), format!("{text}@B")]);
        }
        // What the key of a long id looks like is not a key of another id.
        let hashed = key(&format!("{long}@A"), 1, &Policy::Escalate).to_string();
        ids.push(hashed);
        let keys: BTreeSet<Arc<str>> = ids
            .iter()
            .flat_map(|id| [key(id, 1, &Policy::Void), key(id, 2, &Policy::Void), key(id, u64::MAX, &Policy::Void)])
            .collect();
        assert_eq!(keys.len(), 3 * ids.len(), "{keys:?}");
        for key in &keys {
            assert!(key.len() <= PROVIDER_KEY_BYTES_MAX, "{key}");
            assert!(key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:~".contains(&byte)), "{key}");
        }
    }

    #[test]
    fn only_void_changes_the_key_of_a_later_attempt() {
        assert_eq!(&*key("A", 7, &Policy::Escalate), "A");
        assert_eq!(&*key("A", 1, &Policy::Void), "A");
        assert_eq!(&*key("A", 7, &Policy::Void), "A~v7");
    }
}
