//! What `onefold run` can be told, and the claim it makes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use clap::ValueEnum;
use onefold_config::{KindDeclaration, OnUnknownDeclaration, PolicyDeclaration};
use onefold_core::effect::{DeclaredExits, EffectClass, EffectContract, ExitCodes, ExitMeaning};
use onefold_core::error::REQUEST_INVALID;
use onefold_core::time::parse_duration;
use onefold_core::{Error, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::kept;
use crate::api::hexadecimal;
use crate::database::Creation;

/// What runs, under which id.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A duplicate prints the recorded output and ends with the recorded exit code. Notes go to stderr.
Exit code 0 means that the command did its work. Another exit code says nothing about the effect: `curl -m 1`
ends with 28 although the payment went through. So it is UNKNOWN, as is a command that is killed or passes its
deadline: it is not run again before `onefold incidents resolve` says what happened. Say otherwise where you
know better: --not-applied-exit for codes after which nothing took hold, --final-exit for a refusal that stays,
or --class converging where a repetition changes nothing.
The same id with another command line is a conflict: nothing runs. The command's standard input is not compared.

The command finds in its environment: ONEFOLD_ID, ONEFOLD_KEY (send it to the provider as its idempotency key: the
same for every attempt under same_key), ONEFOLD_ATTEMPT (1 for the first), ONEFOLD_FENCE, ONEFOLD_DEADLINE
(RFC 3339).

Exit codes besides the command's own: 65 conflict, 69 ledger unavailable, 74 the output could not be written,
75 in flight or waiting, 79 outcome unknown, 80 performed but not recorded yet, 127 the command could not be started;
128 and a signal's number where that signal came before the command was started.

Examples:
  onefold run --id backup:2026-11-15 -- ./backup.sh
  onefold run --id report:42 --deadline 5m --wait 1m -- make report
  onefold run --id sync:users --kind sync --class converging -- rsync -a users/ backup/
  onefold run --id call:7 --not-applied-exit 6,7 -- curl -sS https://api.internal/calls/7 -d @call.json
  onefold run --id pay:7 --kind pay --on-unknown same_key --provider-memory 24h -- ./pay.sh 7")]
pub(crate) struct RunArgs {
    /// The operation's id, from what the command means: backup:2026-11-15
    #[arg(long)]
    pub(super) id: String,
    /// What sort of operation it is
    #[arg(long, default_value = "run")]
    kind: String,
    /// What kind of effect it has: pure, converging, message-publish, human-notification, external-command
    /// or financial-or-legal
    #[arg(long, default_value = "external-command")]
    class: String,
    /// What may follow an unknown outcome; without it, the class's default
    #[arg(long, value_name = "POLICY")]
    on_unknown: Option<RunPolicy>,
    /// With `same_key`: how long the provider remembers a key
    #[arg(long, value_name = "DURATION")]
    provider_memory: Option<String>,
    /// How long the command may take; then SIGTERM to its process group, SIGKILL 10 s later
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    deadline: String,
    /// How long a run that has died still counts as running; at least 1s. Renewed while the command runs,
    /// and pinned with the first run of a kind; 30s by default
    #[arg(long, value_name = "DURATION")]
    lease: Option<String>,
    /// How long to wait while another run has it, or while it waits for its next attempt
    #[arg(long, value_name = "DURATION", conflicts_with = "no_wait")]
    wait: Option<String>,
    /// Do not wait: say that it is in flight
    #[arg(long)]
    no_wait: bool,
    /// Exit codes after which nothing took hold, so that it may run again: 6,7 or `any`
    #[arg(long, value_name = "CODES")]
    not_applied_exit: Option<String>,
    /// Exit codes that refuse for good, so that duplicates get output and exit code: 3 or `any`
    #[arg(long, value_name = "CODES")]
    final_exit: Option<String>,
    /// How long to wait after a failure before it may run again
    #[arg(long, value_name = "DURATION")]
    backoff: Option<String>,
    /// How many attempts may fail; the last failure is final and opens an incident
    #[arg(long, value_name = "COUNT")]
    attempts_max: Option<u32>,
    /// Create a ledger even in a file or schema that holds other tables
    #[arg(long)]
    into_existing: bool,
    /// The case, order or account it belongs to
    #[arg(long, value_name = "KEY")]
    business_key: Option<String>,
    /// For a financial or legal effect: where the proof is
    #[arg(long, value_name = "REFERENCE")]
    pub(super) evidence: Option<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// What an unknown outcome of a command may do. Asking and voiding need an address, which only configuration has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum RunPolicy {
    /// A person decides
    Escalate,
    /// Run it again: a repetition changes nothing
    Rerun,
    /// Run it again under the same key, as long as the provider remembers it
    SameKey,
}

/// A shorter lease would end between two renewals of a busy machine.
const LEASE_MIN: Duration = Duration::from_secs(1);

/// What a run was told, once it is known to make sense.
pub(super) struct Order {
    /// The claim, but for its attempt id.
    pub(super) claim: Value,
    /// How long to wait for another run; without end where it is none.
    pub(super) patience: Option<Duration>,
    class: EffectClass,
    exits: DeclaredExits,
    attempts_max: Option<u32>,
    backoff: Option<Duration>,
}

impl RunArgs {
    /// What to do where there is no ledger yet.
    pub(super) fn creation(&self) -> Creation {
        Creation::by_flag(self.into_existing)
    }

    /// Reads everything before anything is claimed.
    pub(super) fn order(&self) -> Result<Order> {
        let codes = |text: &Option<String>| text.as_deref().map_or(Ok(ExitCodes::None), ExitCodes::parse);
        let class = EffectClass::parse(&self.class)?;
        Ok(Order {
            claim: self.claim(class, duration("--deadline", &self.deadline)?)?,
            patience: match (&self.wait, self.no_wait) {
                (_, true) => Some(Duration::ZERO),
                (Some(text), false) => Some(duration("--wait", text)?),
                (None, false) => None,
            },
            class,
            exits: DeclaredExits::new(codes(&self.not_applied_exit)?, codes(&self.final_exit)?)?,
            attempts_max: self.attempts_max,
            backoff: self.backoff.as_deref().map(|text| duration("--backoff", text)).transpose()?,
        })
    }

    fn policy(&self) -> Result<Option<OnUnknownDeclaration>> {
        match (self.on_unknown, &self.provider_memory) {
            (Some(RunPolicy::SameKey), Some(memory)) => Ok(Some(OnUnknownDeclaration::With(PolicyDeclaration {
                same_key: Some("ONEFOLD_KEY".to_owned()),
                provider_memory: Some(duration("--provider-memory", memory)?),
                ..PolicyDeclaration::default()
            }))),
            (Some(RunPolicy::SameKey), None) => {
                Err(Error::new(REQUEST_INVALID, "--on-unknown same_key needs --provider-memory")
                    .hint("say how long the provider remembers a key, such as --provider-memory 24h"))
            }
            (None | Some(RunPolicy::Escalate | RunPolicy::Rerun), Some(_)) => {
                Err(Error::new(REQUEST_INVALID, "--provider-memory belongs to --on-unknown same_key")
                    .hint("leave --provider-memory out, or add --on-unknown same_key"))
            }
            (Some(RunPolicy::Escalate), None) => Ok(Some(OnUnknownDeclaration::Named("escalate".to_owned()))),
            (Some(RunPolicy::Rerun), None) => Ok(Some(OnUnknownDeclaration::Named("rerun".to_owned()))),
            (None, None) => Ok(None),
        }
    }

    fn claim(&self, class: EffectClass, deadline: Duration) -> Result<Value> {
        let lease = self.lease.as_deref().map(|text| duration("--lease", text)).transpose()?;
        if let Some((text, _)) = self.lease.as_ref().zip(lease).filter(|(_, lease)| *lease < LEASE_MIN) {
            return Err(Error::new(REQUEST_INVALID, format!("--lease: {text:?} is shorter than 1s"))
                .hint("give at least 1s; 30s is the default"));
        }
        let on_unknown = self.policy()?;
        if on_unknown.is_none() && EffectContract::default_of(class).is_none() {
            return Err(Error::new(REQUEST_INVALID, format!("--class {class} needs --on-unknown"))
                .hint("the broker must drop repetitions of a key: --on-unknown same_key --provider-memory 24h"));
        }
        let declaration = KindDeclaration {
            on_unknown,
            lease,
            backoff: Some(vec![Duration::ZERO]),
            attempts_max: Some(u32::MAX),
            result_bytes_max: Some(kept::RESULT_BYTES_MAX),
            ..KindDeclaration::of(class)
        };
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Ok(json!({
            "kind": self.kind,
            "id": self.id,
            "requestDigest": digest(&self.command),
            "declare": declaration.to_json(),
            "deadline": onefold_core::time::format_duration(deadline),
            "worker": format!("{}@{host}", crate::client::login_name()),
            "source": "cli",
            "businessKey": self.business_key,
        }))
    }
}

impl Order {
    /// What this exit code says about the effect.
    pub(super) fn meaning(&self, code: u8) -> ExitMeaning {
        self.exits.meaning(code, self.class)
    }

    /// Whether this failed attempt was the last one allowed.
    pub(super) fn used_up(&self, attempt: u32) -> bool {
        self.attempts_max.is_some_and(|most| attempt >= most)
    }

    /// Whole seconds to wait after a failure.
    pub(super) fn backoff_seconds(&self) -> Option<u64> {
        self.backoff.map(|wait| wait.as_secs().max(1))
    }
}

fn duration(flag: &str, text: &str) -> Result<Duration> {
    parse_duration(text).filter(|wait| flag == "--wait" || !wait.is_zero()).ok_or_else(|| {
        Error::new(REQUEST_INVALID, format!("{flag}: {text:?} is not a duration"))
            .hint("write \"250ms\", \"10s\", \"5m\" or \"24h\"")
    })
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

    fn order(flags: &[&str]) -> Result<Order> {
        let words = [&["run", "--id", "a"], flags, &["--", "true"]].concat();
        let line: Line = clap::Parser::parse_from(words);
        line.run.order()
    }

    #[test]
    fn a_lease_is_declared_as_it_is_given_and_has_at_least_a_second() {
        assert_eq!(order(&["--lease", "1s"]).unwrap().claim["declare"]["lease"], "1s");
        let refused = order(&["--lease", "900ms"]).err().unwrap();
        assert!(refused.detail().contains("shorter than 1s"));
    }

    #[test]
    fn a_failed_command_is_unknown_by_default() {
        assert_eq!(order(&[]).unwrap().meaning(1), ExitMeaning::Unknown);
        assert_eq!(order(&["--class", "converging"]).unwrap().meaning(1), ExitMeaning::NotApplied);
        assert_eq!(order(&["--not-applied-exit", "6,7"]).unwrap().meaning(7), ExitMeaning::NotApplied);
        assert!(order(&["--not-applied-exit", "6", "--final-exit", "6"]).is_err());
    }
}
