//! Whether the pages of events are those of their contracts, and whether a contract may change as it did.
//!
//! Beside each page is the schema of each version as it was released. It is what a changed contract is compared with.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::compatibility::{SchemaChange, SchemaChangeEffect, schema_changes};
use super::contract::{Compatibility, CompiledContract};
use super::contracts::EventContracts;
use super::page::{event_page, event_page_path, schema_file_path, schema_text};
use crate::ledger::named;

named! {
    /// What is wrong with a page.
    PageProblem {
        /// There is none.
        Missing = "MISSING",
        /// It is not what the contract says.
        Differs = "DIFFERS",
        /// The schema changed in a way that the contract's own rule forbids.
        Incompatible = "INCOMPATIBLE",
        /// The schema changed, and whether the rule allows it could not be decided.
        Undecided = "UNDECIDED",
        /// It is about a version or a type that is not declared any more.
        NotDeclared = "NOT_DECLARED",
    }
}

/// A finding about a page, or about the schema beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFinding {
    /// The file, below the folder of pages.
    pub path: String,
    /// What is wrong.
    pub problem: PageProblem,
    /// What exactly.
    pub what: String,
    /// What to do.
    pub fix: String,
    /// What the file should hold, where writing it is all there is to do.
    pub text: Option<String>,
}

/// Compares the files below the folder of pages, by their paths, with what the contracts say.
pub fn review_event_pages(contracts: &EventContracts, kept: &BTreeMap<String, String>) -> Vec<PageFinding> {
    let mut findings = Vec::new();
    let mut declared = BTreeSet::new();
    for contract in contracts.iter() {
        let found = review(contract, kept);
        declared.insert(event_page_path(contract.event_type()));
        declared
            .extend(contract.terms().versions.keys().map(|version| schema_file_path(contract.event_type(), *version)));
        findings.extend(found);
    }
    for path in kept.keys().filter(|path| !declared.contains(*path) && is_of_event(path)) {
        let what = "it is about a type or a version that is not declared".to_owned();
        let fix =
            "declare it again: events of it may still be published; once there are none, delete the file".to_owned();
        findings.push(PageFinding { path: path.clone(), problem: PageProblem::NotDeclared, what, fix, text: None });
    }
    findings
}

/// Whether a file would be a page, or the schema of a version. A folder may have a page of its own, `README.md`.
fn is_of_event(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let schema = name
        .strip_suffix(".json")
        .and_then(|name| name.rsplit_once(".v"))
        .is_some_and(|(_, version)| version.parse::<u32>().is_ok());
    schema || name.strip_suffix(".md").is_some_and(|name| name != "README")
}

fn review(contract: &CompiledContract, kept: &BTreeMap<String, String>) -> Vec<PageFinding> {
    let (terms, event_type) = (contract.terms(), contract.event_type());
    let rule = terms.compatibility;
    let mut findings = Vec::new();
    let mut before: Option<(u32, &Value)> = None;
    for (version, schema) in &terms.versions {
        let path = schema_file_path(event_type, *version);
        let released = kept.get(&path).map(|text| serde_json::from_str::<Value>(text).ok());
        let unchanged = matches!(&released, Some(Some(released)) if released == schema);
        if let Some(Some(released)) = &released
            && !unchanged
        {
            // Whatever is said of new versions, a released one may not break anyone.
            let rule = if rule == Compatibility::None { Compatibility::Full } else { rule };
            let changed = format!("version {version} was released and changed");
            let fix = format!(
                "change it back, and declare a version {}",
                terms.versions.keys().max().map_or(1, |last| last + 1)
            );
            findings.extend(
                schema_changes(released, schema, rule).into_iter().map(|change| told(&path, &changed, &fix, &change)),
            );
        }
        if let Some((earlier, old)) = before {
            let changed = format!("version {version} follows version {earlier}");
            let fix = "change it so that the rule holds, or declare another type".to_owned();
            let of_versions =
                schema_changes(old, schema, rule).into_iter().map(|change| told(&path, &changed, &fix, &change));
            // What could not be decided was looked at when it was written.
            findings.extend(of_versions.filter(|finding| !unchanged || finding.problem == PageProblem::Incompatible));
        }
        before = Some((*version, schema));
        if !unchanged {
            findings.push(stale(path, released.is_some(), schema_text(schema)));
        }
    }
    let (path, page) = (event_page_path(event_type), event_page(contract));
    if kept.get(&path) != Some(&page) {
        findings.push(stale(path.clone(), kept.contains_key(&path), page));
    }
    if findings.iter().any(|finding| finding.problem == PageProblem::Incompatible) {
        // What is released stays as it is until the contract is right.
        findings.retain(|finding| finding.text.is_none());
    }
    findings
}

fn stale(path: String, exists: bool, text: String) -> PageFinding {
    let (problem, what) = if exists {
        (PageProblem::Differs, "it is not what the contract says")
    } else {
        (PageProblem::Missing, "there is no such file")
    };
    let fix = "write it from the contract: onefold events check --write".to_owned();
    PageFinding { path, problem, what: what.to_owned(), fix, text: Some(text) }
}

