//! What an answer says of the effect.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, HeaderName, StatusCode};
use onefold_config::{GuardDeclaration, StatusMeaning};
use onefold_core::call::{CallMeaning, CallOutcome, GrpcStatus, KeySent, Promises, Sent, judge, judge_keyed};
use onefold_core::ledger::SideEffect;
use onefold_core::retry::Category;
use onefold_runtime::Dependency;

/// By this header an upstream that knows better says what it did; it never reaches the client.
pub const ONEFOLD_EFFECT: HeaderName = HeaderName::from_static("onefold-effect");

/// What an answer says of the effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerMeaning {
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

impl From<StatusMeaning> for AnswerMeaning {
    fn from(declared: StatusMeaning) -> Self {
        match declared {
            StatusMeaning::NotApplied => Self::None,
            StatusMeaning::Applied => Self::Applied,
            StatusMeaning::Final => Self::Final,
            StatusMeaning::Unknown => Self::Unknown(Category::Unexpected),
        }
    }
}

impl AnswerMeaning {
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
pub(super) struct Answers {
    by_status: BTreeMap<u16, AnswerMeaning>,
    trusts_upstream: bool,
}

impl Answers {
    /// What a route declares of them.
    pub(super) fn declared(guard: &GuardDeclaration) -> Self {
        let by_status = guard.answers.iter().map(|(status, meaning)| (*status, (*meaning).into()));
        Self { by_status: by_status.collect(), trusts_upstream: guard.trust_effect_header }
    }

    /// What an answer means by its status and headers, and by whether its key was new to the upstream. What the upstream
    /// says goes first, then what the route declares, then what its dependency does.
    pub(super) fn effect(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        key: KeySent,
        dependency: Option<&Dependency>,
    ) -> AnswerMeaning {
        if let Some(effect) = self.said(headers) {
            return effect;
        }
        if let Some(effect) = self.by_status.get(&status.as_u16()) {
            return *effect;
        }
        if let Some(meaning) = dependency.and_then(|dependency| dependency.answers().get(&status.as_u16())) {
            return (*meaning).into();
        }
        if status.is_success() || status.is_redirection() {
            return AnswerMeaning::Applied;
        }
        meant(&judge_keyed(status.as_u16(), key, &Promises::default()))
    }

    /// What the answer to a unary gRPC call means.
    pub(super) fn effect_of_grpc(&self, headers: &HeaderMap, trailers: Option<&HeaderMap>) -> AnswerMeaning {
        if let Some(effect) = self.said(headers) {
            return effect;
        }
        let number = |headers: &HeaderMap| headers.get("grpc-status")?.to_str().ok()?.parse().ok();
        match trailers.and_then(number).or_else(|| number(headers)).map(GrpcStatus::from_number) {
            Some(None) => AnswerMeaning::Applied,
            Some(Some(status)) => meant(&judge(CallOutcome::Grpc(status), Sent::Something, &Promises::default())),
            None => AnswerMeaning::Unknown(Category::Unexpected),
        }
    }

