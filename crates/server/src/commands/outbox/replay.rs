//! `onefold outbox replay`, `replays`, `cancel-replay`: what is sent again.

use std::process::ExitCode;

use onefold_core::error::REQUEST_INVALID;
use onefold_core::{Error, Result};
use serde_json::{Value, json};

use super::{items, text};
use crate::cli::Context;
use crate::client::Client;
use crate::reconcile_http::encoded;
use crate::table::{count, print_json_of, say, say_line, short_time, table_with_numbers};

/// What is sent again.
#[derive(Debug, clap::Args)]
pub(super) struct ReplayArgs {
    /// To the target of this relay
    #[arg(long)]
    relay: String,
    /// Only events of this type
    #[arg(long, value_name = "TYPE")]
    r#type: Option<String>,
    /// Only events staged at this time or later, such as 2026-11-15T08:00:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Only events staged before this time
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Only events of this aggregate
    #[arg(long, value_name = "TYPE/ID")]
    aggregate: Option<String>,
    /// How many events are sent at most
    #[arg(long, value_name = "EVENTS")]
    max: Option<u64>,
    /// How fast
    #[arg(long, value_name = "EVENTS/s", default_value = "100/s")]
    rate: String,
    /// Count what would be sent, and send nothing
    #[arg(long)]
    dry_run: bool,
    /// Why; kept with your name
    #[arg(long, required_unless_present = "dry_run")]
    why: Option<String>,
}

/// Which replays.
#[derive(Debug, clap::Args)]
pub(super) struct ReplaysArgs {
    /// One of them: everything about it
    replay: Option<String>,
    /// Of this relay
    #[arg(long, conflicts_with = "replay")]
    relay: Option<String>,
    /// How many are listed at most
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

/// Which replay ends, and why.
#[derive(Debug, clap::Args)]
pub(super) struct CancelReplayArgs {
    /// Its id
    replay: String,
    /// Why; kept with your name
    #[arg(long)]
    why: String,
}

pub(super) async fn replay(context: &Context, client: &Client, args: ReplayArgs) -> Result<ExitCode> {
    // What a dry run says is not kept.
    let mut body = json!({ "rate": args.rate, "dryRun": args.dry_run, "why": "to count" });
    let given = [("type", &args.r#type), ("from", &args.from), ("to", &args.to), ("why", &args.why)];
    for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        body[name] = json!(value);
    }
    if let Some(max) = args.max {
        body["max"] = json!(max);
    }
    if let Some(aggregate) = &args.aggregate {
        let (sort, id) = aggregate.split_once('/').ok_or_else(|| {
            Error::new(REQUEST_INVALID, format!("--aggregate: {aggregate:?} is not an aggregate"))
                .hint("write its type, a slash and its id, such as case/CASE-7")
        })?;
        body["aggregateType"] = json!(sort);
        body["aggregateId"] = json!(id);
    }
    let answer: Value = client.post(&format!("/v1/relays/{}/replays", encoded(&args.relay)), &body).await?;
    if context.json {
        print_json_of(client.ledger(), answer);
        return Ok(ExitCode::SUCCESS);
    }
    if args.dry_run {
        let matches = count(answer["matches"].as_u64().unwrap_or(0), "event matches", "events match");
        say_line!("{matches}; {} would be sent at {}", answer["wouldSend"], args.rate);
    } else {
        let id = text(&answer["replay"], "id");
        say_line!("replay {id} of relay {} is asked for; a process that serves the relay sends it", args.relay);
        say_line!("  progress: {}", context.command(&format!("outbox replays {id}")));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn replays(context: &Context, client: &Client, args: ReplaysArgs) -> Result<ExitCode> {
    if let Some(replay) = &args.replay {
        return show(context, client, replay).await;
    }
    let relay = args.relay.map(|relay| format!("&relay={}", encoded(&relay))).unwrap_or_default();
    let found: Value = client.get(&format!("/v1/replays?limit={}{relay}", args.limit)).await?;
    if context.json {
        print_json_of(client.ledger(), found);
        return Ok(ExitCode::SUCCESS);
    }
    let listed = items(&found, "items");
    if listed.is_empty() {
        say_line!("nothing was asked to be sent again");
        return Ok(ExitCode::SUCCESS);
    }
    let rows = listed.iter().map(|replay| {
        [
            text(replay, "id"),
            text(replay, "relay"),
            text(replay, "state"),
            replay["published"].to_string(),
            replay["refused"].to_string(),
            replay["max"].to_string(),
            looked_at(replay),
            short_time(&text(replay, "requestedAt")),
            text(replay, "who"),
        ]
    });
    let head = ["replay", "relay", "state", "published", "refused", "max", "looked at", "asked for (UTC)", "by"];
    say!("{}", table_with_numbers(head, &[3, 4, 5, 6], rows));
    if found["more"] == true {
        say_line!("there are more: --limit");
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(context: &Context, client: &Client, replay: &str) -> Result<ExitCode> {
    let found: Value = client.get(&format!("/v1/replays/{}", encoded(replay))).await?;
    if context.json {
        print_json_of(client.ledger(), found);
        return Ok(ExitCode::SUCCESS);
    }
    say_line!("{} · relay {} · {}", text(&found, "id"), text(&found, "relay"), text(&found, "state"));
    let names = ["type", "from", "to"].map(|name| found[name].as_str().map(|value| format!("{name} {value}")));
    let aggregate =
        found["aggregateType"].as_str().map(|sort| format!("aggregate {sort}/{}", text(&found, "aggregateId")));
    let filter: Vec<String> = names.into_iter().chain([aggregate]).flatten().collect();
    say_line!("  events:    {}", filter.join(", "));
    say_line!("  published: {} of at most {}, at {}", found["published"], found["max"], text(&found, "rate"));
    say_line!("  looked at: {}", looked_at(&found));
    say_line!(
        "  asked for: {} by {}: {}",
        short_time(&text(&found, "requestedAt")),
        text(&found, "who"),
        text(&found, "why")
    );
    if let Some(at) = found["endedAt"].as_str() {
        say_line!("  ended:     {}", short_time(at));
    }
    if found["refused"] != 0 {
        say_line!("  refused:   {}", found["refused"]);
    }
    for refusal in items(&found, "refusals") {
        say_line!("    {} {}: {}", text(&refusal, "event"), text(&refusal, "code"), text(&refusal, "reason"));
    }
    Ok(ExitCode::SUCCESS)
}

/// How much of the outbox was looked at; all of it once nothing is left.
fn looked_at(replay: &Value) -> String {
    let (position, last) = (replay["position"].as_i64().unwrap_or(0), replay["lastPosition"].as_i64().unwrap_or(0));
    if position >= last { "all".to_owned() } else { format!("{position} of {last}") }
}

pub(super) async fn cancel(context: &Context, client: &Client, args: CancelReplayArgs) -> Result<ExitCode> {
    let path = format!("/v1/replays/{}/cancel", encoded(&args.replay));
    let answer: Value = client.post(&path, &json!({ "why": args.why })).await?;
    if context.json {
        print_json_of(client.ledger(), answer);
        return Ok(ExitCode::SUCCESS);
    }
    let published = count(answer["published"].as_u64().unwrap_or(0), "event was sent", "events were sent");
    say_line!("done; replay {} is {} after {published}", args.replay, text(&answer, "state"));
    Ok(ExitCode::SUCCESS)
}
