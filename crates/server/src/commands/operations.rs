//! `onefold operations`: what happened.

use std::process::ExitCode;

use clap::Subcommand;
use onefold_core::error::{OPERATION_NOT_FOUND, REQUEST_INVALID};
use onefold_core::{Error, Result};
use serde_json::Value;

use crate::cli::Context;
use crate::client::Client;
use crate::database::Creation;
use crate::table::{count, print_json, print_json_of, say, say_line, short_time, table};

/// Which operations.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  onefold operations\n  onefold operations --status UNKNOWN --kind run\n  onefold operations show backup:2026-11-15\n  onefold operations result backup:2026-11-15"
)]
pub(crate) struct OperationsArgs {
    #[command(subcommand)]
    verb: Option<OperationsVerb>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum OperationsVerb {
    /// List operations, newest first (the default)
    List(ListArgs),
    /// Show one operation and its timeline
    Show(OneArgs),
    /// Print the recorded result of one; the timeline says who read it
    Result(OneArgs),
}

/// Filters; each narrows the list.
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Of this kind
    #[arg(long)]
    kind: Option<String>,
    /// `STARTED`, `COMPLETED`, `FAILED_FINAL`, `FAILED_RETRYABLE`, `UNKNOWN` or `RELEASED`
    #[arg(long)]
    status: Option<String>,
    /// Of this case, order or account
    #[arg(long, value_name = "KEY")]
    business_key: Option<String>,
    /// Of this process instance
    #[arg(long, value_name = "KEY")]
    process_instance_key: Option<String>,
    /// That failed with this code
    #[arg(long, value_name = "CODE")]
    error_code: Option<String>,
    /// Created at or after this time, such as 2026-11-15T08:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Created before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// How many are listed at most
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Continue after the previous page
    #[arg(long, value_name = "NEXT")]
    after: Option<i64>,
}

/// One operation.
#[derive(Debug, clap::Args)]
struct OneArgs {
    /// Its id, or its reference op_…
    id: String,
    /// Its kind, if several kinds have an operation with this id
    #[arg(long)]
    kind: Option<String>,
}

pub(crate) async fn operations(context: &Context, args: OperationsArgs) -> Result<ExitCode> {
    let client = Client::find(&context.config, &context.faults, Creation::Never).await?;
    client.announce(context);
    if let Some(app) = client.app() {
        // No server sweeps: leases that are over are settled before anyone looks.
        app.ledger.sweep().await?;
    }
    match args.verb.unwrap_or(OperationsVerb::List(args.list)) {
        OperationsVerb::List(list) => print_list(context, &client, &list).await,
        OperationsVerb::Show(one) => print_one(context, &client, &one).await,
        OperationsVerb::Result(one) => print_result(context, &client, &one).await,
    }
}

async fn print_list(context: &Context, client: &Client, list: &ListArgs) -> Result<ExitCode> {
    let found: Value = client.get(&list.path()).await?;
    if context.json {
        print_json_of(client.ledger(), found);
        return Ok(ExitCode::SUCCESS);
    }
    let items = found["items"].as_array().cloned().unwrap_or_default();
    if items.is_empty() {
        say_line!("no operations");
        return Ok(ExitCode::SUCCESS);
    }
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or("-").to_owned();
    let rows = items.iter().map(|item| {
        [
            short_time(&text(item, "updatedAt")),
            text(item, "status"),
            item["attempts"].to_string(),
            text(item, "kind"),
            text(item, "id"),
            text(item, "errorCode"),
        ]
    });
    say!("{}", table(["changed (UTC)", "status", "attempts", "kind", "id", "code"], rows));
    if let Some(next) = found["next"].as_i64() {
        say_line!("more: --after {next}");
    }
    Ok(ExitCode::SUCCESS)
}

impl ListArgs {
    fn path(&self) -> String {
        let given = [
            ("kind", &self.kind),
            ("status", &self.status),
            ("businessKey", &self.business_key),
            ("processInstanceKey", &self.process_instance_key),
            ("errorCode", &self.error_code),
            ("since", &self.since),
            ("until", &self.until),
        ];
        let mut path = format!("/v1/operations?limit={}", self.limit);
        for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))) {
            path = format!("{path}&{name}={}", crate::reconcile_http::encoded(value));
        }
        if let Some(after) = self.after {
            path = format!("{path}&after={after}");
        }
        path
    }
}

/// The reference of an operation that is named by its id.
pub(crate) async fn reference(client: &Client, id: &str, kind: Option<&str>) -> Result<String> {
    if id.starts_with("op_") {
        return Ok(id.to_owned());
    }
    let mut path = format!("/v1/operations?id={}", crate::reconcile_http::encoded(id));
    if let Some(kind) = kind {
        path = format!("{path}&kind={}", crate::reconcile_http::encoded(kind));
    }
    let found: Value = client.get(&path).await?;
    let items = found["items"].as_array().cloned().unwrap_or_default();
    let kinds: Vec<&str> = items.iter().filter_map(|item| item["kind"].as_str()).collect();
    match items.as_slice() {
        [one] => Ok(one["operation"].as_str().unwrap_or_default().to_owned()),
        [] => Err(Error::new(OPERATION_NOT_FOUND, format!("there is no operation {id:?}"))),
        _ => Err(Error::new(REQUEST_INVALID, format!("{id:?} is an operation of {}", kinds.join(" and ")))
            .hint("say which with --kind")),
    }
}

async fn print_one(context: &Context, client: &Client, one: &OneArgs) -> Result<ExitCode> {
    let reference = reference(client, &one.id, one.kind.as_deref()).await?;
    let story: Value = client.get(&format!("/v1/operations/{reference}/timeline")).await?;
    if context.json {
        print_json_of(client.ledger(), story);
        return Ok(ExitCode::SUCCESS);
    }
    let operation = &story["operation"];
    let text = |name: &str| operation[name].as_str().unwrap_or("-");
    let attempts = count(operation["attempts"].as_u64().unwrap_or(0), "attempt", "attempts");
    say_line!("{} · {} · {} · {attempts}", text("id"), text("kind"), text("status"));
    for event in story["events"].as_array().into_iter().flatten() {
        let part = |name: &str| event[name].as_str().unwrap_or("-");
        say_line!("  {}  {} ({})", short_time(part("at")), part("what"), part("who"));
    }
    if let Some(bytes) = operation["resultBytes"].as_u64() {
        let read = context.command(&format!("operations result {}", text("operation")));
        say_line!("  result: {} ({read})", count(bytes, "byte", "bytes"));
    }
    if let Some(incident) = operation["incident"].as_str() {
        say_line!("  incident: {incident} ({})", context.command(&format!("incidents show {incident}")));
    }
    say_line!("  reference: {}", text("operation"));
    Ok(ExitCode::SUCCESS)
}

async fn print_result(context: &Context, client: &Client, one: &OneArgs) -> Result<ExitCode> {
    let reference = reference(client, &one.id, one.kind.as_deref()).await?;
    let result: Value = client.get(&format!("/v1/operations/{reference}/result")).await?;
    if context.json {
        print_json_of(client.ledger(), result);
    } else {
        print_json(&result);
    }
    Ok(ExitCode::SUCCESS)
}
