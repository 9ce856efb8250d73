//! Claims, renews and records, through whichever ledger answers: a server may come and go while the command runs.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onefold_core::error::{Class, SERVER_UNREACHABLE};
use onefold_core::ports::Faults;
use onefold_core::{Error, Result, Timestamp};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::app::now;
use crate::cli::Context;
use crate::client::Client;
use crate::config::Config;
use crate::exit::Exit;

/// How long a claim is asked again; nothing has run yet.
const CLAIM_FOR: Duration = Duration::from_secs(15);
/// How long an outcome is recorded again; the command has run.
const RECORD_FOR: Duration = Duration::from_mins(10);
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
pub(super) enum Claimed {
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
}

/// Where an operation stands after its record.
pub(super) struct Standing {
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
    renew_every: Duration,
}

impl RunLedger {
    pub(super) async fn find(context: &Context) -> Result<Self> {
        let client = Client::find(&context.config, &context.faults).await?;
        Ok(Self { config: context.config.clone(), faults: Arc::clone(&context.faults), client })
    }

    /// Asks to perform. A lost answer is asked for again under the same attempt id.
    pub(super) async fn claim(&mut self, claim: &Value) -> Result<Claimed> {
        let attempt_id = uuid::Uuid::new_v4().to_string();
        let mut body = claim.clone();
        body["attemptId"] = json!(attempt_id);
        let give_up = Instant::now() + CLAIM_FOR;
        loop {
            match self.client.post::<Value>("/v1/claims", &body).await {
                Ok(answer) => return Ok(understood(&answer, attempt_id, now())),
                Err(error) if may_pass(&error) && Instant::now() < give_up => {
                    tokio::time::sleep(TRY_EVERY).await;
                    self.look_again().await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The server may be gone, or there may be one now; the ledger is the same.
    async fn look_again(&mut self) {
        if let Ok(client) = Client::find(&self.config, &self.faults).await {
            self.client = client;
        }
    }

    /// Records what happened, until it is recorded. Answers with where the operation stands.
    pub(super) async fn record(mut self, grant: &Grant, what: &str, mut body: Value) -> Result<Standing> {
        body["fence"] = json!(grant.fence);
        body["attemptId"] = json!(grant.attempt_id);
        let path = format!("/v1/operations/{}/{what}", grant.operation);
        let give_up = Instant::now() + RECORD_FOR;
        loop {
            match self.client.post::<Value>(&path, &body).await {
                Ok(answer) => {
                    let status = answer["status"].as_str().unwrap_or_default().to_owned();
                    let incident = if status == "UNKNOWN" { self.incident(grant).await } else { None };
                    return Ok(Standing { status, incident });
                }
                Err(error) if may_pass(&error) && Instant::now() < give_up => {
                    tokio::time::sleep(TRY_EVERY).await;
                    self.look_again().await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The incident that waits for a person, if there is one and it can be told.
    async fn incident(&self, grant: &Grant) -> Option<String> {
        let operation: Value = self.client.get(&format!("/v1/operations/{}", grant.operation)).await.ok()?;
        operation["incident"].as_str().map(str::to_owned)
    }

    /// Nothing ran: gives the grant back, until it is given back. Otherwise it would end as an unknown outcome.
    pub(super) async fn release(self, grant: &Grant) -> Result<()> {
        self.record(grant, "release", json!({})).await.map(drop)
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
                    client = Client::find(&config, &faults).await.ok();
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

/// Whether asking again may help: the ledger was not reached, or was busy.
fn may_pass(error: &Error) -> bool {
    error.code() == SERVER_UNREACHABLE
        || matches!(
            error.code().descriptor().class,
            Class::Dependency | Class::Contention | Class::Operational | Class::Process
        )
}

fn understood(answer: &Value, attempt_id: String, now: Timestamp) -> Claimed {
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    let seconds = Duration::from_secs(answer["retryAfterSeconds"].as_u64().unwrap_or(1));
    match answer["claim"].as_str() {
        Some("granted") => Claimed::Granted(Grant {
            operation: text("operation"),
            fence: answer["fence"].as_u64().unwrap_or(0),
            attempt_id,
            attempt: answer["attempt"].as_u64().and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or(1),
            deadline_in: Duration::try_from_secs_f64(answer["deadlineInSeconds"].as_f64().unwrap_or(0.0))
                .unwrap_or_default(),
            renew_every: renew_every(&text("leaseUntil"), now),
        }),
        Some("replay") => Claimed::Replay(answer["outcome"].clone()),
        Some("conflict") => Claimed::Conflict,
        Some("unknown") => {
            Claimed::Unknown { since: text("since"), incident: answer["incident"].as_str().map(str::to_owned) }
        }
        Some("waiting") => Claimed::Later {
            why: format!("it may run again after {}", text("until")),
            wait: seconds,
            code: Exit::TryLater,
        },
        Some(_) | None => {
            Claimed::Later { why: "another run has it in flight".to_owned(), wait: seconds, code: Exit::TryLater }
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