fn told(path: &str, changed: &str, fix: &str, change: &SchemaChange) -> PageFinding {
    let (problem, fix) = match change.effect {
        SchemaChangeEffect::Breaks => (PageProblem::Incompatible, fix.to_owned()),
        SchemaChangeEffect::Undecided => {
            (PageProblem::Undecided, "compare the two by hand; --write says that you did".to_owned())
        }
    };
    let at = if change.at.is_empty() { "the schema" } else { &change.at };
    PageFinding { path: path.to_owned(), problem, what: format!("{changed}: {at}: {}", change.what), fix, text: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventContract;

    const OLD: &str =
        r#"{ "type": "object", "required": ["caseId"], "properties": { "caseId": { "type": "string" } } }"#;
    const WIDER: &str =
        r#"{ "type": "object", "required": ["caseId"], "properties": { "caseId": { "type": "string" }, "note": {} } }"#;
    const NARROWER: &str =
        r#"{ "type": "object", "required": ["caseId", "note"], "properties": { "caseId": { "type": "string" } } }"#;
    const UNSURE: &str = r#"{ "type": "object", "required": ["caseId"], "properties": { "caseId": { "type": "string", "format": "uuid" } } }"#;

    const BASE: EventContract = EventContract::new("case.submitted", 1).aggregate("case").owner("case team");

    fn review_of(contract: EventContract, kept: &BTreeMap<String, String>) -> Vec<PageFinding> {
        review_event_pages(&EventContracts::of([contract]).unwrap(), kept)
    }

    fn written(mut kept: BTreeMap<String, String>, findings: Vec<PageFinding>) -> BTreeMap<String, String> {
        kept.extend(findings.into_iter().filter_map(|finding| Some((finding.path, finding.text?))));
        kept
    }

    fn released(contract: EventContract) -> BTreeMap<String, String> {
        written(BTreeMap::new(), review_of(contract, &BTreeMap::new()))
    }

    fn shown(findings: &[PageFinding]) -> String {
        let line = |finding: &PageFinding| format!("{} {}: {}\n", finding.problem, finding.path, finding.what);
        findings.iter().map(line).collect()
    }

    #[test]
    fn what_was_written_is_found_again_and_what_is_missing_is_named() {
        let kept = released(BASE.schema(OLD));
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["case/submitted.md", "case/submitted.v1.json"]);
        assert_eq!(review_of(BASE.schema(OLD), &kept), []);
        let missing = review_of(BASE.schema(OLD), &BTreeMap::new());
        assert!(missing.iter().all(|finding| finding.problem == PageProblem::Missing) && missing.len() == 2);
        let other = review_of(BASE.schema(OLD).owner("another team"), &kept);
        insta::assert_snapshot!(shown(&other), @"DIFFERS case/submitted.md: it is not what the contract says");
    }

    #[test]
    fn a_change_that_the_rule_forbids_is_found_and_never_written() {
        let kept = released(BASE.schema(OLD));
        let narrower = review_of(BASE.schema(NARROWER), &kept);
        insta::assert_snapshot!(shown(&narrower), @"INCOMPATIBLE case/submitted.v1.json: version 1 was released and changed: /properties/note: is required by the new schema and not by the old one");
        assert_eq!(written(kept.clone(), narrower), kept);
        let wider = review_of(BASE.schema(WIDER), &kept);
        assert!(
            wider.iter().all(|finding| finding.problem == PageProblem::Differs && finding.text.is_some()),
            "{wider:?}"
        );
        let next = EventContract::new("case.submitted", 2).aggregate("case").owner("case team").earlier(&[(1, OLD)]);
        assert!(
            shown(&review_of(next.schema(NARROWER), &kept))
                .contains("INCOMPATIBLE case/submitted.v2.json: version 2 follows version 1")
        );
        let free = next.schema(NARROWER).compatibility(Compatibility::None);
        assert!(
            review_of(free, &kept).iter().all(|finding| finding.text.is_some()),
            "a new version is free under none"
        );
        let changed = BASE.schema(NARROWER).compatibility(Compatibility::None);
        assert!(shown(&review_of(changed, &kept)).contains("INCOMPATIBLE"), "a released one is not");
    }

    #[test]
    fn what_cannot_be_decided_is_said_until_a_person_has_written_it() {
        let kept = released(BASE.schema(OLD));
        let next = EventContract::new("case.submitted", 2).aggregate("case").owner("case team").earlier(&[(1, OLD)]);
        let findings = review_of(next.schema(UNSURE), &kept);
        assert!(shown(&findings).contains("UNDECIDED case/submitted.v2.json"), "{findings:?}");
        let kept = written(kept, findings);
        assert_eq!(review_of(next.schema(UNSURE), &kept), []);
    }

    #[test]
    fn a_page_of_what_is_not_declared_any_more_is_found() {
        let mut kept = released(BASE.schema(OLD));
        for path in ["case/submitted.v0.json", "case/closed.md", "README.md", "case/README.md", "case/picture.png"] {
            kept.insert(path.to_owned(), "{}".to_owned());
        }
        let found: Vec<String> = review_of(BASE.schema(OLD), &kept).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["case/closed.md", "case/submitted.v0.json"]);
    }
}
