//! The page of a code: what is wrong, who must act, what is safe.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::error::{ALL, Code, Override};

/// The page of a code, in Markdown.
pub fn runbook(code: Code) -> String {
    let known = code.descriptor();
    let mut page = String::new();
    let _ = writeln!(page, "# {}\n\n{}.\n", known.code, known.title);
    let _ = writeln!(page, "{}.\n", sentence(known.guide.summary));
    let _ = writeln!(page, "| question | answer |\n|---|---|");
    let _ = writeln!(page, "| who must act | {} |", known.owner);
    let _ = writeln!(page, "| may the same request be sent again | {} |", known.retryability);
    let _ = writeln!(page, "| check first | {} |", known.guide.first_check);
    let _ = writeln!(page, "| safe to do | {} |", known.guide.safe_action);
    let _ = writeln!(page, "| escalate to | {} |", known.guide.escalation);
    let _ = writeln!(page, "\n| projection | value |\n|---|---|");
    let _ = writeln!(page, "| class | {} |", known.class);
    let _ = writeln!(page, "| HTTP status | {} |", known.status);
    let _ = writeln!(page, "| detail is seen by | {} |", known.visibility);
    let _ = writeln!(page, "| message | {} |", code.verdict());
    let _ = writeln!(page, "| job | {} |", code.job_answer());
    let _ = writeln!(page, "| log | {} |", code.log_level());
    for one in known.overrides {
        let because = match one {
            Override::Verdict(_, because) | Override::Job(_, because) | Override::Log(_, because) => because,
        };
        let _ = writeln!(page, "\nDiffers from its class because {because}.");
    }
    page
}

/// The registry as JSON: for dashboards, clients and the comparison of two versions.
pub fn registry_json(codes: &[Code]) -> Value {
    let codes: Vec<Value> = codes
        .iter()
        .map(|code| {
            let known = code.descriptor();
            json!({
                "code": known.code,
                "title": known.title,
                "class": known.class,
                "httpStatus": known.status,
                "retryability": known.retryability,
                "owner": known.owner,
                "visibility": known.visibility,
                "message": code.verdict(),
                "job": code.job_answer(),
                "log": code.log_level(),
                "guide": {
                    "summary": known.guide.summary,
                    "firstCheck": known.guide.first_check,
                    "safeAction": known.guide.safe_action,
                    "escalation": known.guide.escalation,
                },
            })
        })
        .collect();
    json!({ "codes": codes })
}

/// Refuses codes that clash with the registry or with each other, or mean something else than they did.
///
/// For a test of the crate that declares codes: `reviewed` is the text of its `registry.json` as it
/// was last reviewed. Answers what is wrong, nothing where all is well.
pub fn review(codes: &[Code], reviewed: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = HashSet::new();
    for code in codes {
        let ours = ALL.iter().find(|known| known.as_str() == code.as_str());
        if ours.is_some_and(|known| !std::ptr::eq(known.descriptor(), code.descriptor())) {
            wrong.push(format!("{code} is a code of Onefold's own registry"));
        }
        if !seen.insert(code.as_str()) {
            wrong.push(format!("{code} is declared twice"));
        }
    }
    let reviewed: Value = serde_json::from_str(reviewed).unwrap_or_default();
    let present = registry_json(codes);
    for old in reviewed["codes"].as_array().into_iter().flatten() {
        let code = old["code"].as_str().unwrap_or_default();
        match present["codes"].as_array().into_iter().flatten().find(|new| new["code"] == old["code"]) {
            None => wrong.push(format!("{code} is gone; a code is stable for ever")),
            Some(new) => wrong.extend(
                ["class", "httpStatus", "retryability", "owner", "visibility"]
                    .iter()
                    .filter(|field| new[**field] != old[**field])
                    .map(|field| format!("{code}: {field} was {} and is {}", old[*field], new[*field])),
            ),
        }
    }
    wrong
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macro declares codes for everyone")]
mod tests {
    use super::*;

    mod clashing {
        crate::codes! {
            /// Ours
            DATABASE_UNAVAILABLE: Bug, status 500, retry Never, owner Engineering, visible Internal;
                summary "x", first_check "x", safe_action "x", escalation "x";
        }
    }

    mod before {
        crate::codes! {
            /// Before
            CASE_CLOSED: DomainRule, status 409, retry Never, owner Caller, visible External;
                summary "x", first_check "x", safe_action "x", escalation "x";
            /// Gone
            CASE_LOST: NotFound, status 404, retry Never, owner Caller, visible External;
                summary "x", first_check "x", safe_action "x", escalation "x";
        }
    }

    mod after {
        crate::codes! {
            /// After
            CASE_CLOSED: Conflict, status 422, retry Never, owner Caller, visible External;
                summary "x", first_check "x", safe_action "x", escalation "x";
        }
    }

    #[test]
    fn a_clash_and_a_changed_meaning_are_found() {
        assert_eq!(review(clashing::ALL, ""), ["DATABASE_UNAVAILABLE is a code of Onefold's own registry"]);
        let reviewed = registry_json(before::ALL).to_string();
        assert!(review(before::ALL, &reviewed).is_empty());
        let wrong = review(after::ALL, &reviewed);
        assert_eq!(
            wrong,
            [
                "CASE_CLOSED: class was \"DOMAIN_RULE\" and is \"CONFLICT\"",
                "CASE_CLOSED: httpStatus was 409 and is 422",
                "CASE_LOST is gone; a code is stable for ever",
            ]
        );
    }
}
