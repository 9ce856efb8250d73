//! How a declared route speaks HTTP: its declaration, checked and in HTTP's own types. Layer and gateway make it here.

use std::sync::Arc;

use axum::http::{HeaderName, Method, StatusCode};
use onefold_config::{GuardDeclaration, Mistake};
use onefold_core::Error;
use onefold_core::effect::EffectClass;
use onefold_core::error::DECLARATION_INVALID;

use super::answer_meaning::Answers;
use super::buffered_body::BodyLimits;
use super::evidence::Evidence;
use super::stored::STORED_HEADERS;
use crate::caller::{Anonymous, Identify};

/// What no declaration can say of a route: what surrounds it in this process.
#[derive(Clone)]
pub struct RouteContext {
    /// Who calls.
    pub caller: Arc<dyn Identify>,
    /// The header in which the upstream takes a key of its own.
    pub provider_key: Option<HeaderName>,
    /// Who logs requests of which the declaration says nothing.
    pub access_log: AccessLog,
}

/// Who logs requests unless a route says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessLog {
    /// We do: a gateway has the only log.
    Ours,
    /// The service behind the layer does.
    OfTheService,
}

impl Default for RouteContext {
    /// What a layer has: nobody is identified, and nothing is known of what is called.
    fn default() -> Self {
        Self { caller: Arc::new(Anonymous), provider_key: None, access_log: AccessLog::OfTheService }
    }
}

/// A declared route, checked, in HTTP's own types.
pub struct RouteSettings {
    /// As it was declared.
    pub(super) declared: GuardDeclaration,
    pub(super) context: RouteContext,
    pub(super) header: HeaderName,
    pub(super) methods: Vec<Method>,
    pub(super) answers: Answers,
    pub(super) stored_headers: Vec<HeaderName>,
    pub(super) replay_status: Option<StatusCode>,
    pub(super) in_flight_status: StatusCode,
    pub(super) reused_status: StatusCode,
    pub(super) evidence: Evidence,
    pub(super) body: BodyLimits,
}

impl RouteSettings {
    /// The settings of a route of this class, or its first mistake.
    pub fn resolve(declared: GuardDeclaration, class: EffectClass, context: RouteContext) -> Result<Self, Mistake> {
        declared.check(class)?;
        let mut stored_headers = STORED_HEADERS.to_vec();
        for name in &declared.stored_headers {
            let name = header_name("stored_headers", name)?;
            if !stored_headers.contains(&name) {
                stored_headers.push(name);
            }
        }
        Ok(Self {
            header: header_name("header", &declared.header)?,
            methods: declared.methods().iter().map(|guarded| method(guarded.as_str())).collect::<Result<_, _>>()?,
            answers: Answers::declared(&declared),
            stored_headers,
            replay_status: declared.replay_status.map(|code| status("replay_status", code)).transpose()?,
            in_flight_status: status("in_flight_status", declared.in_flight_status)?,
            reused_status: status("reused.status", declared.reused.status)?,
            evidence: match (declared.evidence_header(), &declared.evidence) {
                (Some(name), _) => Evidence::Header(header_name("evidence", name)?),
                (None, Some(pointer)) => Evidence::Body(pointer.clone()),
                (None, None) => Evidence::Answer,
            },
            body: BodyLimits::of_request(declared.body_bytes_max, declared.read_within),
            declared,
            context,
        })
    }

    pub(super) fn access_log(&self) -> bool {
        self.declared.access_log.unwrap_or(self.context.access_log == AccessLog::Ours)
    }
}

/// A header's name in HTTP's own type.
pub fn header_name(key: &'static str, name: &str) -> Result<HeaderName, Mistake> {
    name.parse().map_err(|_| unreadable(key, &format!("{name:?} is not a header name")))
}

fn status(key: &'static str, code: u16) -> Result<StatusCode, Mistake> {
    StatusCode::from_u16(code).map_err(|_| unreadable(key, &format!("{code} is not a status")))
}

fn method(name: &str) -> Result<Method, Mistake> {
    name.parse().map_err(|_| unreadable("methods", &format!("{name:?} is not a method")))
}

fn unreadable(key: &'static str, what: &str) -> Mistake {
    Mistake::value(key, Error::new(DECLARATION_INVALID, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_takes_the_header_names_that_http_takes() {
        let candidates = (0..=u8::MAX).map(|byte| format!("x{}", char::from(byte)));
        for name in candidates.chain([String::new(), "Idempotency-Key".to_owned(), "two words".to_owned()]) {
            let declared = GuardDeclaration { header: name.clone(), ..GuardDeclaration::default() };
            let taken = declared.check(EffectClass::Converging).is_ok();
            assert_eq!(taken, name.parse::<HeaderName>().is_ok(), "{name:?}");
        }
    }

    #[test]
    fn the_default_header_is_that_of_the_draft() {
        let declared = GuardDeclaration::default();
        let settings = RouteSettings::resolve(declared, EffectClass::Local, RouteContext::default()).unwrap();
        assert_eq!(settings.header, super::super::IDEMPOTENCY_KEY);
        assert!(!settings.access_log());
    }

    #[test]
    fn further_headers_are_stored_beside_those_of_every_answer() {
        let stored = vec!["X-Reference".to_owned(), "Location".to_owned()];
        let declared = GuardDeclaration { stored_headers: stored, ..GuardDeclaration::default() };
        let settings = RouteSettings::resolve(declared, EffectClass::Local, RouteContext::default()).unwrap();
        assert_eq!(settings.stored_headers.len(), STORED_HEADERS.len() + 1);
        assert!(settings.stored_headers.iter().any(|name| name == "x-reference"));
    }
}
