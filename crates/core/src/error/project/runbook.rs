//! The page of a code: what is wrong, who must act, what is safe.

use std::fmt::Write as _;

use crate::error::{Code, Override};

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

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}
