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
use crate::exit::{Exit, complain, inform};
use crate::outcome_file::RecordVerb;
use crate::table::ago;
use args::Order;
use command::{CommandExit, RunningCommand};
use kept::CommandOutput;
use ledger::{Grant, OperationState, Report, RunClaim, RunLedger};
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
            RunClaim::Granted(grant) => {
                let run = Run { context, args: &args, order, grant };
                return Box::pin(run.perform(ledger, asked, signals)).await;
            }
            RunClaim::Replay(outcome) => return replay(&outcome, &context.config.ledger_named()),
            RunClaim::Later { why, wait, code } => {
                if order.patience.is_some_and(|patience| began.elapsed() >= patience) {
                    inform(&format!("{why}; nothing was run (ledger {})", context.config.ledger_named()));
                    return Ok(code.into());
                }
                if !told {
                    inform(&format!("{why}; waiting (ledger {})", context.config.ledger_named()));
                    told = true;
                }
                tokio::select! {
                    () = tokio::time::sleep(wait.clamp(Duration::from_millis(10), LOOK_EVERY)) => {}
                    signal = signals.next() => return Ok(stopped(signal)),
                }
            }
            RunClaim::Conflict => {
                inform(&format!("the id {:?} was used for another command line; nothing was run", args.id));
                let show = context.command(&format!("operations show {}", args.id));
                inform(&format!("use another id for another command ({show})"));
                inform(&format!("ledger {}", context.config.ledger_named()));
                return Ok(Exit::BadData.into());
            }
            RunClaim::Unknown { since, incident } => {
                unknown_note(context, &args.id, Some(&since), incident.as_deref());
                return Ok(Exit::Unknown.into());
            }
            RunClaim::Stopped(signal) => return Ok(stopped(signal)),
        }
    }
}

/// A signal came while nothing ran.
fn stopped(signal: Signal) -> ExitCode {
    inform(&format!("signal {}; nothing was run", signal.as_raw()));
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
        let running = match RunningCommand::start(&args.command, &grant.variables(&args.id)) {
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
            inform("the output is longer than what is kept of it: a duplicate gets its beginning");
        }
        let report = self.report(over.ended, &over.kept);
        let standing = Box::pin(ledger.record(grant, &report, place, &mut signals)).await?;
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
    fn report(&self, ended: CommandExit, kept: &CommandOutput) -> Report {
        let unknown = |code: &str, category: Category, detail: String| {
            Report::brief(RecordVerb::Unknown, json!({ "code": code, "category": category, "detail": detail }))
        };
        let code = match ended {
            CommandExit::Code(code) => code,
            CommandExit::Killed(_) | CommandExit::DeadlinePassed => {
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
            "detail": told(CommandExit::Code(code)),
            "retryAfterSeconds": self.order.backoff_seconds(),
        })
    }

    /// Says what is not said by the exit code alone, which it answers with.
    fn tell(&self, ended: CommandExit, standing: &OperationState) -> ExitCode {
        if let CommandExit::Code(code) = ended
            && self.order.meaning(code) != ExitMeaning::Unknown
        {
            return ExitCode::from(code);
        }
        inform(&told(ended));
        if standing.status == "UNKNOWN" {
            unknown_note(self.context, &self.args.id, None, standing.incident.as_deref());
            if matches!(ended, CommandExit::Code(_)) {
                inform(
                    "an exit code says nothing about the effect; where it does, say so with --not-applied-exit or --final-exit",
                );
            }
        } else {
            inform("its policy allows another attempt: run it again");
        }
        Exit::Unknown.into()
    }
}

/// A report with the command's output, which is left out where there is no room for it.
fn with_output(what: RecordVerb, body: Value, kept: &CommandOutput, code: u8) -> Report {
    let mut whole = body.clone();
    whole["result"] = kept.to_json(code);
    Report { what, body: whole, brief: body }
}

/// How the command ended, in words.
fn told(ended: CommandExit) -> String {
    match ended {
        CommandExit::Code(code) => format!("the command ended with exit code {code}"),
        CommandExit::Killed(signal) => format!("the command was ended by signal {signal}"),
        CommandExit::DeadlinePassed => "the command was ended at its deadline".to_owned(),
    }
}

/// Prints what was recorded, to the streams it came from.
fn replay(outcome: &Value, ledger: &str) -> Result<ExitCode> {
    let when = outcome["completedAt"].as_str().and_then(Timestamp::parse);
    let when = when.map(|then| ago(then, crate::app::now())).unwrap_or_default();
    let Some(kept) = CommandOutput::from_json(&outcome["result"]) else {
        let status = outcome["status"].as_str().unwrap_or("-");
        inform(&format!("already performed {when}, as {status}; its output is not kept (ledger {ledger})"));
        return Ok(if outcome["status"] == "COMPLETED" { ExitCode::SUCCESS } else { Exit::Refused.into() });
    };
    match kept.replay() {
        Ok(()) => {}
        Err(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(cause) => {
            return Err(Error::new(OUTPUT_NOT_WRITTEN, format!("the recorded output cannot be written: {cause}"))
                .hint("run it again under the same id, with its output where there is space")
                .caused_by(cause));
        }
    }
    inform(&format!("already performed {when}; output replayed (ledger {ledger})"));
    if kept.is_cut() {
        inform("the output was longer than what is kept of it");
    }
    Ok(ExitCode::from(kept.code))
}

fn unknown_note(context: &Context, id: &str, since: Option<&str>, incident: Option<&str>) {
    let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
    inform(&format!("it is unknown whether {id:?} took hold{since}; it is not run again until someone says so:"));
    let which = incident.unwrap_or("INCIDENT");
    let resolve = context.command(&format!("incidents resolve {which}"));
    if incident.is_none() {
        inform(&format!("  {}                 shows which incident it is", context.command("incidents list")));
    }
    inform(&format!("  {resolve} --took-hold REFERENCE --why …    it did its work"));
    inform(&format!("  {resolve} --did-not-happen --why …         it may run again"));
    inform(&format!("ledger {}", context.config.ledger_named()));
}
