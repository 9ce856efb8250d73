//! How a route answers requests with a key, at the layer and at the gateway alike.

use std::collections::BTreeMap;
use std::time::Duration;

use onefold_core::effect::EffectClass;
use onefold_core::error::{Code, DECLARATION_INVALID, IDEMPOTENCY_KEY_REUSED};
use onefold_core::{Error, Result};

use crate::http::{
    GuardedMethod, KeyRequirement, StatusMeaning, check_header, check_headers, check_longer_than_zero, check_number,
    check_pointer, check_status,
};
use crate::kind::KindDeclaration;
use crate::mistake::Mistake;
use crate::setting::declaration;
use crate::values::{answers, code, required_duration};

/// Headers that are never stored, even on request: they belong to one caller or one connection. In lower case.
pub const NEVER_STORED: [&str; 8] = [
    "set-cookie",
    "authorization",
    "www-authenticate",
    "proxy-authenticate",
    "connection",
    "transfer-encoding",
    "content-length",
    "date",
];

/// How long answers are kept.
const RESULT_FOR: Duration = Duration::from_hours(24);
/// How long keys are kept: they are callers' own, and callers forget.
const ID_FOR: Duration = Duration::from_hours(30 * 24);
/// Bytes of a stored answer that no route is below: `answer_bytes_max` decides what is stored.
const RESULT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What an answer's status and headers take beside its body.
const HEAD_BYTES_MAX: usize = 256 * 1024;

