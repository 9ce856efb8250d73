//! One `[[route]]` as plain values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::{HeaderName, Method};
use onefold_core::Result;
use onefold_core::declare::{self, DeclaredQuestion, Place};
use onefold_core::effect::{Contract, EffectClass, Policy, Retention, Terms};
use onefold_core::operation::KindName;
use onefold_http::gateway::{Connect, Pattern, Protocol, Upstream};
use onefold_http::idempotent::{NEVER_STORED, RouteSettings};
use serde_spanned::Spanned;

use super::caller::{self, DeclaredCaller, header};
use super::text::{CredentialText, RouteText};
use super::{positive, within};

/// What an answer's status and headers take beside its body.
const HEAD_BYTES_MAX: usize = 256 * 1024;

/// Whether a request must carry a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRule {
    Required,
    Optional,
}

/// What an upstream's status says about the effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerMeans {
    /// Nothing took hold; the key stays usable.
    None,
    /// It took hold: stored and replayed.
    Applied,
    /// No, for good: stored and replayed.
    Final,
    /// Nobody knows.
    Unknown,
}

/// A route as configuration declares it.
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the file, and has its name there")]
#[derive(Debug, Clone)]
pub(crate) struct DeclaredRoute {
    /// Its kind is its name.
    pub(crate) terms: Terms,
    pub(crate) question: Option<DeclaredQuestion>,
    pub(crate) pattern: Pattern,
    pub(crate) upstreams: Vec<Upstream>,
    pub(crate) connect: Connect,
    pub(crate) preserve_host: bool,
    /// How long the head of the upstream's answer may take.
    pub(crate) timeout: Duration,
    pub(crate) key: KeyRule,
    pub(crate) header: HeaderName,
    pub(crate) caller: DeclaredCaller,
    /// A stored body is replayed to anyone who has the key.
    pub(crate) anonymous_replay: bool,
    pub(crate) tenant_header: Option<HeaderName>,
    /// Headers with an underscore in their name that pass.
    pub(crate) underscored_headers: Vec<HeaderName>,
    /// What the upstream knows us by: a header, and the file with its value.
    pub(crate) credential: Option<(HeaderName, PathBuf)>,
    /// The header in which the provider gets the key.
    pub(crate) provider_key: Option<HeaderName>,
    pub(crate) answers: BTreeMap<u16, AnswerMeans>,
    pub(crate) trust_effect_header: bool,
    pub(crate) body_bytes_max: usize,
    pub(crate) body_read_timeout: Duration,
    /// Bytes of an answer's body that are stored; a larger one passes and is not replayed.
    pub(crate) answer_bytes_max: usize,
    pub(crate) stored_headers: Vec<HeaderName>,
    pub(crate) in_flight_max: usize,
    pub(crate) waiters: usize,
    pub(crate) wait: Duration,
    pub(crate) in_flight_status: u16,
    /// Status and code of a key that is used for another request.
    pub(crate) reused: Option<(u16, Option<String>)>,
    /// A JSON pointer into the answer, or `header:NAME`.
    pub(crate) evidence: Option<String>,
    pub(crate) idempotent_methods: Vec<Method>,
    /// A JSON pointer into the request's body.
    pub(crate) business_key: Option<String>,
    pub(crate) streams: bool,
    pub(crate) open: bool,
    pub(crate) access_log: bool,
}