    fn said(&self, headers: &HeaderMap) -> Option<AnswerMeaning> {
        let said = headers.get(ONEFOLD_EFFECT).filter(|_| self.trusts_upstream)?;
        match said.as_bytes() {
            b"none" => Some(AnswerMeaning::None),
            b"applied" => Some(AnswerMeaning::Applied),
            b"unknown" => Some(AnswerMeaning::Unknown(Category::DownstreamUnavailable)),
            _ => None,
        }
    }
}

fn meant(meaning: &CallMeaning) -> AnswerMeaning {
    match meaning {
        CallMeaning::NotSent(_) | CallMeaning::NotApplied(_) => AnswerMeaning::None,
        CallMeaning::Unknown(category) => AnswerMeaning::Unknown(*category),
        CallMeaning::StillRunning => AnswerMeaning::StillRunning,
        // The client's own request was passed on: what is wrong with it is the client's to fix.
        CallMeaning::Broken(_) | CallMeaning::Final | CallMeaning::Business(_) => AnswerMeaning::Final,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn with(answers: &[(u16, StatusMeaning)]) -> Answers {
        let answers = answers.iter().copied().collect();
        Answers::declared(&GuardDeclaration { answers, ..GuardDeclaration::default() })
    }

    fn trusting() -> Answers {
        Answers::declared(&GuardDeclaration { trust_effect_header: true, ..GuardDeclaration::default() })
    }

    fn effect(answers: &Answers, status: u16, said: Option<&'static str>) -> AnswerMeaning {
        let mut headers = HeaderMap::new();
        if let Some(said) = said {
            headers.insert(ONEFOLD_EFFECT, HeaderValue::from_static(said));
        }
        answers.effect(StatusCode::from_u16(status).unwrap(), &headers, KeySent::First, None)
    }

    #[test]
    fn every_status_means_what_the_table_says() {
        let not_applied = [401, 403, 405, 407, 408, 411, 413, 414, 415, 417, 421, 425, 426, 428, 429, 431];
        for status in 200..600 {
            let meant = effect(&Answers::default(), status, None);
            match status {
                200..=399 => assert_eq!(meant, AnswerMeaning::Applied, "{status}"),
                _ if not_applied.contains(&status) => assert_eq!(meant, AnswerMeaning::None, "{status}"),
                400..=499 => assert_eq!(meant, AnswerMeaning::Final, "{status}"),
                _ => assert!(matches!(meant, AnswerMeaning::Unknown(_)), "{status}"),
            }
        }
    }

    #[test]
    fn a_route_may_say_otherwise_and_an_upstream_only_where_it_is_trusted() {
        let answers = with(&[(503, StatusMeaning::NotApplied), (202, StatusMeaning::Unknown)]);
        assert_eq!(effect(&answers, 503, None), AnswerMeaning::None);
        assert!(matches!(effect(&answers, 202, None), AnswerMeaning::Unknown(_)));
        assert_eq!(effect(&Answers::default(), 200, Some("none")), AnswerMeaning::Applied);
        let trusting = trusting();
        assert_eq!(effect(&trusting, 500, Some("none")), AnswerMeaning::None);
        assert_eq!(effect(&trusting, 500, Some("applied")), AnswerMeaning::Applied);
        assert!(matches!(effect(&trusting, 200, Some("unknown")), AnswerMeaning::Unknown(_)));
        assert!(matches!(effect(&trusting, 500, Some("maybe")), AnswerMeaning::Unknown(_)));
    }

    #[test]
    fn a_repeated_key_in_flight_is_still_running_unless_the_route_or_the_upstream_says_otherwise() {
        let repeated = |answers: &Answers, status: u16, said: Option<&'static str>| {
            let said = said.map(|said| (ONEFOLD_EFFECT, HeaderValue::from_static(said)));
            let headers = HeaderMap::from_iter(said);
            answers.effect(StatusCode::from_u16(status).unwrap(), &headers, KeySent::Repeated, None)
        };
        let plain = Answers::default();
        for status in 200..600 {
            let expected =
                if [409, 425].contains(&status) { AnswerMeaning::StillRunning } else { effect(&plain, status, None) };
            assert_eq!(repeated(&plain, status, None), expected, "{status}");
        }
        assert_eq!(repeated(&with(&[(409, StatusMeaning::Final)]), 409, None), AnswerMeaning::Final);
        assert_eq!(repeated(&trusting(), 409, Some("applied")), AnswerMeaning::Applied);
    }

    #[test]
    fn a_grpc_answer_is_judged_by_its_status_wherever_it_stands() {
        let answers = Answers::default();
        let with = |status: &'static str| {
            HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), HeaderValue::from_static(status))])
        };
        assert_eq!(answers.effect_of_grpc(&HeaderMap::new(), Some(&with("0"))), AnswerMeaning::Applied);
        assert_eq!(answers.effect_of_grpc(&with("3"), None), AnswerMeaning::Final);
        assert_eq!(answers.effect_of_grpc(&with("8"), None), AnswerMeaning::None);
        for unknown in [with("14"), with("4"), HeaderMap::new()] {
            assert!(matches!(answers.effect_of_grpc(&unknown, None), AnswerMeaning::Unknown(_)), "{unknown:?}");
        }
    }

    #[test]
    fn what_a_dependency_declares_holds_where_the_route_says_nothing() {
        let answers = [(503, StatusMeaning::NotApplied), (404, StatusMeaning::Unknown)].into();
        let limits = onefold_config::DependencyDeclaration { answers, ..Default::default() };
        let bank = Dependency::new("bank", limits, std::sync::Arc::new(onefold_runtime::SystemClock));
        let route = with(&[(404, StatusMeaning::Final)]);
        let effect = |status: u16, dependency| {
            route.effect(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), KeySent::First, dependency)
        };
        assert_eq!(effect(503, Some(&bank)), AnswerMeaning::None);
        assert_eq!(effect(404, Some(&bank)), AnswerMeaning::Final, "the route's own come first");
        assert!(matches!(effect(503, None), AnswerMeaning::Unknown(_)));
    }
}
