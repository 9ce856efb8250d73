//! `[dependency.NAME]`: how much a service that routes call is asked for.

use onefold_core::Result;
use onefold_core::declare::Place;
use onefold_runtime::{Breaker, Limits, Rate};
use serde::Deserialize;
use serde_spanned::Spanned;

use super::{positive, within};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DependencyText {
    breaker: Option<BreakerText>,
    bulkhead: Option<Spanned<usize>>,
    rate: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BreakerText {
    failures: Spanned<u32>,
    open_for: Spanned<String>,
}

/// A dependency as configuration declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredDependency {
    pub(crate) name: String,
    pub(crate) limits: Limits,
}

pub(super) fn read(place: &Place<'_>, name: Spanned<String>, text: DependencyText) -> Result<DeclaredDependency> {
    let breaker = match text.breaker {
        None => None,
        Some(breaker) => {
            let failures = within(place, Some(breaker.failures), 1..=1_000_000, 1)?;
            Some(Breaker { failures, open_for: positive(place, &breaker.open_for)? })
        }
    };
    let bulkhead = text.bulkhead.map(|calls| within(place, Some(calls), 1..=1_000_000, 1)).transpose()?;
    let rate = text.rate.as_ref().map(|text| {
        Rate::parse(text.get_ref())
            .ok_or_else(|| place.error(text.span(), "this is no rate", "write \"50/s\", \"600/m\" or \"9000/h\""))
    });
    let limits = Limits { breaker, at_once_max: bulkhead, rate: rate.transpose()? };
    Ok(DeclaredDependency { name: name.into_inner(), limits })
}
