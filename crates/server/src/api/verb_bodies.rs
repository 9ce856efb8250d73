//! What a verb brings along: what was found out, why, and about which incidents.

use std::sync::Arc;

use onefold_core::error::{CodeName, REQUEST_BODY_INVALID};
use onefold_core::ledger::{Completion, Resolution, StoredResult, Verb};
use onefold_core::{Error, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::fields::{object, whole_or_none};
use super::names::StatusName;

/// What was found out about one incident. Give one of the three.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ResolveBody {
    /// It took hold.
    #[serde(default, deserialize_with = "object")]
    took_hold: Option<TookHold>,
    /// It did not happen; it may be claimed again.
    #[serde(default, deserialize_with = "object")]
    did_not_happen: Option<DidNotHappen>,
    /// It failed for good, with this code.
    #[serde(default)]
    #[schema(example = "NOTICE_REFUSED", pattern = "^[A-Z][A-Z0-9_]{0,63}$")]
    failed: Option<String>,
    /// Kept in the timeline, with who from the credential.
    #[schema(
        example = "found the notice in the provider's register",
        min_length = 1,
        max_length = 500,
        pattern = "[^\\s\\u0085]"
    )]
    why: String,
    /// The fence that was seen; a newer attempt since refuses the verb.
    #[serde(default, deserialize_with = "whole_or_none")]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    fence: Option<u64>,
    /// The status that was seen; a change since refuses the verb.
    #[serde(default)]
    #[schema(value_type = Option<StatusName>)]
    status: Option<String>,
    /// Only say what would happen.
    #[serde(default)]
    dry_run: bool,
}

/// What was found out about many incidents. Give one of the three.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ResolveManyBody {
    /// They took hold.
    #[serde(default, deserialize_with = "object")]
    took_hold: Option<TookHold>,
    /// They did not happen; they may be claimed again.
    #[serde(default, deserialize_with = "object")]
    did_not_happen: Option<DidNotHappen>,
    /// They failed for good, with this code.
    #[serde(default)]
    #[schema(example = "NOTICE_REFUSED", pattern = "^[A-Z][A-Z0-9_]{0,63}$")]
    failed: Option<String>,
    /// Kept in each timeline, with who from the credential.
    #[schema(
        example = "found the notices in the provider's register",
        min_length = 1,
        max_length = 500,
        pattern = "[^\\s\\u0085]"
    )]
    why: String,
    /// Which incidents.
    #[serde(default, deserialize_with = "object")]
    #[schema(value_type = BulkFilter, required)]
    filter: Option<BulkFilter>,
    /// Only say what would happen.
    #[serde(default)]
    dry_run: bool,
}

/// The effect is there.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TookHold {
    /// Where the proof lies.
    #[serde(default)]
    #[schema(example = "NTC-991", max_length = 1024)]
    reference: Option<String>,
    /// What duplicates are answered with from now on. Without it they are told that it was done, and that its result is not
    /// kept.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
}

/// The effect is not there.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DidNotHappen {
    /// Also while a late request may still arrive.
    #[serde(default)]
    force: bool,
}

/// Why, and what was seen when it was decided.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct VerbBody {
    /// Kept in the timeline, with who from the credential.
    #[schema(
        example = "found the notice in the provider's register",
        min_length = 1,
        max_length = 500,
        pattern = "[^\\s\\u0085]"
    )]
    pub(super) why: String,
    /// The fence that was seen; a newer attempt since refuses the verb.
    #[serde(default, deserialize_with = "whole_or_none")]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    pub(super) fence: Option<u64>,
    /// The status that was seen; a change since refuses the verb.
    #[serde(default)]
    #[schema(value_type = Option<StatusName>)]
    pub(super) status: Option<String>,
    /// Only say what would happen.
    #[serde(default)]
    pub(super) dry_run: bool,
}

/// Why, and which incidents.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct VerbManyBody {
    /// Kept in each timeline, with who from the credential.
    #[schema(example = "the provider was down all night", min_length = 1, max_length = 500, pattern = "[^\\s\\u0085]")]
    why: String,
    /// Which incidents.
    #[serde(default, deserialize_with = "object")]
    #[schema(value_type = BulkFilter, required)]
    filter: Option<BulkFilter>,
    /// Only say what would happen.
    #[serde(default)]
    dry_run: bool,
}

