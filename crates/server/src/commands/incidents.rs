//! `onefold incidents`: what needs a person, and settling it.

use std::process::ExitCode;

use clap::{ArgGroup, Subcommand};
use onefold_core::error::REQUEST_INVALID;
use onefold_core::{Error, Result};
use serde_json::{Value, json};

use crate::cli::Context;
use crate::client::Client;
use crate::database::Creation;
use crate::exit::Exit;
use crate::table::{age, count, print_json_of, say, say_line, short_time, table};

/// Which incidents.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  onefold incidents                                   by cause, with what to check first
  onefold incidents list --kind run
  onefold incidents show inc_…
  onefold incidents resolve inc_… --took-hold NTC-991 --why 'found in the register'
  onefold incidents resolve --group 'HOLDER_LOST db1/42' --did-not-happen --why 'the host never came up' --dry-run
  onefold incidents retry inc_… --why 'the quota was raised'")]
pub(crate) struct IncidentsArgs {
    #[command(subcommand)]
    verb: Option<IncidentsVerb>,
}

#[derive(Debug, Subcommand)]
enum IncidentsVerb {
    /// Open incidents by cause (the default)
    Groups,
    /// List incidents, newest first
    List {
        /// About this kind of subject: operation, dependency, …
        #[arg(long)]
        subject: Option<String>,
        /// Of this kind
        #[arg(long)]
        kind: Option<String>,
        /// Of this cause
        #[arg(long)]
        group: Option<String>,
        /// Also list closed ones
        #[arg(long)]
        closed: bool,
        /// How many are listed at most
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// Everything about one
    Show {
        /// Its id inc_…
        incident: String,
    },
    /// Record what was found out
    Resolve(ResolveArgs),
    /// Let it be attempted again; only where nothing took hold
    Retry(VerbArgs),
    /// Ask the provider now
    Ask(VerbArgs),
}

/// What was found out.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("found").required(true).args(["took_hold", "did_not_happen", "failed"]))]
struct ResolveArgs {
    /// It took hold; where the proof is
    #[arg(long, value_name = "REFERENCE")]
    took_hold: Option<String>,
    /// With --took-hold: what duplicates are answered with, as JSON
    #[arg(long, value_name = "JSON", requires = "took_hold")]
    result: Option<String>,
    /// It did not happen; it may be claimed again
    #[arg(long)]
    did_not_happen: bool,
    /// With --did-not-happen: also while a late request may still arrive
    #[arg(long, requires = "did_not_happen")]
    force: bool,
    /// It failed for good, with this code
    #[arg(long, value_name = "CODE")]
    failed: Option<String>,
    #[command(flatten)]
    verb: VerbArgs,
}

/// Which, and why.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("which").required(true).multiple(true).args(["incident", "group", "kind"]))]
struct VerbArgs {
    /// One incident inc_…
    #[arg(conflicts_with_all = ["group", "kind"])]
    incident: Option<String>,
    /// Every open incident of this cause
    #[arg(long)]
    group: Option<String>,
    /// Every open incident of this kind
    #[arg(long)]
    kind: Option<String>,
    /// Only say what would happen; nothing is changed
    #[arg(long)]
    dry_run: bool,
    /// Why; kept in the timeline with your name
    #[arg(long)]
    why: String,
}

pub(crate) async fn incidents(context: &Context, args: IncidentsArgs) -> Result<ExitCode> {
    let client = Client::find(&context.config, &context.faults, Creation::Never).await?;
    client.announce(context);
    if let Some(app) = client.app() {
        // No server sweeps: leases that are over are settled before anyone looks.
        app.ledger.sweep().await?;
    }
    match args.verb.unwrap_or(IncidentsVerb::Groups) {
        IncidentsVerb::Groups => print_groups(context, &client).await,
        IncidentsVerb::List { subject, kind, group, closed, limit } => {
            let mut path = format!("/v1/incidents?limit={limit}&closed={closed}");
            let subject = subject.map(|subject| subject.to_uppercase());
            for (name, value) in [("subject", subject), ("kind", kind), ("group", group)] {
                if let Some(value) = value {
                    path = format!("{path}&{name}={}", crate::reconcile_http::encoded(&value));
                }
            }
            print_list(context, &client, &path).await
        }
        IncidentsVerb::Show { incident } => print_one(context, &client, &incident).await,
        IncidentsVerb::Resolve(args) => {
            let found = args.found()?;
            settle(context, &client, "resolve", &args.verb, found).await
        }
        IncidentsVerb::Retry(args) => settle(context, &client, "retry", &args, json!({})).await,
        IncidentsVerb::Ask(args) => settle(context, &client, "ask", &args, json!({})).await,
    }
}

async fn print_groups(context: &Context, client: &Client) -> Result<ExitCode> {
    let found: Value = client.get("/v1/incidents/groups").await?;
    if context.json {
        print_json_of(client.ledger(), found);
        return Ok(ExitCode::SUCCESS);
    }
    let groups = found["groups"].as_array().cloned().unwrap_or_default();
    let open: u64 = groups.iter().filter_map(|group| group["incidents"].as_u64()).sum();
    if open == 0 {
        say_line!("no open incidents");
        return Ok(ExitCode::SUCCESS);
    }
    say_line!("{open} open · {}", count(groups.len() as u64, "group", "groups"));
    for (index, group) in groups.iter().enumerate() {
        let incidents = group["incidents"].as_u64().unwrap_or(0);
        let subject = subject(&group["head"]);
        let since = short_time(group["firstSeen"].as_str().unwrap_or("-"));
        let told = match group["head"]["id"].as_str().filter(|_| index < STORIES_MAX) {
            Some(head) => client.get(&path_of(head)).await?,
            None => group["head"].clone(),
        };
        say_line!("\n{} · {} since {since}", heading(&told), count(incidents, &subject, &plural(&subject)));
        let key = group["key"].as_str().unwrap_or("-");
        say!("{}", summary(context, &told, &if incidents == 1 { id_of(&told) } else { format!("--group '{key}'") }));
    }
    Ok(ExitCode::SUCCESS)
}

/// Groups whose head is shown with its story; the rest is one `show` away.
const STORIES_MAX: usize = 10;

fn path_of(incident: &str) -> String {
    format!("/v1/incidents/{}", crate::reconcile_http::encoded(incident))
}

fn id_of(incident: &Value) -> String {
    incident["id"].as_str().unwrap_or("-").to_owned()
}

/// What it is about, in a line.
fn heading(incident: &Value) -> String {
    let text = |name: &str| incident[name].as_str().unwrap_or("-");
    let about = incident["dependency"].as_str().unwrap_or_else(|| text("kind"));
    let effect = incident["sideEffectStatus"].as_str().map_or_else(String::new, |effect| format!(" · effect {effect}"));
    format!("{about} · {}{effect}", text("errorCode"))
}

/// An incident as a colleague would put it: which operation, what happened, what to do.
fn summary(context: &Context, incident: &Value, which: &str) -> String {
    let text = |name: &str| incident[name].as_str().unwrap_or("-");
    let safe = incident["safeToRetry"] == true;
    let verb = if safe {
        format!("{} --why …", context.command(&format!("incidents retry {which}")))
    } else {
        let resolve = context.command(&format!("incidents resolve {which}"));
        format!("{resolve} --took-hold REF | --did-not-happen | --failed CODE  --why …")
    };
    let runbook = text("runbook").rsplit('/').next().unwrap_or("-");
    let subject = subject(incident);
    let mut lines = vec![match incident["operationId"].as_str() {
        Some(id) => ("operation", format!("{id} ({})", text("kind"))),
        None => (&*subject, text("subjectId").to_owned()),
    }];
    if let Some(key) = incident["businessKey"].as_str() {
        lines.push(("business key", key.to_owned()));
    }
    lines.push(("age", age(incident["ageSeconds"].as_u64().unwrap_or(0))));
    lines.push(("what", text("message").to_owned()));
    for event in incident["timeline"].as_array().into_iter().flatten() {
        let part = |name: &str| event[name].as_str().unwrap_or("-");
        lines.push(("", format!("{}  {} ({})", short_time(part("at")), part("what"), part("who"))));
    }
    if incident["closedAt"].is_null() {
        lines.push(("check first", text("firstCheck").to_owned()));
        if incident["operationId"].is_string() {
            lines.push(("retry safe", if safe { "yes" } else { "no" }.to_owned()));
        }
        lines.push(("then", text("suggestedAction").to_owned()));
        if incident["operationId"].is_string() {
            lines.push(("with", verb));
        }
    } else {
        lines.push(("closed", format!("{} by {}", short_time(text("closedAt")), text("closedBy"))));
    }
    lines.push(("runbook", format!("onefold explain {runbook}")));
    let shown = |(name, value): (&str, String)| {
        let name = if name.is_empty() { String::new() } else { format!("{name}:") };
        format!("  {name:<13} {value}\n")
    };
    lines.into_iter().map(shown).collect()
}

/// The word for what an incident is about.
fn subject(incident: &Value) -> String {
    incident["subject"].as_str().unwrap_or("operation").to_lowercase()
}

fn plural(word: &str) -> String {
    word.strip_suffix('y').map_or_else(|| format!("{word}s"), |stem| format!("{stem}ies"))
}

async fn print_list(context: &Context, client: &Client, path: &str) -> Result<ExitCode> {
    let found: Value = client.get(path).await?;
    if context.json {
        print_json_of(client.ledger(), found);
        return Ok(ExitCode::SUCCESS);
    }
    let items = found["items"].as_array().cloned().unwrap_or_default();
    if items.is_empty() {
        say_line!("no incidents");
        return Ok(ExitCode::SUCCESS);
    }
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or("-").to_owned();
    let rows = items.iter().map(|item| {
        [
            text(item, "id"),
            short_time(&text(item, "lastSeen")),
            text(item, "errorCode"),
            text(item, "sideEffectStatus"),
            if item["safeToRetry"] == true { "yes".to_owned() } else { "no".to_owned() },
            text(item, "subject").to_lowercase(),
            text(item, "kind"),
            item["operationId"].as_str().or_else(|| item["subjectId"].as_str()).unwrap_or("-").to_owned(),
        ]
    });
    say!("{}", table(["incident", "last seen (UTC)", "code", "effect", "retry safe", "about", "kind", "id"], rows));
    Ok(ExitCode::SUCCESS)
}

async fn print_one(context: &Context, client: &Client, incident: &str) -> Result<ExitCode> {
    let found: Value = client.get(&path_of(incident)).await?;
    if context.json {
        print_json_of(client.ledger(), found);
        return Ok(ExitCode::SUCCESS);
    }
    say_line!("{} · {}", id_of(&found), heading(&found));
    say_line!("{}", summary(context, &found, &id_of(&found)));
    let told = |name: &String| TOLD.contains(&name.as_str());
    for (name, value) in found.as_object().into_iter().flatten().filter(|(name, value)| !value.is_null() && !told(name))
    {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        say_line!("{name:<22} {value}");
    }
    Ok(ExitCode::SUCCESS)
}

/// What [`summary`] says already.
const TOLD: [&str; 14] = [
    "id",
    "operationId",
    "subjectId",
    "subject",
    "businessKey",
    "ageSeconds",
    "message",
    "timeline",
    "firstCheck",
    "suggestedAction",
    "safeToRetry",
    "runbook",
    "errorCode",
    "closedBy",
];

impl ResolveArgs {
    fn found(&self) -> Result<Value> {
        if let Some(reference) = &self.took_hold {
            let result: Option<Value> =
                self.result.as_deref().map(serde_json::from_str).transpose().map_err(|cause| {
                    Error::new(REQUEST_INVALID, format!("--result is not JSON: {cause}"))
                        .hint("quote it for the shell: '{\"id\": 1}'")
                })?;
            return Ok(json!({ "tookHold": { "reference": reference, "result": result } }));
        }
        Ok(match &self.failed {
            Some(code) => json!({ "failed": code }),
            None => json!({ "didNotHappen": { "force": self.force } }),
        })
    }
}

async fn settle(context: &Context, client: &Client, verb: &str, args: &VerbArgs, mut body: Value) -> Result<ExitCode> {
    body["why"] = json!(args.why);
    body["dryRun"] = json!(args.dry_run);
    if let Some(incident) = &args.incident {
        let path = format!("/v1/incidents/{}/{verb}", crate::reconcile_http::encoded(incident));
        let answer: Value = client.post(&path, &body).await?;
        return Ok(print_answer(context, client, answer));
    }
    body["filter"] = json!({ "group": args.group, "kind": args.kind });
    let answer: Value = client.post(&format!("/v1/incidents/{verb}"), &body).await?;
    Ok(print_answers(context, client, &answer))
}

fn print_answer(context: &Context, client: &Client, answer: Value) -> ExitCode {
    let status = answer["status"].as_str().unwrap_or("-").to_owned();
    if context.json {
        print_json_of(client.ledger(), answer);
    } else if answer["dryRun"] == true {
        let second = if answer["verb"] == "NEEDS_SECOND_PERSON" { ", once a second person says the same" } else { "" };
        say_line!("would be done{second}; the operation would be {status}; nothing was changed");
    } else if answer["verb"] == "NEEDS_SECOND_PERSON" {
        say_line!("noted; a second person must say the same, with a token of their own");
    } else {
        say_line!("done; the operation is {status} now");
    }
    ExitCode::SUCCESS
}

fn print_answers(context: &Context, client: &Client, answer: &Value) -> ExitCode {
    if context.json {
        print_json_of(client.ledger(), answer.clone());
    } else {
        let rows = answer["answers"].as_array().into_iter().flatten().map(|one| {
            let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            [text(&one["incident"]), text(&one["verb"]), text(&one["status"]), text(&one["problem"]["detail"])]
        });
        say!("{}", table(["incident", "answer", "operation", "why not"], rows));
        let would = if answer["dryRun"] == true { "would be done" } else { "done" };
        say_line!("{} {would}, {} refused", answer["done"], answer["refused"]);
    }
    if answer["refused"] == 0 { ExitCode::SUCCESS } else { Exit::Refused.into() }
}
