//! `onefold outbox`: what relays publish, and what a person decides about it.

mod replay;

use std::path::PathBuf;
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Subcommand;
use onefold_core::error::REQUEST_INVALID;
use onefold_core::port::RecentPublications;
use onefold_core::{Error, Result};
use serde_json::{Value, json};

use crate::cli::Context;
use crate::client::Client;
use crate::database::Creation;
use crate::reconcile_http::encoded;
use crate::table::{age, count, print_json_of, say, say_line, short_time, table, table_with_numbers};

/// What of the outbox.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  onefold outbox                                      every relay, and what is wrong with it
  onefold outbox parked --relay cases
  onefold outbox show 0198f2a4-5b8e-7c3a-9d21-6f0e4b1a2c3d
  onefold outbox release 0198f2a4-… --why 'the target was fixed'
  onefold outbox edit 0198f2a4-… --payload fixed.json --why 'the amount had no currency'
  onefold outbox start cases --why 'the contract was rolled back'
  onefold outbox replay --relay cases --type case.submitted --from 2026-11-15T08:00:00Z --max 5000 --dry-run
  onefold outbox replays
  onefold outbox rebase cases --begin 2026-11-15T08:00:00Z --why 'restored from the backup of 08:00'")]
pub(crate) struct OutboxArgs {
    #[command(subcommand)]
    verb: Option<OutboxVerb>,
}

