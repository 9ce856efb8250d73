//! `onefold run`: any command, once.
//!
//! | file | what it does |
//! |---|---|
//! | `command` | starts the command, passes its output on and keeps it, ends it at its deadline |
//! | `kept` | output as it is recorded and replayed |
//! | `ledger` | claims, renews and records, through whichever ledger answers |

mod command;
mod kept;
mod ledger;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use onefold_core::error::{COMMAND_FAILED, COMMAND_KILLED, COMMAND_NOT_STARTED, REQUEST_INVALID};
use onefold_core::time::parse_duration;
use onefold_core::{Error, Result, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::api::hexadecimal;
use crate::cli::Context;
use crate::declaration::{Declaration, OnUnknown, PolicyTerms};
use crate::exit::Exit;
use crate::table::ago;
use command::{Ended, Running};
use kept::Kept;
use ledger::{Claimed, Grant, RunLedger};

/// What runs, under which id.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A duplicate prints the recorded output and ends with the recorded exit code. Notes go to stderr.
Exit code 0 is completed. Another one is failed, which says that the command may run again; with --final it
is recorded for good. A command that is killed or passes its deadline is UNKNOWN: nobody runs it again before
`onefold incidents resolve` says what happened, unless --class and --on-unknown allow it.
The same id with another command line is a conflict: nothing runs. The command's standard input is not compared.

Exit codes beside the command's own: 65 conflict, 69 ledger unavailable, 75 in flight or waiting,
79 outcome unknown, 127 the command could not be started.

Examples:
  onefold run --id backup:2026-11-15 -- ./backup.sh
  onefold run --id report:42 --deadline 5m --wait 1m -- make report
  onefold run --id sync:users --kind sync --class converging -- rsync -a users/ backup/
  onefold run --id pay:7 --kind pay --on-unknown same_key --provider-memory 24h -- ./pay.sh 7")]
pub(crate) struct RunArgs {
    /// The operation's id, from what the command means: backup:2026-11-15
    #[arg(long)]
    id: String,
    /// What sort of operation it is
    #[arg(long, default_value = "run")]
    kind: String,
    /// What kind of effect it has: pure, converging, message-publish, human-notification, external-command
    /// or financial-or-legal
    #[arg(long, default_value = "external-command")]
    class: String,
    /// What an unknown outcome may do: escalate, rerun or `same_key`; the class's default where it is left out
    #[arg(long, value_name = "POLICY")]
    on_unknown: Option<String>,
    /// With `same_key`: how long the provider remembers a key
    #[arg(long, value_name = "DURATION")]
    provider_memory: Option<String>,
    /// How long the command may take; then SIGTERM to its process group, SIGKILL 10 s later
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    deadline: String,
    /// How long a run that has died is still believed to be at work; at least 1s. Renewed while the command runs,
    /// and pinned with the first run of a kind: 30s where it is left out
    #[arg(long, value_name = "DURATION")]
    lease: Option<String>,
    /// How long to wait while another run has it, or while it waits for its next attempt
    #[arg(long, value_name = "DURATION", conflicts_with = "no_wait")]
    wait: Option<String>,
    /// Do not wait: say that it is in flight
    #[arg(long)]
    no_wait: bool,
    /// A failure is final: duplicates get its output and exit code
    #[arg(long = "final")]
    fail_final: bool,
    /// Wait so long after a failure before it may run again
    #[arg(long, value_name = "DURATION")]
    backoff: Option<String>,
    /// The last failure of so many is final, and opens an incident
    #[arg(long, value_name = "COUNT")]
    attempts_max: Option<u32>,
    /// The case, order or account it belongs to
    #[arg(long, value_name = "KEY")]
    business_key: Option<String>,
    /// For a financial or legal effect: where the proof lies
    #[arg(long, value_name = "REFERENCE")]
    evidence: Option<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How long between two looks while another run has the operation.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A shorter lease would end between two renewals of a busy machine.
const LEASE_MIN: Duration = Duration::from_secs(1);

pub(crate) async fn run(context: &Context, args: RunArgs) -> Result<ExitCode> {
    let deadline = duration("--deadline", &args.deadline)?;
    let patience = match (&args.wait, args.no_wait) {
        (_, true) => Some(Duration::ZERO),
        (Some(text), false) => Some(duration("--wait", text)?),
        (None, false) => None,
    };
    let began = Instant::now();
    let mut ledger = RunLedger::find(context).await?;
    let claim = args.claim(deadline)?;
    let mut told = false;
    loop {
        // Right before the claim: this is what the deadline is measured from.
        let asked = Instant::now();
        match ledger.claim(&claim).await? {
            Claimed::Granted(grant) => return Box::pin(perform(ledger, &args, grant, asked)).await,
            Claimed::Replay(outcome) => return replay(&outcome),
            Claimed::Later { why, wait, code } => {
                if patience.is_some_and(|patience| began.elapsed() >= patience) {
                    note(&format!("{why}; nothing was run"));
                    return Ok(code.into());
                }
                if !told {
                    note(&format!("{why}; waiting"));
                    told = true;
                }
                tokio::time::sleep(wait.clamp(Duration::from_millis(10), LOOK_EVERY)).await;
            }
            Claimed::Conflict => {
                note(&format!("the id {:?} was used for another command line; nothing was run", args.id));
                note(&format!("use another id for another command (onefold operations show {})", args.id));
                return Ok(Exit::BadData.into());
            }
            Claimed::Unknown { since, incident } => {
                unknown_note(&args.id, Some(&since), incident.as_deref());
                return Ok(Exit::Unknown.into());
            }
        }
    }
}

async fn perform(ledger: RunLedger, args: &RunArgs, grant: Grant, asked: Instant) -> Result<ExitCode> {
    let running = match Running::start(&args.command) {
        Ok(running) => running,
        Err(cause) => {
            ledger.release(&grant).await?;
            let program = args.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let error = Error::new(COMMAND_NOT_STARTED, format!("{program:?} cannot be started: {cause}"));
            crate::exit::complain(&error);
            return Ok(ExitCode::from(127));
        }
    };
    let heartbeat = ledger.renew_while(&grant);
    let (ended, kept) = running.until(asked + grant.deadline_in).await;
    heartbeat.abort();
    let code = match ended {
        Ended::Code(code) => code,
        Ended::Killed(_) | Ended::DeadlinePassed => {
            let detail = match ended {
                Ended::Killed(signal) => format!("the command was ended by signal {signal}"),
                Ended::Code(_) | Ended::DeadlinePassed => "the command was ended at its deadline".to_owned(),
            };
            note(&detail);
            let body = json!({ "code": COMMAND_KILLED.as_str(), "category": "DOWNSTREAM_TIMEOUT", "detail": detail });
            let standing = ledger.record(&grant, "unknown", body).await?;
            if standing.status == "UNKNOWN" {
                unknown_note(&args.id, None, standing.incident.as_deref());
            } else {
                note("its class allows another attempt: run it again");
            }
            return Ok(Exit::Unknown.into());
        }
    };
    let result = kept.to_json(code);
    if code == 0 {
        let evidence = args.evidence.clone().unwrap_or_else(|| "exit 0".to_owned());
        ledger.record(&grant, "complete", json!({ "result": result, "evidence": evidence })).await?;
    } else {
        ledger.record(&grant, "fail", args.failure(code, &grant, &result)).await?;
    }
    Ok(ExitCode::from(code))
}

/// Prints what was recorded, to the streams it came from.
fn replay(outcome: &Value) -> Result<ExitCode> {
    let when = outcome["completedAt"].as_str().and_then(Timestamp::parse);
    let when = when.map(|then| ago(then, crate::app::now())).unwrap_or_default();
    let Some(kept) = Kept::from_json(&outcome["result"]) else {
        note(&format!(
            "already performed {when}, as {}; its output is not kept",
            outcome["status"].as_str().unwrap_or("-")
        ));
        return Ok(if outcome["status"] == "COMPLETED" { ExitCode::SUCCESS } else { Exit::Refused.into() });
    };
    kept.replay().map_err(|cause| {
        Error::new(onefold_core::error::UNEXPECTED, "the output cannot be written").caused_by(cause)
    })?;
    note(&format!("already performed {when}; output replayed"));
    if kept.is_cut() {
        note("the output was longer than what is kept of it");
    }
    Ok(ExitCode::from(kept.code))
}

fn unknown_note(id: &str, since: Option<&str>, incident: Option<&str>) {
    let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
    note(&format!("nobody knows{since} whether {id:?} took hold; it is not run again until someone says so:"));
    let which = incident.unwrap_or("INCIDENT");
    if incident.is_none() {
        note("  onefold incidents list                 shows which incident it is");
    }
    note(&format!("  onefold incidents resolve {which} --took-hold REFERENCE --why …    it did its work"));
    note(&format!("  onefold incidents resolve {which} --did-not-happen --why …         it may run again"));
}

fn note(text: &str) {
    eprintln!("({text})");
}

fn duration(flag: &str, text: &str) -> Result<Duration> {
    parse_duration(text).filter(|wait| flag == "--wait" || !wait.is_zero()).ok_or_else(|| {
        Error::new(REQUEST_INVALID, format!("{flag}: {text:?} is no duration"))
            .hint("write \"250ms\", \"10s\", \"5m\" or \"24h\"")
    })
}

impl RunArgs {
    /// The claim, but for its attempt id.
    fn claim(&self, deadline: Duration) -> Result<Value> {
        let on_unknown = match (self.on_unknown.as_deref(), &self.provider_memory) {
            (Some("same_key"), Some(memory)) => Some(OnUnknown::With(PolicyTerms {
                same_key: Some("ONEFOLD_KEY".to_owned()),
                provider_memory: Some(memory.clone()),
                accept_duplicate: None,
            })),
            (Some("same_key"), None) => {
                return Err(Error::new(REQUEST_INVALID, "same_key needs --provider-memory")
                    .hint("say how long the provider remembers a key, such as --provider-memory 24h"));
            }
            (Some(name), None) => Some(OnUnknown::Named(name.to_owned())),
            (None, None) => None,
            (_, Some(_)) => {
                return Err(Error::new(REQUEST_INVALID, "--provider-memory belongs to --on-unknown same_key"));
            }
        };
        if let Some(text) = &self.lease
            && duration("--lease", text)? < LEASE_MIN
        {
            return Err(Error::new(REQUEST_INVALID, format!("--lease: {text:?} is shorter than 1s"))
                .hint("give at least 1s; 30s is the default"));
        }
        let declaration = Declaration {
            on_unknown,
            lease: self.lease.clone(),
            backoff: Some(vec!["0ms".to_owned()]),
            attempts_max: Some(u32::MAX),
            result_bytes_max: Some(kept::RESULT_BYTES_MAX),
            ..Declaration::of(&self.class)
        };
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Ok(json!({
            "kind": self.kind,
            "id": self.id,
            "requestDigest": digest(&self.command),
            "declare": declaration,
            "deadline": onefold_core::time::format_duration(deadline),
            "worker": format!("{}@{host}", crate::client::login_name()),
            "source": "cli",
            "businessKey": self.business_key,
        }))
    }

    fn failure(&self, code: u8, grant: &Grant, result: &Value) -> Value {
        let used_up = self.attempts_max.is_some_and(|most| grant.attempt >= most);
        let backoff = self.backoff.as_deref().and_then(parse_duration).map(|wait| wait.as_secs().max(1));
        let mut body = json!({
            "code": COMMAND_FAILED.as_str(),
            "final": self.fail_final || used_up,
            "detail": format!("the command ended with exit code {code}"),
            "result": result,
            "retryAfterSeconds": backoff,
        });
        // A failure that was asked to be final is an answer; one too many is for a person.
        if used_up && !self.fail_final {
            body["category"] = json!("ATTEMPTS_EXHAUSTED");
        } else if !self.fail_final {
            body["category"] = json!("UNEXPECTED");
        }
        body
    }
}

/// The fingerprint: every argument, in order, with its length.
fn digest(command: &[OsString]) -> String {
    let mut hasher = Sha256::new();
    for argument in command {
        let bytes = argument.as_bytes();
        hasher.update((bytes.len() as u64).to_be_bytes());
        hasher.update(bytes);
    }
    hexadecimal(&hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_command_lines_have_different_fingerprints() {
        let line = |words: &[&str]| digest(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(line(&["echo", "a b"]), line(&["echo", "a b"]));
        assert_ne!(line(&["echo", "a b"]), line(&["echo", "a", "b"]));
        assert_ne!(line(&["echo", "ab"]), line(&["echoa", "b"]));
        assert_ne!(line(&["echo"]), line(&["echo", ""]));
    }

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArgs,
    }

    #[test]
    fn a_lease_is_declared_as_it_is_given_and_has_at_least_a_second() {
        let claim = |lease: &str| {
            let line: Line = clap::Parser::parse_from(["run", "--id", "a", "--lease", lease, "--", "true"]);
            line.run.claim(Duration::from_mins(1))
        };
        assert_eq!(claim("1s").unwrap()["declare"]["lease"], "1s");
        assert!(claim("900ms").unwrap_err().detail().contains("shorter than 1s"));
    }
}