pub(super) fn read(place: &Place<'_>, text: RouteText, folder: &Path) -> Result<DeclaredRoute> {
    let who = format!("route {:?}", text.name.get_ref());
    let at = |span: std::ops::Range<usize>| move |error| place.wrap(span.clone(), "route", &error);
    let question = match &text.on_unknown {
        None => None,
        Some(value) => declare::question(value.get_ref()).map_err(|error| place.wrap(value.span(), &who, &error))?,
    };
    let (terms, answer_bytes_max) = (terms(place, &text)?, answer_bytes_max(&text));
    let timeout = text.timeout.as_ref().map_or(Ok(terms.deadline_for), |text| positive(place, text))?;
    if let Some(given) = text.timeout.as_ref().filter(|_| timeout > terms.deadline_for) {
        return Err(place.error(given.span(), "the timeout is longer than the deadline", "raise `deadline` above it"));
    }
    let caller = text.caller.as_ref().ok_or_else(|| {
        place.error(
            text.name.span(),
            &format!("{who} does not say who calls"),
            "write caller = \"anonymous\", \"certificate\", { jwt = … } or { auth = … }",
        )
    })?;
    let caller = caller::read(place, caller)?.in_folder(folder);
    let tenant_header = named_header(place, text.tenant_header.as_ref())?;
    if let Some(given) = text.tenant_header.as_ref().filter(|_| caller == DeclaredCaller::Anonymous) {
        return Err(place.error(given.span(), "an anonymous caller has no tenant", "leave it out, or say who calls"));
    }
    Ok(DeclaredRoute {
        question,
        pattern: Pattern::parse(text.pattern.get_ref()).map_err(at(text.pattern.span()))?,
        upstreams: upstreams(place, &text.upstream)?,
        connect: connect(place, &text, timeout, folder)?,
        preserve_host: text.preserve_host,
        timeout,
        key: key(place, text.key.as_ref())?,
        header: named_header(place, text.header.as_ref())?.unwrap_or(HeaderName::from_static("idempotency-key")),
        caller,
        anonymous_replay: text.anonymous_replay,
        tenant_header,
        underscored_headers: underscored(place, &text.underscored_headers)?,
        credential: credential(place, text.credential, folder)?,
        provider_key: provider_key(place, text.on_unknown.as_ref())?,
        answers: answers(place, &text.answers)?,
        trust_effect_header: text.trust_effect_header,
        body_bytes_max: within(place, text.body_bytes_max, 1..=1 << 30, 1024 * 1024)?,
        answer_bytes_max,
        body_read_timeout: text
            .body_read_timeout
            .as_ref()
            .map_or(Ok(Duration::from_secs(30)), |text| positive(place, text))?,
        stored_headers: stored(place, &text.stored_headers)?,
        in_flight_max: within(place, text.in_flight_max, 1..=1_000_000, 1_000)?,
        waiters: within(place, text.waiters, 0..=1_000_000, 1_000)?,
        wait: text.wait.as_ref().map_or(Ok(Duration::from_secs(5)), |text| place.duration(text))?,
        in_flight_status: one_of(place, text.in_flight_status.as_ref(), &[409, 425, 503])?,
        reused: match &text.reused {
            None => None,
            Some(reused) => {
                let status = one_of(place, Some(&reused.status), &[422, 409])?;
                Some((status, reused.code.as_ref().map(|code| code.get_ref().clone())))
            }
        },
        evidence: evidence(place, text.evidence.as_ref())?,
        idempotent_methods: methods(place, &text.idempotent_methods)?,
        business_key: match &text.business_key {
            Some(given) if !given.get_ref().starts_with('/') => {
                return Err(place.error(given.span(), "this is no JSON pointer", "write \"/caseId\""));
            }
            given => given.as_ref().map(|given| given.get_ref().clone()),
        },
        streams: text.streams,
        open: text.open,
        access_log: text.access_log.unwrap_or(true),
        terms,
    })
}

fn terms(place: &Place<'_>, text: &RouteText) -> Result<Terms> {
    let who = format!("route {:?}", text.name.get_ref());
    let at_name = |error| place.wrap(text.name.span(), &who, &error);
    let class = text.class.as_ref().ok_or_else(|| {
        place.error(
            text.name.span(),
            &format!("{who} has no class"),
            "say what kind of effect it has: class = \"external-command\"",
        )
    })?;
    let at_class = |error| place.wrap(class.span(), &who, &error);
    let read = EffectClass::parse(class.get_ref()).map_err(at_class)?;
    if read == EffectClass::Local {
        let what = format!("{who} is local, but a gateway is in no transaction of the upstream");
        return Err(place.error(
            class.span(),
            &what,
            "use converging, external-command, human-notification or financial-or-legal",
        ));
    }
    let contract = match &text.on_unknown {
        None => Contract::default_of(read),
        Some(value) => {
            let wrapped = |error| place.wrap(value.span(), &who, &error);
            Contract::new(read, declare::on_unknown(value.get_ref()).map_err(wrapped)?).map_err(wrapped)?
        }
    };
    if matches!(contract.policy(), Policy::Outbox) {
        let what = format!("{who} publishes through an outbox, which a gateway does not have");
        return Err(place.error(class.span(), &what, "write on_unknown = { same_key = …, provider_memory = … }"));
    }
    let duration = |text: &Option<Spanned<String>>| text.as_ref().map(|text| positive(place, text)).transpose();
    let mut terms = Terms::new(KindName::parse(text.name.get_ref()).map_err(at_name)?, contract);
    let waits = duration(&text.timeout)?.unwrap_or_default();
    terms.deadline_for = duration(&text.deadline)?.unwrap_or(terms.deadline_for.max(waits));
    // Keys are callers' own, and callers forget: unless told otherwise they are kept as the layer keeps them.
    let kept = RouteSettings::RETENTION;
    terms.retention = Retention {
        result_for: duration(&text.retention.result)?.or(kept.result_for),
        id_for: duration(&text.retention.id)?.or(kept.id_for),
        redelivery_for: None,
    };
    terms.remember = read == EffectClass::Pure;
    terms.dependency = text.dependency.as_ref().map(|name| name.get_ref().as_str().into());
    terms.result_bytes_max = answer_bytes_max(text) + HEAD_BYTES_MAX;
    if let Some(value) = &text.fingerprint {
        terms.fingerprint = declare::fingerprint(place, value)?;
    }
    terms.checked().map_err(at_name)
}

