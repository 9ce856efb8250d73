//! `onefold run`: any command, once.
//!
//! | file | what it does |
//! |---|---|
//! | `args` | what a run is told, and the claim it makes |
//! | `command` | starts the command, passes its output on and keeps it, ends it at its deadline |
//! | `kept` | output as it is recorded and replayed |
//! | `ledger` | claims, renews and records, through whichever ledger answers |
//! | `signals` | what asks a run to end |

mod args;
mod command;
mod kept;
mod ledger;
mod signals;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use onefold_core::effect::ExitMeaning;
use onefold_core::error::{COMMAND_FAILED, COMMAND_KILLED, COMMAND_NOT_STARTED, OUTPUT_NOT_WRITTEN};
use onefold_core::retry::Category;
use onefold_core::{Error, Result, Timestamp};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::cli::Context;
use crate::exit::{Exit, complain, note};
use crate::outcome_file::RecordVerb;
use crate::table::ago;
use args::Order;
use command::{Ended, Running};
use kept::Kept;
use ledger::{Claimed, Grant, Report, RunLedger, Standing};
use signals::Signals;

pub(crate) use args::RunArgs;

/// How long between two looks while another run has the operation.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) async fn run(context: &Context, args: RunArgs) -> Result<ExitCode> {
    let order = args.order()?;
    let began = Instant::now();
    let mut signals = Signals::listen()?;
    let mut ledger = RunLedger::find(context, args.creation()).await?;
    let mut told = false;
    loop {
        // Right before the claim: this is what the deadline is measured from.
        let asked = Instant::now();
        match ledger.claim(&order.claim, &mut signals).await? {
            Claimed::Granted(grant) => {
                let run = Run { context, args: &args, order, grant };
                return Box::pin(run.perform(ledger, asked, signals)).await;
            }
            Claimed::Replay(outcome) => return replay(&outcome, &context.config.ledger_named()),
            Claimed::Later { why, wait, code } => {
                if order.patience.is_some_and(|patience| began.elapsed() >= patience) {
                    note(&format!("{why}; nothing was run (ledger {})", context.config.ledger_named()));
                    return Ok(code.into());
                }
                if !told {
                    note(&format!("{why}; waiting (ledger {})", context.config.ledger_named()));
                    told = true;
                }
                tokio::select! {
                    () = tokio::time::sleep(wait.clamp(Duration::from_millis(10), LOOK_EVERY)) => {}
                    signal = signals.next() => return Ok(stopped(signal)),
                }
            }
            Claimed::Conflict => {
                note(&format!("the id {:?} was used for another command line; nothing was run", args.id));
                let show = context.command(&format!("operations show {}", args.id));
                note(&format!("use another id for another command ({show})"));
                note(&format!("ledger {}", context.config.ledger_named()));
                return Ok(Exit::BadData.into());
            }
            Claimed::Unknown { since, incident } => {
                unknown_note(context, &args.id, Some(&since), incident.as_deref());
                return Ok(Exit::Unknown.into());
            }
            Claimed::Stopped(signal) => return Ok(stopped(signal)),
        }
    }
}

/// A signal came while nothing ran.
fn stopped(signal: Signal) -> ExitCode {
    note(&format!("signal {}; nothing was run", signal.as_raw()));
    ExitCode::from(u8::try_from(128 + signal.as_raw()).unwrap_or(u8::MAX))
}

/// A run that was granted.
struct Run<'a> {
    context: &'a Context,
    args: &'a RunArgs,
    order: Order,
    grant: Grant,
}

