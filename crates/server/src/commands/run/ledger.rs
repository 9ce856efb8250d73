//! Claims, renews and records, through whichever ledger answers: a server may come and go while the command runs.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onefold_core::error::{DATABASE_FULL, OUTCOME_NOT_RECORDED, SERVER_UNREACHABLE};
use onefold_core::port::Faults;
use onefold_core::{Error, Result, Timestamp};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::signals::Signals;
use crate::app::now;
use crate::cli::Context;
use crate::client::{Client, may_pass};
use crate::config::Config;
use crate::database::Creation;
use crate::exit::{Exit, inform};
use crate::outcome_file::{OutcomeFile, RecordCall, RecordVerb};

/// How long a claim is asked again; nothing has run yet.
const CLAIM_FOR: Duration = Duration::from_secs(15);
/// How long an outcome is recorded again; the command has run. As long as the library tries.
const RECORD_FOR: Duration = Duration::from_secs(15);
/// How long it is tried after a signal asked us to end.
const RECORD_FOR_AFTER_SIGNAL: Duration = Duration::from_secs(1);
const TRY_EVERY: Duration = Duration::from_millis(250);
/// How often a lease is renewed: at a third of what is left of it when it is granted, within these bounds.
const RENEW_EVERY: RangeInclusive<Duration> = Duration::from_millis(300)..=Duration::from_secs(8);

/// The ledger as a run sees it.
pub(super) struct RunLedger {
    config: Config,
    faults: Arc<dyn Faults>,
    client: Client,
}

/// The answer to a run's claim.
pub(super) enum RunClaim {
    Granted(Grant),
    Replay(Value),
    /// Someone has it, or it waits.
    Later {
        why: String,
        wait: Duration,
        code: Exit,
    },
    Conflict,
    Unknown {
        since: String,
        incident: Option<String>,
    },
    /// A signal came before the ledger answered.
    Stopped(Signal),
}

/// The state of an operation after its record.
pub(super) struct OperationState {
    pub(super) status: String,
    pub(super) incident: Option<String>,
}

/// A grant.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    operation: String,
    fence: u64,
    attempt_id: String,
    pub(super) attempt: u32,
    pub(super) deadline_in: Duration,
    /// The same as a time of day.
    deadline: String,
    provider_key: String,
    renew_every: Duration,
}

/// What a run says happened: the call, and the same without the command's output.
pub(super) struct Report {
    pub(super) what: RecordVerb,
    pub(super) body: Value,
    pub(super) brief: Value,
}

impl Report {
    /// A report that carries no output.
    pub(super) fn brief(what: RecordVerb, body: Value) -> Self {
        Self { what, brief: body.clone(), body }
    }
}

impl Grant {
    /// What the command finds in its environment.
    pub(super) fn variables(&self, id: &str) -> [(&'static str, String); 5] {
        [
            ("ONEFOLD_ID", id.to_owned()),
            ("ONEFOLD_KEY", self.provider_key.clone()),
            ("ONEFOLD_ATTEMPT", self.attempt.to_string()),
            ("ONEFOLD_FENCE", self.fence.to_string()),
            ("ONEFOLD_DEADLINE", self.deadline.clone()),
        ]
    }

    fn call(&self, what: RecordVerb, body: &Value) -> RecordCall {
        let mut body = body.clone();
        body["fence"] = json!(self.fence);
        body["attemptId"] = json!(self.attempt_id);
        RecordCall { operation: self.operation.clone(), what, body }
    }
}

impl RunLedger {
    pub(super) async fn find(context: &Context, creation: Creation) -> Result<Self> {
        let client = Client::find(&context.config, &context.faults, creation).await?;
        Ok(Self { config: context.config.clone(), faults: Arc::clone(&context.faults), client })
    }

