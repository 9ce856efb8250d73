//! What a submission of the right form must also satisfy. Everything is an argument: decide here, act elsewhere.

use onefold::error::{AUTHORIZATION_DENIED, Violation};
use onefold::use_case::Findings;
use time::{Date, Duration};

use crate::domain::{self, CaseStatus};
use crate::errors::{CASE_VALIDATION_REJECTED, EVIDENCE_INVALID};
use crate::request::Submission;
use crate::result::SubmitCaseApplicationError;

/// What evidence may be.
pub const EVIDENCE_KINDS: [&str; 3] = ["DOCUMENT", "PHOTO", "TESTIMONY"];
/// Sorts of cases; the second says how many pieces of evidence each needs at least.
pub const CATEGORIES: [(&str, usize); 3] = [("GENERAL", 0), ("NUISANCE", 1), ("FRAUD", 2)];
/// Evidence older than this is taken with a warning.
pub const EVIDENCE_AGE: Duration = Duration::days(3_650);

/// Whether an actor may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Yes.
    Active,
    /// Not now.
    Suspended,
}

/// What the store knows of what a submission refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The actor who submits; none where there is no such actor.
    pub submitter: Option<Standing>,
    /// The case that is supplemented; none where there is no such case.
    pub supplemented: Option<CaseStatus>,
}

/// What the rules say of a submission.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is accepted, with these warnings.
    Accept(Vec<Violation>),
    /// It is not, for these reasons.
    Reject(Vec<Violation>),
    /// The actor or the domain says no.
    Refuse(SubmitCaseApplicationError),
}

/// Judges a submission.
pub fn judge(submission: &Submission, known: Known, today: Date) -> Verdict {
    if known.submitter == Some(Standing::Suspended) {
        let actor_id = submission.submitted_by.clone();
        return Verdict::Refuse(SubmitCaseApplicationError::AuthorizationFailure {
            code: AUTHORIZATION_DENIED,
            actor_id,
        });
    }
    let findings = findings(submission, known, today);
    if findings.reject() {
        return Verdict::Reject(findings.into_vec());
    }
    match domain_rules(submission, known) {
        Ok(()) => Verdict::Accept(findings.into_vec()),
        Err(broken) => Verdict::Refuse(SubmitCaseApplicationError::DomainFailure(broken)),
    }
}

fn findings(submission: &Submission, known: Known, today: Date) -> Findings {
    let mut findings = Findings::new();
    for (at, evidence) in submission.evidence.iter().enumerate() {
        if !EVIDENCE_KINDS.contains(&evidence.kind.as_str()) {
            findings.error(
                format!("$.evidence[{at}].kind"),
                EVIDENCE_INVALID,
                "is not a kind of evidence that is accepted here",
            );
        }
        let day = evidence.occurred_on.0;
        if day > today {
            findings.error(format!("$.evidence[{at}].occurredOn"), EVIDENCE_INVALID, "is in the future");
        } else if submission.decided_on.is_some_and(|decided| day > decided.0) {
            findings.error(format!("$.evidence[{at}].occurredOn"), EVIDENCE_INVALID, "is after the decision");
        } else if today - day > EVIDENCE_AGE {
            findings.warning(format!("$.evidence[{at}].occurredOn"), EVIDENCE_INVALID, "is more than ten years ago");
        }
    }
    if let Some(category) = &submission.category {
        match CATEGORIES.iter().find(|(known, _)| known == category) {
            None => {
                findings.error("$.category", CASE_VALIDATION_REJECTED, "is not a category of cases");
            }
            Some((_, needed)) if submission.evidence.len() < *needed => {
                let what = format!("has fewer than the {needed} pieces that a case of this category needs");
                findings.error("$.evidence", EVIDENCE_INVALID, what);
            }
            Some(_) => {}
        }
    }
    if submission.submitted_by == submission.subject {
        findings.error("$.submittedBy", CASE_VALIDATION_REJECTED, "may not submit a case about themselves");
    }
    if known.submitter.is_none() {
        findings.error("$.submittedBy", CASE_VALIDATION_REJECTED, "is not a known actor");
    }
    if submission.supplements.is_some() && known.supplemented.is_none() {
        findings.error("$.supplements", CASE_VALIDATION_REJECTED, "is not a known case");
    }
    findings
}

fn domain_rules(submission: &Submission, known: Known) -> Result<(), domain::CaseDomainError> {
    domain::admit(submission.evidence.iter().map(|evidence| evidence.id.as_str()))?;
    if let Some(reviewer) = &submission.reviewer {
        domain::review(&submission.submitted_by, reviewer)?;
    }
    if let (Some(case_id), Some(status)) = (&submission.supplements, known.supplemented) {
        domain::supplement(case_id, status)?;
    }
    Ok(())
}
