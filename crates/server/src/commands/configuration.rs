//! `onefold config`: every setting, and where it came from.

use std::process::ExitCode;

use onefold_core::effect::Terms;
use serde_json::json;

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
            shown["routes"] = gateway.routes.iter().map(|route| shown_kind(&route.terms)).collect();
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
    if let Some(gateway) = &context.config.gateway {
        let rows = gateway.routes.iter().map(|route| row(&route.terms));
        say!("\n{}", table(["route", "class", "on_unknown", "deadline"], rows));
    }
    if args.explain {
        say_line!("");
        say!("{}", table(["setting", "what it is"], KEYS.iter().map(|key| [key.name.into(), key.about.into()])));
    }
    ExitCode::SUCCESS
}

fn shown_kind(terms: &Terms) -> serde_json::Value {
    json!({
        "kind": terms.kind.as_str(),
        "class": terms.contract.class().as_str(),
        "onUnknown": terms.contract.policy().to_string(),
    })
}

fn row(terms: &Terms) -> [String; 4] {
    let deadline = onefold_core::time::format_duration(terms.deadline_for);
    [terms.kind.to_string(), terms.contract.class().to_string(), terms.contract.policy().to_string(), deadline]
}