#[derive(Debug, Subcommand)]
enum OutboxVerb {
    /// Every relay: what waits, what is parked, what is wrong (the default)
    Status,
    /// List events that were set aside and have not ended, oldest first
    Parked {
        /// By this relay
        #[arg(long)]
        relay: Option<String>,
        /// How many are listed at most
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// Everything about one event but its payload
    Show {
        /// Its id
        event: String,
    },
    /// Try a parked event again now
    Release(EventArgs),
    /// Let the later events of its aggregate go without it
    Skip(EventArgs),
    /// Send it with another payload; the staged event stays as it is
    Edit {
        #[command(flatten)]
        event: EventArgs,
        /// The new payload, byte by byte
        #[arg(long, value_name = "FILE")]
        payload: PathBuf,
        /// What the new payload is
        #[arg(long, value_name = "TYPE", default_value = "application/json")]
        content_type: String,
    },
    /// Send events again that a relay has passed, with the same ids; narrow it by type, time or aggregate
    Replay(replay::ReplayArgs),
    /// List replays and how far they are, the newest first; or show one
    Replays(replay::ReplaysArgs),
    /// End a replay; a page that is on its way may still arrive
    CancelReplay(replay::CancelReplayArgs),
    /// Start a relay that stopped; it goes on where it was
    Start(RelayArgs),
    /// End a relay that nobody serves any more; it no longer holds retention back
    Retire(RelayArgs),
    /// Give a relay a new beginning, after its database was restored
    Rebase {
        #[command(flatten)]
        relay: RelayArgs,
        /// `now`, `oldest`, or a time such as 2026-11-15T08:00:00Z
        #[arg(long)]
        begin: String,
    },
}

/// Which event, and why.
#[derive(Debug, clap::Args)]
struct EventArgs {
    /// Its id
    event: String,
    /// Only for this relay; every relay that has set it aside where it is left out
    #[arg(long)]
    relay: Option<String>,
    /// Why; kept with your name
    #[arg(long)]
    why: String,
}

/// Which relay, and why.
#[derive(Debug, clap::Args)]
struct RelayArgs {
    /// Its name
    relay: String,
    /// Why; kept with your name
    #[arg(long)]
    why: String,
}

pub(crate) async fn outbox(context: &Context, args: OutboxArgs) -> Result<ExitCode> {
    let client = Client::find(&context.config, &context.faults, Creation::Never).await?;
    client.announce(context);
    match args.verb.unwrap_or(OutboxVerb::Status) {
        OutboxVerb::Status => print_status(context, &client).await,
        OutboxVerb::Parked { relay, limit } => {
            let relay = relay.map(|relay| format!("&relay={}", encoded(&relay))).unwrap_or_default();
            print_parked(context, &client, &format!("/v1/events/parked?limit={limit}{relay}")).await
        }
        OutboxVerb::Show { event } => print_event(context, &client, &event).await,
        OutboxVerb::Release(args) => decide(context, &client, "release", &args, json!({})).await,
        OutboxVerb::Skip(args) => decide(context, &client, "skip", &args, json!({})).await,
        OutboxVerb::Edit { event, payload, content_type } => {
            let bytes = std::fs::read(&payload).map_err(|cause| {
                Error::new(REQUEST_INVALID, format!("--payload: {} cannot be read: {cause}", payload.display()))
                    .hint("name a file with the whole new payload")
            })?;
            let body = json!({ "payloadBase64": STANDARD.encode(bytes), "contentType": content_type });
            decide(context, &client, "edit", &event, body).await
        }
        OutboxVerb::Replay(args) => replay::replay(context, &client, args).await,
        OutboxVerb::Replays(args) => replay::replays(context, &client, args).await,
        OutboxVerb::CancelReplay(args) => replay::cancel(context, &client, args).await,
        OutboxVerb::Start(args) => decide_relay(context, &client, "start", &args, json!({})).await,
        OutboxVerb::Retire(args) => decide_relay(context, &client, "retire", &args, json!({})).await,
        OutboxVerb::Rebase { relay, begin } => {
            decide_relay(context, &client, "rebase", &relay, json!({ "begin": begin })).await
        }
    }
}

async fn print_status(context: &Context, client: &Client) -> Result<ExitCode> {
    let found: Value = client.get("/v1/relays").await?;
    if context.json {
        print_json_of(client.ledger(), found);
        return Ok(ExitCode::SUCCESS);
    }
    let relays = items(&found, "relays");
    if relays.is_empty() {
        say_line!("no relay was declared");
        return Ok(ExitCode::SUCCESS);
    }
    let unavailable: Value = client.get("/v1/incidents?subject=TARGET&limit=1000").await?;
    let unavailable = items(&unavailable, "items");
    let rows = relays.iter().map(|relay| {
        let target = unavailable.iter().find(|incident| incident["kind"] == relay["name"]);
        [
            text(relay, "name"),
            text(relay, "target"),
            relay["waiting"].to_string(),
            relay["oldestAgeSeconds"].as_f64().map_or_else(|| "-".to_owned(), short_age),
            relay["parked"].to_string(),
            share_on_time(relay),
            state(context, relay, target),
        ]
    });
    let head = ["relay", "target", "waiting", "oldest", "parked", "within 10 s", "state"];
    say!("{}", table_with_numbers(head, &[2, 3, 4, 5], rows));
    Ok(ExitCode::SUCCESS)
}

/// What is wrong with a relay, and what to do about it.
fn state(context: &Context, relay: &Value, target: Option<&Value>) -> String {
    let name = text(relay, "name");
    let mut wrong = Vec::new();
    if let Some(at) = relay["retiredAt"].as_str() {
        wrong.push(format!("retired {}", short_time(at)));
    }
    let table = relay["table"].as_str();
    if let (Some(code), Some(table)) = (relay["stopped"].as_str(), table) {
        wrong.push(format!("{table} cannot be read: {code} ({})", context.command(&format!("explain {code}"))));
    } else if let Some(code) = relay["stopped"].as_str() {
        wrong.push(format!("stopped: {code} ({} --why …)", context.command(&format!("outbox start {name}"))));
    }
    if let Some(incident) = target {
        let since = short_time(&text(incident, "firstSeen"));
        wrong.push(format!("target unavailable since {since}, {}", text(incident, "id")));
    }
    if relay["parked"].as_u64().is_some_and(|parked| parked > 0) {
        let listed = context.command(&format!("outbox parked --relay {name}"));
        let listed = table.map_or(listed, |table| format!("rows of {table} that are due at infinity"));
        wrong.push(format!("a person decides ({listed})"));
    }
    if wrong.is_empty() { "ok".to_owned() } else { wrong.join("; ") }
}

/// How much of what was passed in the last hour was published in time.
fn share_on_time(relay: &Value) -> String {
    let recent = RecentPublications {
        passed: relay["passedLastHour"].as_u64().unwrap_or(0),
        on_time: relay["onTimeLastHour"].as_u64().unwrap_or(0),
    };
    recent.share_on_time().map_or_else(|| "-".to_owned(), |share| format!("{:.2} %", share * 100.0))
}

/// An age that is told to a tenth of a second while it is small.
fn short_age(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1} s") } else { age(std::time::Duration::from_secs_f64(seconds).as_secs()) }
}

async fn print_parked(context: &Context, client: &Client, path: &str) -> Result<ExitCode> {
    let found: Value = client.get(path).await?;
    if context.json {
        print_json_of(client.ledger(), found);
        return Ok(ExitCode::SUCCESS);
    }
    let listed = items(&found, "items");
    if listed.is_empty() {
        say_line!("no event is set aside");
        return Ok(ExitCode::SUCCESS);
    }
    let rows = listed.iter().map(|aside| {
        [
            text(aside, "event"),
            text(aside, "relay"),
            text(aside, "status"),
            aside["attempts"].to_string(),
            short_time(&text(aside, "nextAttemptAt")),
            format!("{} {}", text(aside, "aggregateType"), text(aside, "aggregateId")),
            text(aside, "code"),
        ]
    });
    let head = ["event", "relay", "status", "attempts", "next attempt (UTC)", "about", "code"];
    say!("{}", table(head, rows));
    if found["more"] == true {
        say_line!("there are more: --limit");
    }
    Ok(ExitCode::SUCCESS)
}

