//! `[dependency.NAME]`: how much a service that routes call is asked for.

use std::time::Duration;

use onefold_core::Result;
use onefold_core::declare::Place;
use serde::Deserialize;
use serde_spanned::Spanned;

use super::{positive, within};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DependencyText {
    breaker: Option<BreakerText>,
    bulkhead: Option<Spanned<u32>>,
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
    /// Failures in a row that open the breaker, and for how long.
    pub(crate) breaker: Option<(u32, Duration)>,
    /// Calls at once.
    pub(crate) bulkhead: Option<u32>,
    /// Calls in a time.
    pub(crate) rate: Option<(u32, Duration)>,
}

pub(super) fn read(place: &Place<'_>, name: Spanned<String>, text: DependencyText) -> Result<DeclaredDependency> {
    let breaker = match text.breaker {
        None => None,
        Some(breaker) => {
            let failures = within(place, Some(breaker.failures), 1..=1_000_000, 1)?;
            Some((failures, positive(place, &breaker.open_for)?))
        }
    };
    let bulkhead = text.bulkhead.map(|calls| within(place, Some(calls), 1..=1_000_000, 1)).transpose()?;
    let rate = text.rate.as_ref().map(|text| {
        rate(text.get_ref()).ok_or_else(|| place.error(text.span(), "this is no rate", "write \"50/s\", \"600/m\" or \"9000/h\""))
    });
    Ok(DeclaredDependency { name: name.into_inner(), breaker, bulkhead, rate: rate.transpose()? })
}

fn rate(text: &str) -> Option<(u32, Duration)> {
    let (calls, unit) = text.split_once('/')?;
    let per = match unit {
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        _ => return None,
    };
    Some((calls.parse().ok().filter(|calls| *calls > 0)?, per))
}
