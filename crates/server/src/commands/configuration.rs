//! `onefold config`: every setting, and where it came from.

use std::process::ExitCode;

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
        let kinds: Vec<_> = context
            .config
            .kinds
            .iter()
            .map(|kind| {
                json!({
                    "kind": kind.terms.kind.as_str(),
                    "class": kind.terms.contract.class().as_str(),
                    "onUnknown": kind.terms.contract.policy().to_string(),
                })
            })
            .collect();
        print_json(&json!({ "settings": settings, "kinds": kinds }));
        return ExitCode::SUCCESS;
    }
    let rows = layers.shown().map(|(key, value, origin)| {
        let value = if value.is_empty() { "-".to_owned() } else { value.into_owned() };
        [key.to_owned(), value, origin.to_string()]
    });
    say!("{}", table(["setting", "value", "from"], rows));
    if !context.config.kinds.is_empty() {
        let rows = context.config.kinds.iter().map(|kind| {
            let contract = &kind.terms.contract;
            let deadline = onefold_core::time::format_duration(kind.terms.deadline_for);
            [kind.terms.kind.to_string(), contract.class().to_string(), contract.policy().to_string(), deadline]
        });
        say!("\n{}", table(["kind", "class", "on_unknown", "deadline"], rows));
    }
    if args.explain {
        say_line!("");
        say!("{}", table(["setting", "what it is"], KEYS.iter().map(|key| [key.name.into(), key.about.into()])));
    }
    ExitCode::SUCCESS
}