fn upstreams(place: &Place<'_>, value: &Spanned<toml::Value>) -> Result<Vec<Upstream>> {
    let wrong =
        || place.error(value.span(), "this is no upstream", "write \"http://127.0.0.1:8080\", or a list of such");
    let texts: Option<Vec<&str>> = match value.get_ref() {
        toml::Value::String(text) => Some(vec![text.as_str()]),
        toml::Value::Array(list) => list.iter().map(toml::Value::as_str).collect(),
        toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Table(_) => None,
    };
    let texts = texts.filter(|texts| !texts.is_empty()).ok_or_else(wrong)?;
    let read = texts.into_iter().map(Upstream::parse).collect::<Result<Vec<_>>>();
    read.map_err(|error| place.wrap(value.span(), "upstream", &error))
}

/// How upstreams are connected to, where the head of an answer may take `timeout`.
fn connect(place: &Place<'_>, text: &RouteText, timeout: Duration, folder: &Path) -> Result<Connect> {
    let protocol = match &text.upstream_http2 {
        Some(given) if *given.get_ref() && text.preserve_host => {
            let what = "HTTP/2 names the upstream itself, so the client's host cannot be preserved";
            return Err(place.error(given.span(), what, "leave out `preserve_host` or `upstream_http2`"));
        }
        Some(given) if *given.get_ref() => Protocol::Http2,
        Some(_) => Protocol::Http1,
        None => Protocol::Negotiated,
    };
    let within = match &text.connect_timeout {
        // Time is left for the answer.
        None => Connect::default().within.min(timeout / 2),
        Some(given) => positive(place, given)?,
    };
    if let Some(given) = text.connect_timeout.as_ref().filter(|_| within >= timeout) {
        let what = "connecting may take as long as the whole answer";
        return Err(place.error(given.span(), what, "make `connect_timeout` shorter than `timeout`"));
    }
    Ok(Connect { ca: text.upstream_ca.as_ref().map(|file| folder.join(file)), protocol, within })
}

fn key(place: &Place<'_>, text: Option<&Spanned<String>>) -> Result<KeyRule> {
    match text.map(|text| (text.get_ref().as_str(), text.span())) {
        None | Some(("required", _)) => Ok(KeyRule::Required),
        Some(("optional", _)) => Ok(KeyRule::Optional),
        Some((_, span)) => {
            Err(place.error(span, "a key is required or optional", "write \"required\" or \"optional\""))
        }
    }
}

fn named_header(place: &Place<'_>, text: Option<&Spanned<String>>) -> Result<Option<HeaderName>> {
    let read =
        |text: &Spanned<String>| header(text.get_ref()).map_err(|error| place.wrap(text.span(), "route", &error));
    text.map(read).transpose()
}

fn provider_key(place: &Place<'_>, on_unknown: Option<&Spanned<toml::Value>>) -> Result<Option<HeaderName>> {
    let Some(value) = on_unknown else { return Ok(None) };
    let name = value.get_ref().get("same_key").and_then(toml::Value::as_str);
    let read = |name| header(name).map_err(|error| place.wrap(value.span(), "same_key", &error));
    name.map(read).transpose()
}