/// Which open incidents a verb is about: those of a kind, of a cause, or of both. There is no filter for every incident.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BulkFilter {
    #[serde(default)]
    #[schema(example = "notice.issue", pattern = "^[A-Za-z0-9._/-]{1,100}$")]
    pub(super) kind: Option<String>,
    /// The cause, as `/v1/incidents/groups` names it.
    #[serde(default)]
    #[schema(example = "HOLDER_LOST db1/42")]
    pub(super) group: Option<String>,
}

impl BulkFilter {
    /// A filter that names something.
    fn checked(self) -> Result<Self> {
        if self.kind.is_none() && self.group.as_deref().is_none_or(|group| group.trim().is_empty()) {
            return Err(Error::new(REQUEST_BODY_INVALID, "the filter names neither a kind nor a group")
                .hint("send {\"filter\": {\"kind\": …}} or {\"filter\": {\"group\": …}}; GET /v1/incidents/groups lists the groups"));
        }
        Ok(self)
    }
}

/// Which incidents are meant.
pub(super) struct Selection {
    pub(super) why: String,
    pub(super) filter: BulkFilter,
    pub(super) dry_run: bool,
}

impl VerbManyBody {
    pub(super) fn selection(self) -> Result<Selection> {
        Ok(Selection { why: reason(self.why)?, filter: named(self.filter)?, dry_run: self.dry_run })
    }
}

impl ResolveBody {
    pub(super) fn verb(self) -> Result<(Verb, VerbBody)> {
        let Self { took_hold, did_not_happen, failed, why, fence, status, dry_run } = self;
        Ok((Verb::Resolve(resolution(took_hold, did_not_happen, failed)?), VerbBody { why, fence, status, dry_run }))
    }
}

impl ResolveManyBody {
    pub(super) fn verb(self) -> Result<(Verb, Selection)> {
        let Self { took_hold, did_not_happen, failed, why, filter, dry_run } = self;
        let selection = Selection { why: reason(why)?, filter: named(filter)?, dry_run };
        let verb = Verb::Resolve(resolution(took_hold, did_not_happen, failed)?);
        // Also when the filter matches nothing.
        verb.checked()?;
        Ok((verb, selection))
    }
}

/// A reason, checked also when the filter matches nothing.
fn reason(why: String) -> Result<String> {
    onefold_core::ledger::check_reason(&why)?;
    Ok(why)
}

fn named(filter: Option<BulkFilter>) -> Result<BulkFilter> {
    let missing = || {
        Error::new(REQUEST_BODY_INVALID, "a filter is missing")
            .hint("send {\"filter\": {\"group\": …}}, and first with \"dryRun\": true")
    };
    filter.ok_or_else(missing)?.checked()
}

fn resolution(
    took_hold: Option<TookHold>,
    did_not_happen: Option<DidNotHappen>,
    failed: Option<String>,
) -> Result<Resolution> {
    match (took_hold, did_not_happen, failed) {
        (Some(TookHold { reference, result }), None, None) => {
            let evidence: Option<Arc<str>> = reference.map(Arc::from);
            let result = match result {
                Some(result) => StoredResult::json(result.get().as_bytes().to_vec()),
                // Nobody said what it answered: a duplicate is told so, rather than given a made-up answer.
                None => StoredResult::none(evidence.clone()),
            };
            Ok(Resolution::TookHold(Completion { result, evidence }))
        }
        (None, Some(DidNotHappen { force }), None) => Ok(Resolution::DidNotHappen { force }),
        (None, None, Some(code)) => {
            let code = CodeName::parse(&code).map_err(|why| Error::new(REQUEST_BODY_INVALID, format!("failed: {why}")));
            Ok(Resolution::Failed(code?))
        }
        _ => Err(Error::new(REQUEST_BODY_INVALID, "an incident is resolved in one of three ways")
            .hint("send one of tookHold, didNotHappen and failed")),
    }
}
