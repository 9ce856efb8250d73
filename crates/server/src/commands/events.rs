//! `onefold events`: the contracts of events, and their pages.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use onefold_config::suggestion;
use onefold_core::error::{EVENT_TYPE_UNKNOWN, REQUEST_INVALID};
use onefold_core::event::{CompiledContract, EventContracts, PageFinding, event_page};
use onefold_core::{Error, Result};
use onefold_files::EventPages;
use serde_json::{Value, json};

use crate::cli::Context;
use crate::exit::Exit;
use crate::table::{count, print_json, say, say_line, table};

/// What of the contracts.
#[derive(Debug, clap::Args)]
#[command(after_help = "The contracts are those of [[event]]; a Rust program holds its own with onefold::testing.

Examples:
  onefold events                           every type that is declared
  onefold events show case.submitted
  onefold events check                     for CI: pages and schemas against docs/events
  onefold events check --write             after an intended change; then review the difference

`check` ends with 0 where everything holds, and with 1 where a page is missing or differs or a schema changed
against its rule.")]
pub(crate) struct EventsArgs {
    #[command(subcommand)]
    verb: Option<EventsVerb>,
}

#[derive(Debug, Subcommand)]
enum EventsVerb {
    /// Every type that is declared (the default)
    List,
    /// The page of one type
    Show {
        /// The type, such as `case.submitted`
        #[arg(value_name = "TYPE")]
        event_type: String,
    },
    /// Compare the pages with the contracts, and each schema with the released one
    Check {
        /// Where the pages are
        #[arg(long, value_name = "FOLDER", default_value = "docs/events")]
        dir: PathBuf,
        /// Write what is missing or differs; a schema that changed against its rule is never written
        #[arg(long)]
        write: bool,
    },
}

pub(crate) fn events(context: &Context, args: EventsArgs) -> Result<ExitCode> {
    let contracts = &context.config.contracts;
    match args.verb.unwrap_or(EventsVerb::List) {
        EventsVerb::List => list(context, contracts),
        EventsVerb::Show { event_type } => show(context, find(contracts, &event_type)?),
        EventsVerb::Check { dir, write } => return check(context, &dir, write),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(context: &Context, contracts: &EventContracts) {
    if context.json {
        print_json(&json!({ "items": contracts.iter().map(|contract| shown(contract)).collect::<Vec<_>>() }));
        return;
    }
    if contracts.is_empty() {
        say_line!("no event type is declared: see [[event]] in docs/guides/configuration.md");
        return;
    }
    let rows = contracts.iter().map(|contract| {
        let terms = contract.terms();
        [
            terms.event_type.clone(),
            terms.aggregate.clone(),
            versions(contract),
            terms.compatibility.to_string(),
            terms.owner.clone(),
        ]
    });
    say!("{}", table(["type", "aggregate", "versions", "compatibility", "owner"], rows));
}

fn show(context: &Context, contract: &CompiledContract) {
    if context.json {
        print_json(&shown(contract));
    } else {
        say!("{}", event_page(contract));
    }
}

fn find<'c>(contracts: &'c EventContracts, wanted: &str) -> Result<&'c CompiledContract> {
    let found = contracts.iter().find(|contract| contract.event_type().as_str() == wanted);
    found.map(|contract| &**contract).ok_or_else(|| {
        let hint = match suggestion(wanted, contracts.iter().map(|contract| contract.event_type().as_str())) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "`onefold events` lists every type".to_owned(),
        };
        Error::new(EVENT_TYPE_UNKNOWN, format!("no event type {wanted:?} is declared")).hint(hint)
    })
}

fn check(context: &Context, dir: &Path, write: bool) -> Result<ExitCode> {
    let contracts = &context.config.contracts;
    let pages = EventPages::new(dir);
    let checked = if write { pages.write(contracts) } else { pages.check(contracts).map(|left| (Vec::new(), left)) };
    let (written, left) = checked.map_err(|cause| {
        Error::new(REQUEST_INVALID, format!("{} cannot be read or written: {cause}", dir.display()))
            .hint("name the folder of pages with --dir, and look at its permissions")
    })?;
    if context.json {
        let finding = |finding: &PageFinding| json!({ "path": finding.path, "problem": finding.problem, "what": finding.what, "fix": finding.fix });
        let paths: Vec<&str> = written.iter().map(|finding| finding.path.as_str()).collect();
        print_json(&json!({ "written": paths, "findings": left.iter().map(finding).collect::<Vec<_>>() }));
    } else {
        for finding in &written {
            say_line!("written  {}", dir.join(&finding.path).display());
        }
        for finding in &left {
            say_line!(
                "{}: {} ({})\n  next: {}",
                dir.join(&finding.path).display(),
                finding.what,
                finding.problem,
                finding.fix
            );
        }
        if left.is_empty() {
            let types = count(contracts.iter().count() as u64, "event type", "event types");
            say_line!("{types}: pages and schemas hold");
        }
    }
    Ok(if left.is_empty() { ExitCode::SUCCESS } else { Exit::Refused.into() })
}

fn versions(contract: &CompiledContract) -> String {
    contract.terms().versions.keys().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn shown(contract: &CompiledContract) -> Value {
    let terms = contract.terms();
    let versions: serde_json::Map<String, Value> =
        terms.versions.iter().map(|(version, schema)| (version.to_string(), schema.clone())).collect();
    json!({
        "type": terms.event_type,
        "aggregate": terms.aggregate,
        "versions": versions,
        "compatibility": terms.compatibility,
        "orderingKey": terms.ordering_key,
        "keyFields": terms.key_fields,
        "owner": terms.owner,
        "expects": terms.expects,
        "source": terms.source,
        "dataschema": terms.dataschema,
    })
}