fn answers(
    place: &Place<'_>,
    texts: &BTreeMap<Spanned<String>, Spanned<String>>,
) -> Result<BTreeMap<u16, AnswerMeans>> {
    let mut answers = BTreeMap::new();
    for (status, means) in texts {
        let number = status.get_ref().parse().ok().filter(|number| (200..=599).contains(number)).ok_or_else(|| {
            place.error(status.span(), &format!("{:?} is no status", status.get_ref()), "write 402 = \"final\"")
        })?;
        let means = match means.get_ref().as_str() {
            "none" => AnswerMeans::None,
            "applied" => AnswerMeans::Applied,
            "final" => AnswerMeans::Final,
            "unknown" => AnswerMeans::Unknown,
            other => {
                let what = format!("{other:?} does not say what the status means");
                return Err(place.error(means.span(), &what, "use \"none\", \"applied\", \"final\" or \"unknown\""));
            }
        };
        answers.insert(number, means);
    }
    Ok(answers)
}

/// Headers that are stored with an answer; those that belong to one client are none.
fn stored(place: &Place<'_>, names: &[Spanned<String>]) -> Result<Vec<HeaderName>> {
    let mut read = Vec::new();
    for name in names {
        let header = header(name.get_ref()).map_err(|error| place.wrap(name.span(), "stored_headers", &error))?;
        if NEVER_STORED.contains(&header) {
            let what = format!("{header} belongs to one client and is never stored");
            return Err(place.error(name.span(), &what, "leave it out"));
        }
        read.push(header);
    }
    Ok(read)
}

/// Headers that pass although their name has an underscore.
fn underscored(place: &Place<'_>, names: &[Spanned<String>]) -> Result<Vec<HeaderName>> {
    let read = |name: &Spanned<String>| {
        let header = header(name.get_ref()).map_err(|error| place.wrap(name.span(), "underscored_headers", &error))?;
        if header.as_str().contains('_') {
            return Ok(header);
        }
        let what = format!("{header} has no underscore and passes anyway");
        Err(place.error(name.span(), &what, "leave it out"))
    };
    names.iter().map(read).collect()
}

fn one_of(place: &Place<'_>, given: Option<&Spanned<u16>>, allowed: &[u16]) -> Result<u16> {
    match given {
        None => Ok(allowed.first().copied().unwrap_or(409)),
        Some(given) if allowed.contains(given.get_ref()) => Ok(*given.get_ref()),
        Some(given) => {
            let listed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            Err(place.error(given.span(), "this status is not possible here", &format!("use {}", listed.join(", "))))
        }
    }
}

fn evidence(place: &Place<'_>, text: Option<&Spanned<String>>) -> Result<Option<String>> {
    let Some(given) = text else { return Ok(None) };
    let header_named = given.get_ref().strip_prefix("header:").is_some_and(|name| header(name).is_ok());
    if header_named || given.get_ref().starts_with('/') {
        return Ok(Some(given.get_ref().clone()));
    }
    Err(place.error(
        given.span(),
        "this says nothing about where the evidence is",
        "write \"/id\" or \"header:Location\"",
    ))
}

fn methods(place: &Place<'_>, names: &[Spanned<String>]) -> Result<Vec<Method>> {
    let read = |name: &Spanned<String>| match name.get_ref().as_str() {
        "PUT" => Ok(Method::PUT),
        "DELETE" => Ok(Method::DELETE),
        _ => Err(place.error(name.span(), "only PUT and DELETE need to be opted in", "write [\"PUT\", \"DELETE\"]")),
    };
    names.iter().map(read).collect()
}

fn answer_bytes_max(text: &RouteText) -> usize {
    text.answer_bytes_max.unwrap_or_else(|| RouteSettings::default().body.answer_bytes_max)
}

fn credential(place: &Place<'_>, text: Option<CredentialText>, folder: &Path) -> Result<Option<(HeaderName, PathBuf)>> {
    let Some(CredentialText { header, file }) = text else { return Ok(None) };
    let name = named_header(place, header.as_ref())?.unwrap_or(axum::http::header::AUTHORIZATION);
    Ok(Some((name, folder.join(file))))
}