declaration! {
    /// How a route answers requests with a key.
    [serde(default), allow(clippy::struct_excessive_bools, reason = "each is a switch of the file, and has its name there")]
    pub struct GuardDeclaration {
        /// Whether a request must carry a key; with `"optional"` one without a key passes unguarded.
        ["`\"required\"` or `\"optional\"`", "\"required\""]
        pub key: KeyRequirement = KeyRequirement::Required,
        /// The header that holds the key.
        ["header", "\"Idempotency-Key\""]
        pub header: String = "Idempotency-Key".to_owned(),
        /// Stored answers are shown to unidentified callers.
        ["true or false", "false"]
        pub anonymous_replay: bool,
        /// Methods that are guarded; the others pass. The method in `match` must be among them if they are given.
        ["list of `\"POST\"`, `\"PATCH\"`, `\"PUT\"` and `\"DELETE\"`", "`[\"POST\", \"PATCH\"]`"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub methods: Option<Vec<GuardedMethod>>,
        /// What a status means, where it differs from the [table](idempotency-key.md#what-the-handlers-answer-means): `{ 503 = "not-applied", 404 = "not-applied", 202 = "unknown" }`; also `"applied"`, `"final"`.
        ["table", "{}"]
        #[serde(with = "answers")]
        pub answers: BTreeMap<u16, StatusMeaning>,
        /// Believes the upstream's `Onefold-Effect: none \| applied \| unknown`; clients never see it.
        ["true or false", "false"]
        pub trust_effect_header: bool,
        /// Where to find the reference to the effect: `"/id"` in the body, or `"header:X-Reference"`.
        ["text", "`Location`, else a digest of the answer"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub evidence: Option<String>,
        /// The place in the JSON body of the key by which operations are found: `"/caseId"`.
        ["JSON pointer", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub business_key: Option<String>,
        /// How long a duplicate waits for the request in flight; `Prefer: wait=n` overrides it; never more than 30 s.
        ["duration", "\"5s\""]
        #[serde(with = "required_duration")]
        pub wait: Duration = Duration::from_secs(5),
        /// How many may wait at once; with 0 none waits.
        ["number", "1000"]
        pub waiters_max: usize = 1_000,
        /// The status for a duplicate whose wait ended without an answer.
        ["409, 425 or 503", "409"]
        pub in_flight_status: u16 = 409,
        /// Guarded requests of the route in flight at once; more get 503.
        ["number", "1000"]
        pub in_flight_max: usize = 1_000,
        /// The status of a key that was used for another request, 422 or 409, and the `code` of the problem, one of `onefold errors`.
        ["table", "{ status = 422, code = \"IDEMPOTENCY_KEY_REUSED\" }"]
        pub reused: ReusedDeclaration,
        /// The status of a replayed success, such as 200.
        ["status", "the stored one"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub replay_status: Option<u16>,
        /// Bytes of the largest request body; up to 1 GiB.
        ["number", "1048576"]
        pub body_bytes_max: usize = 1024 * 1024,
        /// How long a request's body may take to arrive.
        ["duration", "\"30s\""]
        #[serde(with = "required_duration")]
        pub read_within: Duration = Duration::from_secs(30),
        /// Bytes of the largest answer body that is stored; a larger one passes and is not replayed.
        ["number", "1048576"]
        pub answer_bytes_max: usize = 1024 * 1024,
        /// Further headers to store; never those that belong to one client.
        ["list of headers", "[]"]
        pub stored_headers: Vec<String>,
        /// A body with `Content-Digest` is sent on as it comes.
        ["true or false", "false"]
        pub streams: bool,
        /// Requests pass **unguarded** while the ledger is unavailable; not allowed for external, human and financial classes.
        ["true or false", "false"]
        pub open: bool,
        /// A log line per request.
        ["true or false", "`true` at the gateway; `false` at the layer, whose service has a log of its own"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub access_log: Option<bool>,
    }
}

declaration! {
    /// What a key that was used for another request is answered with.
    [derive(Copy), serde(default)]
    pub struct ReusedDeclaration {
        /// The status.
        ["422 or 409", "422"]
        pub status: u16 = 422,
        /// The code of the problem, one of `onefold errors`; in Rust also one of your own.
        ["code", "\"IDEMPOTENCY_KEY_REUSED\""]
        #[serde(with = "code")]
        pub code: Code = IDEMPOTENCY_KEY_REUSED,
    }
}

impl GuardDeclaration {
    /// Refuses what cannot hold, or what a route of this class may not do.
    pub fn check(&self, class: EffectClass) -> Result<(), Mistake> {
        check_header(&self.header).map_err(|error| Mistake::value("header", error))?;
        if self.methods().is_empty() {
            return Err(Mistake::wrong("methods", "nothing would be guarded", "write [\"POST\", \"PATCH\"]"));
        }
        if let Some(status) = self.answers.keys().find(|status| !(200..=599).contains(*status)) {
            let what = format!("{status} is not a status of an answer");
            return Err(Mistake::wrong("answers", what, "write 402 = \"final\""));
        }
        self.check_evidence()?;
        check_pointer("business_key", self.business_key.as_deref())?;
        check_number("waiters_max", self.waiters_max, 0..=1_000_000)?;
        check_status("in_flight_status", self.in_flight_status, &[409, 425, 503])?;
        check_number("in_flight_max", self.in_flight_max, 1..=1_000_000)?;
        check_status("reused.status", self.reused.status, &[422, 409])?;
        if let Some(status) = self.replay_status {
            check_number("replay_status", status, 200..=299)?;
        }
        check_number("body_bytes_max", self.body_bytes_max, 1..=1 << 30)?;
        check_longer_than_zero("read_within", Some(self.read_within))?;
        check_headers("stored_headers", &self.stored_headers, may_be_stored)?;
        self.check_open(class)
    }

    fn check_evidence(&self) -> Result<(), Mistake> {
        let Some(given) = &self.evidence else { return Ok(()) };
        let header = self.evidence_header();
        if given.starts_with('/') || header.is_some_and(|name| check_header(name).is_ok()) {
            return Ok(());
        }
        let what = format!("{given:?} does not say where the evidence is");
        Err(Mistake::wrong("evidence", what, "write \"/id\" or \"header:Location\""))
    }

    fn check_open(&self, class: EffectClass) -> Result<(), Mistake> {
        match class {
            EffectClass::ExternalCommand
            | EffectClass::MessagePublish
            | EffectClass::HumanNotification
            | EffectClass::FinancialOrLegal
                if self.open =>
            {
                let what = format!("a route of class {class} may not be open");
                let hint = "without the ledger such an effect could happen twice: leave `open` out";
                Err(Mistake::wrong("open", what, hint))
            }
            EffectClass::Pure
            | EffectClass::Converging
            | EffectClass::Local
            | EffectClass::ExternalCommand
            | EffectClass::MessagePublish
            | EffectClass::HumanNotification
            | EffectClass::FinancialOrLegal => Ok(()),
        }
    }

    /// Methods that are guarded.
    pub fn methods(&self) -> &[GuardedMethod] {
        self.methods.as_deref().unwrap_or(&[GuardedMethod::Post, GuardedMethod::Patch])
    }

    /// The header that holds the evidence, where it is one.
    pub fn evidence_header(&self) -> Option<&str> {
        self.evidence.as_deref().and_then(|text| text.strip_prefix("header:"))
    }

    /// Says of a route's kind what the kind itself leaves open. This is the one place where a route's kind has other
    /// defaults than a kind without a route.
    pub fn complete(&self, kind: &mut KindDeclaration) {
        kind.retention.result.get_or_insert(RESULT_FOR);
        kind.retention.id.get_or_insert(ID_FOR);
        kind.result_bytes_max.get_or_insert(RESULT_BYTES_MAX.max(self.answer_bytes_max.saturating_add(HEAD_BYTES_MAX)));
        // Its answers are replayed, so they are remembered.
        kind.remember |= kind.class == Some(EffectClass::Pure);
    }
}

fn may_be_stored(name: &str) -> Result<()> {
    if !NEVER_STORED.contains(&name) {
        return Ok(());
    }
    let what = format!("{name} belongs to one client and is never stored");
    Err(Error::new(DECLARATION_INVALID, what).hint("leave it out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_the_guide_shows_are_those_that_hold() {
        crate::setting::tests::shown_defaults_hold::<GuardDeclaration>(GuardDeclaration::SETTINGS);
        crate::setting::tests::shown_defaults_hold::<ReusedDeclaration>(ReusedDeclaration::SETTINGS);
        let methods = GuardDeclaration::SETTINGS.iter().find(|setting| setting.key == "methods").unwrap();
        let shown = format!("methods = {}\n", methods.default.trim_matches('`'));
        let shown: GuardDeclaration = toml::from_str(&shown).unwrap();
        assert_eq!(shown.methods(), GuardDeclaration::default().methods());
    }

    #[test]
    fn only_what_may_happen_twice_may_be_open() {
        let open = GuardDeclaration { open: true, ..GuardDeclaration::default() };
        for class in EffectClass::ALL {
            let harmless = matches!(class, EffectClass::Pure | EffectClass::Converging | EffectClass::Local);
            assert_eq!(open.check(class).is_ok(), harmless, "{class}");
            assert!(GuardDeclaration::default().check(class).is_ok(), "{class}");
        }
    }

    #[test]
    fn what_rust_fills_in_is_checked_as_a_file_is() {
        let default = GuardDeclaration::default;
        let rows = [
            ("header", GuardDeclaration { header: "two words".to_owned(), ..default() }),
            ("methods", GuardDeclaration { methods: Some(Vec::new()), ..default() }),
            ("answers", GuardDeclaration { answers: [(99, StatusMeaning::Final)].into(), ..default() }),
            ("evidence", GuardDeclaration { evidence: Some("id".to_owned()), ..default() }),
            ("business_key", GuardDeclaration { business_key: Some("id".to_owned()), ..default() }),
            ("in_flight_max", GuardDeclaration { in_flight_max: 0, ..default() }),
            ("replay_status", GuardDeclaration { replay_status: Some(404), ..default() }),
            ("read_within", GuardDeclaration { read_within: Duration::ZERO, ..default() }),
            ("stored_headers.0", GuardDeclaration { stored_headers: vec!["Date".to_owned()], ..default() }),
        ];
        for (key, guard) in rows {
            let error = guard.check(EffectClass::Converging).unwrap_err().of("route \"pay\"");
            assert!(error.detail().starts_with(&format!("route \"pay\": {key}: ")), "{error}");
        }
    }
}