async fn print_event(context: &Context, client: &Client, event: &str) -> Result<ExitCode> {
    let found: Value = client.get(&format!("/v1/events/{}", encoded(event))).await?;
    if context.json {
        print_json_of(client.ledger(), found);
        return Ok(ExitCode::SUCCESS);
    }
    let published = if found["published"] == true { "published" } else { "not published" };
    say_line!("{} · {} version {} · {published}", text(&found, "id"), text(&found, "type"), found["schemaVersion"]);
    say_line!("  about:       {} {}", text(&found, "aggregateType"), text(&found, "aggregateId"));
    say_line!("  staged:      {}", short_time(&text(&found, "createdAt")));
    let bytes = count(found["payloadBytes"].as_u64().unwrap_or(0), "byte", "bytes");
    say_line!("  payload:     {bytes} of {}, SHA-256 {}", text(&found, "contentType"), text(&found, "payloadDigest"));
    if let Some(id) = found["correlationId"].as_str() {
        say_line!("  correlation: {id}");
    }
    for (name, value) in found["headers"].as_object().into_iter().flatten() {
        say_line!("  header:      {name}: {}", value.as_str().unwrap_or("-"));
    }
    let asides = items(&found, "setAside");
    for aside in &asides {
        say_line!("  relay {}: {}", text(aside, "relay"), told(aside));
    }
    if asides.iter().any(|aside| aside["status"] == "PARKED") {
        let verb = context.command(&format!("outbox release {}", text(&found, "id")));
        say_line!("  with:        {verb} --why …; or skip, or edit --payload FILE");
    }
    Ok(ExitCode::SUCCESS)
}

/// What a relay says about an event that it has set aside, in a line.
fn told(aside: &Value) -> String {
    let attempts = count(aside["attempts"].as_u64().unwrap_or(0), "attempt", "attempts");
    let mut told = format!("{} after {attempts}", text(aside, "status"));
    if let Some(at) = aside["nextAttemptAt"].as_str() {
        told = format!("{told}, next at {}", short_time(at));
    }
    if let Some(code) = aside["code"].as_str() {
        told = format!("{told}; {code}: {}", text(aside, "reason"));
    }
    if let Some(digest) = aside["editedDigest"].as_str() {
        told = format!("{told}; edited, SHA-256 {digest}");
    }
    told
}

async fn decide(context: &Context, client: &Client, verb: &str, args: &EventArgs, mut body: Value) -> Result<ExitCode> {
    body["why"] = json!(args.why);
    if let Some(relay) = &args.relay {
        body["relay"] = json!(relay);
    }
    let answer: Value = client.post(&format!("/v1/events/{}/{verb}", encoded(&args.event)), &body).await?;
    if context.json {
        print_json_of(client.ledger(), answer);
        return Ok(ExitCode::SUCCESS);
    }
    for aside in items(&answer, "setAside") {
        say_line!("done; relay {}: {}", text(&aside, "relay"), text(&aside, "status"));
    }
    Ok(ExitCode::SUCCESS)
}

async fn decide_relay(
    context: &Context,
    client: &Client,
    verb: &str,
    args: &RelayArgs,
    mut body: Value,
) -> Result<ExitCode> {
    body["why"] = json!(args.why);
    let answer: Value = client.post(&format!("/v1/relays/{}/{verb}", encoded(&args.relay)), &body).await?;
    if context.json {
        print_json_of(client.ledger(), answer);
        return Ok(ExitCode::SUCCESS);
    }
    match answer["lanes"].as_u64() {
        Some(0) => say_line!("done; no lane of relay {} was stopped", args.relay),
        Some(lanes) => say_line!("done; {} of relay {} started", count(lanes, "lane", "lanes"), args.relay),
        None => say_line!("done; relay {} is {}", args.relay, text(&answer, "verb")),
    }
    Ok(ExitCode::SUCCESS)
}

fn items(found: &Value, name: &str) -> Vec<Value> {
    found[name].as_array().cloned().unwrap_or_default()
}

fn text(found: &Value, name: &str) -> String {
    found[name].as_str().unwrap_or("-").to_owned()
}