impl Run<'_> {
    async fn perform(self, ledger: RunLedger, asked: Instant, mut signals: Signals) -> Result<ExitCode> {
        let Self { args, grant, .. } = &self;
        if let Some(signal) = signals.pending().await {
            ledger.release(grant, None, &mut signals).await?;
            return Ok(stopped(signal));
        }
        let place = match ledger.reserve() {
            Ok(place) => place,
            Err(error) => {
                ledger.release(grant, None, &mut signals).await?;
                return Err(error);
            }
        };
        let running = match Running::start(&args.command, &grant.variables(&args.id)) {
            Ok(running) => running,
            Err(cause) => {
                ledger.release(grant, place, &mut signals).await?;
                let program = args.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                complain(&Error::new(COMMAND_NOT_STARTED, format!("{program:?} cannot be started: {cause}")));
                return Ok(ExitCode::from(127));
            }
        };
        let heartbeat = ledger.renew_while(grant);
        let over = running.until(asked + grant.deadline_in, &mut signals).await;
        heartbeat.abort();
        if over.kept.is_cut() {
            note("the output is longer than what is kept of it: a duplicate gets its beginning");
        }
        let report = self.report(over.ended, &over.kept);
        let standing = ledger.record(grant, &report, place, &mut signals).await?;
        let code = self.tell(over.ended, &standing);
        match over.passed_on {
            Err(cause) if code == ExitCode::SUCCESS => Err(Error::new(
                OUTPUT_NOT_WRITTEN,
                format!("it is recorded, but its output cannot be written: {cause}"),
            )
            .hint("run it again under the same id: the output is replayed")),
            Ok(()) | Err(_) => Ok(code),
        }
    }

    /// What is recorded.
    fn report(&self, ended: Ended, kept: &Kept) -> Report {
        let unknown = |code: &str, category: Category, detail: String| {
            Report::brief(RecordVerb::Unknown, json!({ "code": code, "category": category, "detail": detail }))
        };
        let code = match ended {
            Ended::Code(code) => code,
            Ended::Killed(_) | Ended::DeadlinePassed => {
                return unknown(COMMAND_KILLED.as_str(), Category::CommandKilled, told(ended));
            }
        };
        match self.order.meaning(code) {
            ExitMeaning::Completed => {
                let evidence = self.args.evidence.clone().unwrap_or_else(|| "exit 0".to_owned());
                with_output(RecordVerb::Complete, json!({ "evidence": evidence }), kept, code)
            }
            ExitMeaning::NotApplied => with_output(RecordVerb::Fail, self.failure(code), kept, code),
            ExitMeaning::Final => {
                let body = json!({ "code": COMMAND_FAILED.as_str(), "final": true, "detail": told(ended) });
                with_output(RecordVerb::Fail, body, kept, code)
            }
            ExitMeaning::Unknown => unknown(COMMAND_FAILED.as_str(), Category::Unexpected, told(ended)),
        }
    }

    /// A failure after which nothing took hold.
    fn failure(&self, code: u8) -> Value {
        // One too many is for a person.
        let used_up = self.order.used_up(self.grant.attempt);
        json!({
            "code": COMMAND_FAILED.as_str(),
            "category": if used_up { "ATTEMPTS_EXHAUSTED" } else { "UNEXPECTED" },
            "final": used_up,
            "detail": told(Ended::Code(code)),
            "retryAfterSeconds": self.order.backoff_seconds(),
        })
    }

    /// Says what is not said by the exit code alone, which it answers with.
    fn tell(&self, ended: Ended, standing: &Standing) -> ExitCode {
        if let Ended::Code(code) = ended
            && self.order.meaning(code) != ExitMeaning::Unknown
        {
            return ExitCode::from(code);
        }
        note(&told(ended));
        if standing.status == "UNKNOWN" {
            unknown_note(self.context, &self.args.id, None, standing.incident.as_deref());
            if matches!(ended, Ended::Code(_)) {
                note(
                    "an exit code says nothing about the effect; where it does, say so with --not-applied-exit or --final-exit",
                );
            }
        } else {
            note("its policy allows another attempt: run it again");
        }
        Exit::Unknown.into()
    }
}

/// A report with the command's output, which is left out where there is no room for it.
fn with_output(what: RecordVerb, body: Value, kept: &Kept, code: u8) -> Report {
    let mut whole = body.clone();
    whole["result"] = kept.to_json(code);
    Report { what, body: whole, brief: body }
}

/// How the command ended, in words.
fn told(ended: Ended) -> String {
    match ended {
        Ended::Code(code) => format!("the command ended with exit code {code}"),
        Ended::Killed(signal) => format!("the command was ended by signal {signal}"),
        Ended::DeadlinePassed => "the command was ended at its deadline".to_owned(),
    }
}

/// Prints what was recorded, to the streams it came from.
fn replay(outcome: &Value, ledger: &str) -> Result<ExitCode> {
    let when = outcome["completedAt"].as_str().and_then(Timestamp::parse);
    let when = when.map(|then| ago(then, crate::app::now())).unwrap_or_default();
    let Some(kept) = Kept::from_json(&outcome["result"]) else {
        let status = outcome["status"].as_str().unwrap_or("-");
        note(&format!("already performed {when}, as {status}; its output is not kept (ledger {ledger})"));
        return Ok(if outcome["status"] == "COMPLETED" { ExitCode::SUCCESS } else { Exit::Refused.into() });
    };
    match kept.replay() {
        Ok(()) => {}
        Err(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(cause) => {
            return Err(Error::new(OUTPUT_NOT_WRITTEN, format!("the recorded output cannot be written: {cause}"))
                .hint("run it again under the same id, with its output where there is room")
                .caused_by(cause));
        }
    }
    note(&format!("already performed {when}; output replayed (ledger {ledger})"));
    if kept.is_cut() {
        note("the output was longer than what is kept of it");
    }
    Ok(ExitCode::from(kept.code))
}

fn unknown_note(context: &Context, id: &str, since: Option<&str>, incident: Option<&str>) {
    let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
    note(&format!("nobody knows{since} whether {id:?} took hold; it is not run again until someone says so:"));
    let which = incident.unwrap_or("INCIDENT");
    let resolve = context.command(&format!("incidents resolve {which}"));
    if incident.is_none() {
        note(&format!("  {}                 shows which incident it is", context.command("incidents list")));
    }
    note(&format!("  {resolve} --took-hold REFERENCE --why …    it did its work"));
    note(&format!("  {resolve} --did-not-happen --why …         it may run again"));
    note(&format!("ledger {}", context.config.ledger_named()));
}
