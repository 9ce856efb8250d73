//! What an answer says of the effect.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, HeaderName, StatusCode};
use onefold_core::call::{GrpcStatus, Happened, KeySent, Meaning, Promises, Sent, judge, judge_keyed};
use onefold_core::ledger::SideEffect;
use onefold_core::retry::Category;

/// By this header an upstream that knows better says what it did; it never reaches the client.
pub const ONEFOLD_EFFECT: HeaderName = HeaderName::from_static("onefold-effect");

/// What an answer says of the effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Surely nothing took hold: nothing is stored, the key stays usable.
    None,
    /// It took hold: stored and replayed.
    Applied,
    /// No, for good: stored and replayed.
    Final,
    /// It may have taken hold.
    Unknown(Category),
    /// This request did nothing; an earlier one with the same key is still at work. Nothing is stored, and the key is
    /// sent again later.
    StillRunning,
}

impl Effect {
    /// What the stored operation says of it.
    pub(super) fn side_effect(self) -> SideEffect {
        match self {
            Self::None | Self::Final => SideEffect::NotApplied,
            Self::Applied => SideEffect::Applied,
            Self::Unknown(_) | Self::StillRunning => SideEffect::Unknown,
        }
    }
}

/// What each answer of a route's upstream means, where that differs from what every caller must assume.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    by_status: BTreeMap<u16, Effect>,
    trusts_upstream: bool,
}

impl Answers {
    /// The same with a meaning for a status.
    #[must_use]
    pub fn with(mut self, status: u16, effect: Effect) -> Self {
        self.by_status.insert(status, effect);
        self
    }

    /// The same, believing the upstream's own `Onefold-Effect`.
    #[must_use]
    pub fn trusting_upstream(mut self) -> Self {
        self.trusts_upstream = true;
        self
    }

    /// What an answer means by its status and headers, and by whether its key was new to the upstream. What the upstream
    /// says and the route declares goes first.
    pub(super) fn effect(&self, status: StatusCode, headers: &HeaderMap, key: KeySent) -> Effect {
        if let Some(effect) = self.said(headers) {
            return effect;
        }
        if let Some(effect) = self.by_status.get(&status.as_u16()) {
            return *effect;
        }
        if status.is_success() || status.is_redirection() {
            return Effect::Applied;
        }
        meant(&judge_keyed(status.as_u16(), key, &Promises::default()))
    }

    /// What the answer to a unary gRPC call means.
    pub(super) fn effect_of_grpc(&self, headers: &HeaderMap, trailers: Option<&HeaderMap>) -> Effect {
        if let Some(effect) = self.said(headers) {
            return effect;
        }
        let number = |headers: &HeaderMap| headers.get("grpc-status")?.to_str().ok()?.parse().ok();
        match trailers.and_then(number).or_else(|| number(headers)).map(GrpcStatus::from_number) {
            Some(None) => Effect::Applied,
            Some(Some(status)) => meant(&judge(Happened::Grpc(status), Sent::Something, &Promises::default())),
            None => Effect::Unknown(Category::Unexpected),
        }
    }

    fn said(&self, headers: &HeaderMap) -> Option<Effect> {
        let said = headers.get(ONEFOLD_EFFECT).filter(|_| self.trusts_upstream)?;
        match said.as_bytes() {
            b"none" => Some(Effect::None),
            b"applied" => Some(Effect::Applied),
            b"unknown" => Some(Effect::Unknown(Category::DownstreamUnavailable)),
            _ => None,
        }
    }
}

fn meant(meaning: &Meaning) -> Effect {
    match meaning {
        Meaning::NotSent(_) | Meaning::NotApplied(_) => Effect::None,
        Meaning::Unknown(category) => Effect::Unknown(*category),
        Meaning::StillRunning => Effect::StillRunning,
        // The client's own request was passed on: what is wrong with it is the client's to fix.
        Meaning::Broken(_) | Meaning::Final | Meaning::Business(_) => Effect::Final,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn effect(answers: &Answers, status: u16, said: Option<&'static str>) -> Effect {
        let mut headers = HeaderMap::new();
        if let Some(said) = said {
            headers.insert(ONEFOLD_EFFECT, HeaderValue::from_static(said));
        }
        answers.effect(StatusCode::from_u16(status).unwrap(), &headers, KeySent::First)
    }

    #[test]
    fn every_status_means_what_the_table_says() {
        let not_applied = [401, 403, 405, 407, 408, 411, 413, 414, 415, 417, 421, 425, 426, 428, 429, 431];
        for status in 200..600 {
            let meant = effect(&Answers::default(), status, None);
            match status {
                200..=399 => assert_eq!(meant, Effect::Applied, "{status}"),
                _ if not_applied.contains(&status) => assert_eq!(meant, Effect::None, "{status}"),
                400..=499 => assert_eq!(meant, Effect::Final, "{status}"),
                _ => assert!(matches!(meant, Effect::Unknown(_)), "{status}"),
            }
        }
    }

    #[test]
    fn a_route_may_say_otherwise_and_an_upstream_only_where_it_is_trusted() {
        let answers = Answers::default().with(503, Effect::None).with(202, Effect::Unknown(Category::Unexpected));
        assert_eq!(effect(&answers, 503, None), Effect::None);
        assert!(matches!(effect(&answers, 202, None), Effect::Unknown(_)));
        assert_eq!(effect(&Answers::default(), 200, Some("none")), Effect::Applied);
        let trusting = Answers::default().trusting_upstream();
        assert_eq!(effect(&trusting, 500, Some("none")), Effect::None);
        assert_eq!(effect(&trusting, 500, Some("applied")), Effect::Applied);
        assert!(matches!(effect(&trusting, 200, Some("unknown")), Effect::Unknown(_)));
        assert!(matches!(effect(&trusting, 500, Some("maybe")), Effect::Unknown(_)));
    }

    #[test]
    fn a_repeated_key_in_flight_is_still_running_unless_the_route_or_the_upstream_says_otherwise() {
        let repeated = |answers: &Answers, status: u16, said: Option<&'static str>| {
            let said = said.map(|said| (ONEFOLD_EFFECT, HeaderValue::from_static(said)));
            let headers = HeaderMap::from_iter(said);
            answers.effect(StatusCode::from_u16(status).unwrap(), &headers, KeySent::Repeated)
        };
        let plain = Answers::default();
        for status in 200..600 {
            let expected =
                if [409, 425].contains(&status) { Effect::StillRunning } else { effect(&plain, status, None) };
            assert_eq!(repeated(&plain, status, None), expected, "{status}");
        }
        assert_eq!(repeated(&plain.clone().with(409, Effect::Final), 409, None), Effect::Final);
        assert_eq!(repeated(&plain.trusting_upstream(), 409, Some("applied")), Effect::Applied);
    }

    #[test]
    fn a_grpc_answer_is_judged_by_its_status_wherever_it_stands() {
        let answers = Answers::default();
        let with = |status: &'static str| {
            HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), HeaderValue::from_static(status))])
        };
        assert_eq!(answers.effect_of_grpc(&HeaderMap::new(), Some(&with("0"))), Effect::Applied);
        assert_eq!(answers.effect_of_grpc(&with("3"), None), Effect::Final);
        assert_eq!(answers.effect_of_grpc(&with("8"), None), Effect::None);
        for unknown in [with("14"), with("4"), HeaderMap::new()] {
            assert!(matches!(answers.effect_of_grpc(&unknown, None), Effect::Unknown(_)), "{unknown:?}");
        }
    }
}
