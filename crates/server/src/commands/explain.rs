//! `onefold explain`: what a word or a code means.

use std::process::ExitCode;

use onefold_config::suggestion;
use onefold_core::effect::{EffectClass, EffectContract};
use onefold_core::error::{ALL, REQUEST_INVALID, runbook};
use onefold_core::incident::{RUNBOOKS, runbook_page};
use onefold_core::{Error, Result};
use serde_json::json;

use crate::table::{print_json, say, say_line, table};

/// What is asked about.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  onefold explain\n  onefold explain ask\n  onefold explain UNKNOWN\n  onefold explain LEASE_SUPERSEDED\n  onefold explain unknown-outcome"
)]
pub(crate) struct ExplainArgs {
    /// A policy, an effect class, a status, an error code or a runbook; without one, all words
    word: Option<String>,
}

/// Words that are not codes, each with the promise and what it rests on.
const WORDS: &[(&str, &str)] = &[
    (
        "same_key",
        "Every attempt sends the same key and the same bytes. One effect, as long as the provider remembers the key: declare `provider_memory` shorter than what it says by the longest time a request may be on its way. Afterwards a person is asked.",
    ),
    (
        "ask",
        "The provider is asked whether the effect took hold. Performed again only after it said \"no such effect\" at least `settle` after the last deadline. A request that arrives later than that can still act twice, so this is not offered for financial or legal effects.",
    ),
    (
        "void",
        "The provider is made to refuse the key from now on; only after its yes is the operation released. Rests on the provider keeping that word.",
    ),
    ("escalate", "An incident is opened, and a person decides. Nothing is performed again before that."),
    ("rerun", "Performed again: for effects that a repetition leaves as they are."),
    (
        "accept_duplicate",
        "Performed again although a second effect may result, for notifications. The reason is part of the declaration; the operation's timeline quotes it.",
    ),
    ("in_transaction", "Check, execute and record are one commit of your own database: a crash leaves nothing behind."),
    ("STARTED", "An attempt may be acting. It holds a lease; others are told it is in flight."),
    ("COMPLETED", "It took hold. Duplicates get the recorded result."),
    ("FAILED_FINAL", "It will not take hold. Duplicates get the recorded failure."),
    ("FAILED_RETRYABLE", "It did not take hold, or may be repeated safely; the next claim after its wait is granted."),
    (
        "UNKNOWN",
        "It may or may not have taken hold: a timeout, a crash, a lost answer. Nobody is granted it until the provider, the attempt itself or a person says what happened.",
    ),
    ("RELEASED", "Nothing was sent, or it is known that nothing happened. The next claim is granted."),
    ("operation", "A business action that must take hold once. Its id does not change between attempts."),
    ("kind", "What sort of operation it is. Effect class, policy, deadline and retention are declared once per kind."),
    (
        "claim",
        "To ask whether one may perform. The answer is one of: granted, replay, in flight, conflict, unknown, waiting.",
    ),
    (
        "lease",
        "The time-bounded right to perform. A silent holder keeps it for 30 s; it is renewed up to the attempt's deadline.",
    ),
    ("fence", "A number that rises with every grant. A record with an older one is refused and kept as evidence."),
    (
        "attempt_id",
        "A random UUID that the caller makes right before a claim. The same one again is permission to act again, so it is never stored or derived.",
    ),
    ("incident", "A work item: what happened, whether a retry is safe, what to check first."),
];

pub(crate) fn explain(args: &ExplainArgs, as_json: bool) -> Result<ExitCode> {
    let Some(word) = &args.word else {
        list(as_json);
        return Ok(ExitCode::SUCCESS);
    };
    let page = page(word)?;
    if as_json {
        print_json(&json!({ "word": word, "page": page }));
    } else {
        say!("{page}");
    }
    Ok(ExitCode::SUCCESS)
}

fn list(as_json: bool) {
    let codes: Vec<&str> = ALL.iter().map(|code| code.as_str()).collect();
    if as_json {
        let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        print_json(
            &json!({ "words": words, "classes": EffectClass::ALL.map(EffectClass::as_str), "codes": codes, "runbooks": RUNBOOKS }),
        );
        return;
    }
    for (word, _) in WORDS {
        say_line!("{word}");
    }
    for class in EffectClass::ALL {
        say_line!("{class}");
    }
    say_line!("\nrunbooks:");
    for runbook in RUNBOOKS {
        say_line!("{runbook}");
    }
    say_line!("\nerror codes:");
    say!("{}", table(["code", "title"], ALL.iter().map(|code| [code.to_string(), code.descriptor().title.to_owned()])));
}

fn page(word: &str) -> Result<String> {
    let same = |known: &str| known.eq_ignore_ascii_case(&word.replace('-', "_")) || known.eq_ignore_ascii_case(word);
    if let Some((word, text)) = WORDS.iter().find(|(known, _)| same(known)) {
        return Ok(format!("{word}\n\n  {text}\n"));
    }
    let name = word.trim_start_matches("/runbooks/").to_ascii_lowercase().replace('_', "-");
    // A runbook and a code may share a name: written as an incident writes it, the runbook is meant.
    let runbook_meant = !word.contains(char::is_uppercase);
    if let Some(page) = runbook_page(&name).filter(|_| runbook_meant) {
        return Ok(page.to_owned());
    }
    if let Some(code) = ALL.iter().find(|code| same(code.as_str())) {
        return Ok(runbook(*code));
    }
    if let Some(class) = EffectClass::ALL.into_iter().find(|class| same(class.as_str())) {
        let allowed: Vec<_> = EffectContract::allowed(class).iter().map(|policy| policy.as_str()).collect();
        return Ok(format!("{class}\n\n  an unknown outcome may: {}; the first is the default\n", allowed.join(", ")));
    }
    let known = WORDS.iter().map(|(word, _)| *word).chain(RUNBOOKS).chain(ALL.iter().map(|code| code.as_str()));
    let hint = suggestion(word, known.chain(EffectClass::ALL.map(EffectClass::as_str)))
        .map_or("`onefold explain` lists every word".to_owned(), |meant| format!("did you mean `{meant}`?"));
    Err(Error::new(REQUEST_INVALID, format!("there is no word {word:?}")).hint(hint))
}