    /// Asks to perform. A lost answer is asked for again under the same attempt id.
    pub(super) async fn claim(&mut self, claim: &Value, signals: &mut Signals) -> Result<RunClaim> {
        let attempt_id = uuid::Uuid::new_v4().to_string();
        let mut body = claim.clone();
        body["attemptId"] = json!(attempt_id);
        let give_up = Instant::now() + CLAIM_FOR;
        loop {
            match self.client.post::<Value>("/v1/claims", &body).await {
                Ok(answer) => return Ok(understood(&answer, attempt_id, now())),
                Err(error) if may_pass(&error) && Instant::now() < give_up => {
                    tokio::select! {
                        () = tokio::time::sleep(TRY_EVERY) => self.look_again().await,
                        signal = signals.next() => return Ok(RunClaim::Stopped(signal)),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The server may be gone, or there may be one now; the ledger is the same.
    async fn look_again(&mut self) {
        if let Ok(client) = Client::find(&self.config, &self.faults, Creation::Never).await {
            self.client = client;
        }
    }

    /// Takes room for the outcome, before the command is started. Where the ledger is elsewhere, a folder that cannot be
    /// written to is not a reason not to act.
    pub(super) fn reserve(&self) -> Result<Option<OutcomeFile>> {
        let prefix = self.config.outcomes();
        match OutcomeFile::reserve(&prefix) {
            Ok(place) => Ok(Some(place)),
            Err(cause) if self.config.is_file() => Err(Error::new(
                DATABASE_FULL,
                format!("there is no disk space for an outcome beside {}: {cause}; nothing was run", prefix.display()),
            )
            .hint("free some space, then run it again under the same id")
            .caused_by(cause)),
            Err(_) => Ok(None),
        }
    }

    /// Records what happened; what the ledger does not take within its time is kept on disk and said to be.
    pub(super) async fn record(
        mut self,
        grant: &Grant,
        report: &Report,
        place: Option<OutcomeFile>,
        signals: &mut Signals,
    ) -> Result<OperationState> {
        let call = grant.call(report.what, &report.body);
        let path = call.path();
        let mut give_up = Instant::now() + RECORD_FOR;
        let mut told = false;
        let cause = loop {
            let answer = tokio::select! {
                answer = self.client.post::<Value>(&path, &call.body) => answer,
                signal = signals.next() => {
                    give_up = sooner(give_up, signal);
                    continue;
                }
                () = tokio::time::sleep_until(give_up.into()) => Err(Error::new(SERVER_UNREACHABLE, "it did not answer")),
            };
            match answer {
                Ok(answer) => {
                    discard(place);
                    return Ok(self.standing(grant, &answer).await);
                }
                Err(error) if may_pass(&error) && Instant::now() < give_up => {
                    if !told {
                        inform(&format!("the ledger does not take the outcome ({}); trying again", error.detail()));
                        told = true;
                    }
                    tokio::select! {
                        () = tokio::time::sleep(TRY_EVERY) => self.look_again().await,
                        signal = signals.next() => give_up = sooner(give_up, signal),
                    }
                }
                Err(error) if may_pass(&error) => break error,
                Err(error) => {
                    discard(place);
                    return Err(error);
                }
            }
        };
        Err(set_aside(grant, &call, &grant.call(report.what, &report.brief), place, cause))
    }

    async fn standing(&self, grant: &Grant, answer: &Value) -> OperationState {
        let status = answer["status"].as_str().unwrap_or_default().to_owned();
        let incident = if status == "UNKNOWN" { self.incident(grant).await } else { None };
        OperationState { status, incident }
    }

    /// The incident that waits for a person, if there is one and it can be told.
    async fn incident(&self, grant: &Grant) -> Option<String> {
        let operation: Value = self.client.get(&format!("/v1/operations/{}", grant.operation)).await.ok()?;
        operation["incident"].as_str().map(str::to_owned)
    }

    /// Nothing ran: gives the grant back, until it is given back. Otherwise it would end as an unknown outcome.
    pub(super) async fn release(self, grant: &Grant, place: Option<OutcomeFile>, signals: &mut Signals) -> Result<()> {
        let released = Report::brief(RecordVerb::Release, json!({}));
        Box::pin(self.record(grant, &released, place, signals)).await.map(drop)
    }

    /// Renews the lease until it is told to stop.
    pub(super) fn renew_while(&self, grant: &Grant) -> JoinHandle<()> {
        let (config, faults, grant) = (self.config.clone(), Arc::clone(&self.faults), grant.clone());
        tokio::spawn(async move {
            let mut client: Option<Client> = None;
            let path = format!("/v1/operations/{}/renew", grant.operation);
            let body = json!({ "fence": grant.fence, "attemptId": grant.attempt_id });
            loop {
                tokio::time::sleep(grant.renew_every).await;
                if client.is_none() {
                    client = Client::find(&config, &faults, Creation::Never).await.ok();
                }
                let renewed = match &client {
                    Some(client) => client.post::<Value>(&path, &body).await,
                    None => continue,
                };
                match renewed {
                    Ok(_) => {}
                    // The next beat looks for the ledger anew.
                    Err(error) if may_pass(&error) => client = None,
                    // Superseded or settled: what the command does is recorded all the same, as evidence.
                    Err(_) => return,
                }
            }
        })
    }
}

/// The outcome is in the ledger, or the ledger wants none.
fn discard(place: Option<OutcomeFile>) {
    if let Some(place) = place {
        place.discard();
    }
}

/// A signal leaves little time to record.
fn sooner(give_up: Instant, signal: Signal) -> Instant {
    inform(&format!("signal {}: recording the outcome before the end", signal.as_raw()));
    give_up.min(Instant::now() + RECORD_FOR_AFTER_SIGNAL)
}

/// Keeps an outcome that the ledger did not take. Its caller is told neither success nor failure.
fn set_aside(grant: &Grant, whole: &RecordCall, brief: &RecordCall, place: Option<OutcomeFile>, cause: Error) -> Error {
    let kept = match place {
        None => Err("there is no file for it".to_owned()),
        Some(place) => {
            let path = place.path().display().to_string();
            place.keep(whole, brief).map(|()| path.clone()).map_err(|cause| format!("{path}: {cause}"))
        }
    };
    let reference = &grant.operation;
    let why = cause.detail().to_owned();
    match kept {
        Ok(path) => Error::new(
            OUTCOME_NOT_RECORDED,
            format!("operation {reference} was attempted, and its outcome waits in {path}: {why}"),
        )
        .hint("the next onefold command or server on this ledger records it; `onefold operations` is enough"),
        Err(lost) => Error::new(
            OUTCOME_NOT_RECORDED,
            format!("operation {reference} was attempted, its outcome is not recorded ({why}) and could not be kept ({lost})"),
        )
        .hint("when its lease has expired it counts as unknown; settle it with `onefold incidents resolve`"),
    }
    .caused_by(cause)
}

fn understood(answer: &Value, attempt_id: String, now: Timestamp) -> RunClaim {
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    let seconds = Duration::from_secs(answer["retryAfterSeconds"].as_u64().unwrap_or(1));
    match answer["claim"].as_str() {
        Some("granted") => RunClaim::Granted(Grant {
            operation: text("operation"),
            fence: answer["fence"].as_u64().unwrap_or(0),
            attempt_id,
            attempt: answer["attempt"].as_u64().and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or(1),
            deadline_in: Duration::try_from_secs_f64(answer["deadlineInSeconds"].as_f64().unwrap_or(0.0))
                .unwrap_or_default(),
            deadline: text("deadline"),
            provider_key: text("providerKey"),
            renew_every: renew_every(&text("leaseUntil"), now),
        }),
        Some("replay") => RunClaim::Replay(answer["outcome"].clone()),
        Some("conflict") => RunClaim::Conflict,
        Some("unknown") => {
            RunClaim::Unknown { since: text("since"), incident: answer["incident"].as_str().map(str::to_owned) }
        }
        Some("waiting") => RunClaim::Later {
            why: format!("it may run again after {}", text("until")),
            wait: seconds,
            code: Exit::TryLater,
        },
        Some(_) | None => {
            RunClaim::Later { why: "another run has it in flight".to_owned(), wait: seconds, code: Exit::TryLater }
        }
    }
}

/// A third of the lease. Two machines may disagree about the time; the bounds hold all the same.
fn renew_every(lease_until: &str, now: Timestamp) -> Duration {
    let left = Timestamp::parse(lease_until).map_or(Duration::ZERO, |until| until.since(now));
    (left / 3).clamp(*RENEW_EVERY.start(), *RENEW_EVERY.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_renewed_at_a_third_of_it_and_within_bounds() {
        let now = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
        let rows = [
            ("2026-11-15T12:00:06Z", Duration::from_secs(2)),
            ("2026-11-15T12:00:30Z", Duration::from_secs(8)),
            ("2026-11-15T11:59:00Z", Duration::from_millis(300)),
            ("soon", Duration::from_millis(300)),
        ];
        for (until, every) in rows {
            assert_eq!(renew_every(until, now), every, "{until}");
        }
    }
}
