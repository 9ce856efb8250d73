//! `onefold config`: every setting, and where it came from.

use std::process::ExitCode;

use onefold_core::effect::KindSpec;
use serde_json::{Map, json};

use crate::cli::Context;
use crate::config::KEYS;
use crate::table::{print_json, say, say_line, table};

/// What is shown.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Rising order: default, onefold.toml, environment (ONEFOLD_…), flag.\n\nExamples:\n  onefold config\n  onefold config --json\n  onefold config --explain"
)]
pub(crate) struct ConfigArgs {
    /// Also say what each setting is
    #[arg(long)]
    explain: bool,
}

pub(crate) fn configuration(context: &Context, args: &ConfigArgs) -> ExitCode {
    let layers = &context.config.layers;
    if context.json {
        let settings: Vec<_> = layers
            .shown()
            .map(|(key, value, origin)| json!({ "key": key, "value": value, "origin": origin.to_string() }))
            .collect();
        let kinds: Vec<_> = context.config.kinds.iter().map(|kind| shown_kind(&kind.terms)).collect();
        let mut shown = json!({ "settings": settings, "kinds": kinds });
        if let Some(gateway) = &context.config.gateway {
            shown["routes"] = gateway.routes.iter().map(|route| shown_kind(&route.kind.terms)).collect();
        }
        print_json(&shown);
        return ExitCode::SUCCESS;
    }
    let rows = layers.shown().map(|(key, value, origin)| {
        let value = if value.is_empty() { "-".to_owned() } else { value.into_owned() };
        [key.to_owned(), value, origin.to_string()]
    });
    say!("{}", table(["setting", "value", "from"], rows));
    if !context.config.kinds.is_empty() {
        let rows = context.config.kinds.iter().map(|kind| row(&kind.terms));
        say!("\n{}", table(["kind", "class", "on_unknown", "deadline"], rows));
    }
    let reasons: Vec<_> = context.config.kinds.iter().flat_map(|kind| retry_rows(&kind.terms)).collect();
    if !reasons.is_empty() {
        say!("\n{}", table(["kind", "retry", "because"], reasons));
    }
    if let Some(gateway) = &context.config.gateway {
        let rows = gateway.routes.iter().map(|route| row(&route.kind.terms));
        say!("\n{}", table(["route", "class", "on_unknown", "deadline"], rows));
    }
    if args.explain {
        say_line!("");
        say!("{}", table(["setting", "what it is"], KEYS.iter().map(|key| [key.name.into(), key.about.into()])));
    }
    ExitCode::SUCCESS
}

fn shown_kind(terms: &KindSpec) -> serde_json::Value {
    json!({
        "kind": terms.kind.as_str(),
        "class": terms.contract.class().as_str(),
        "onUnknown": terms.contract.policy().to_string(),
        "retry": retries(terms).map(|(category, because)| (category, json!({ "because": because }))).collect::<Map<_, _>>(),
    })
}

/// The categories whose waits were declared, with the reasons.
fn retries(terms: &KindSpec) -> impl Iterator<Item = (String, &str)> {
    let reasons = terms.retry.overrides().filter_map(|(category, row)| Some((category, row.because.as_deref()?)));
    reasons.map(|(category, because)| (category.as_str().to_lowercase(), because))
}

/// Each reason for other waits, with the categories it was given for.
fn retry_rows(terms: &KindSpec) -> Vec<[String; 3]> {
    let mut rows: Vec<[String; 3]> = Vec::new();
    for (category, because) in retries(terms) {
        match rows.iter_mut().find(|[_, _, known]| known == because) {
            Some([_, categories, _]) => categories.extend([", ", &category]),
            None => rows.push([terms.kind.to_string(), category, because.to_owned()]),
        }
    }
    rows
}

fn row(terms: &KindSpec) -> [String; 4] {
    let deadline = onefold_core::time::format_duration(terms.deadline_for);
    [terms.kind.to_string(), terms.contract.class().to_string(), terms.contract.policy().to_string(), deadline]
}
