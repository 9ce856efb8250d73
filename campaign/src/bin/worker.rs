//! Performs operations through the library and takes its orders line by line; killed and stopped by the tests.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use onefold::call::CallFailure;
use onefold::claim::AttemptId;
use onefold::claim::ClaimResult;
use onefold::class::{Converging, ExternalCommand};
use onefold::kind::KindHandle;
use onefold::operation::{OperationId, OperationKey, Tenant};
use onefold::policy::{Ask, Escalate, ProviderAnswer, Rerun, SameKey, Void};
use onefold::retry::{Category, Schedule};
use onefold::settings::{FileJournal, Settings};
use onefold::store::Sqlite;
use onefold::store::{Faults, LedgerRead, NoFaults};
use onefold::{Kind, Ledger, Performed};
use onefold_campaign::faults::KillAt;
use onefold_campaign::wire::ask_async;
use tokio::io::AsyncBufReadExt as _;
use tokio::sync::watch;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let worker = Arc::new(Worker::open(&Options::from_args()).await?);
    let started = worker.ledger.start().await?;
    println!(
        "STARTED journal={} damaged={} settled={}",
        started.journal_recorded, started.journal_damaged, started.leases_settled
    );
    let mut lines = tokio::io::BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let worker = Arc::clone(&worker);
        if let Some(id) = line.strip_prefix("GO ") {
            worker.gate.send_modify(|gates| {
                gates.insert(id.to_owned());
            });
            continue;
        }
        tokio::spawn(async move {
            match worker.obey(&line).await {
                Ok(answer) => println!("{answer}"),
                Err(error) => println!("{line} error {error}"),
            }
        });
    }
    Ok(())
}

struct Options(HashMap<String, String>);

impl Options {
    fn from_args() -> Self {
        let args: Vec<String> = std::env::args().skip(1).collect();
        Self(args.chunks(2).filter_map(|pair| Some((pair.first()?.clone(), pair.get(1)?.clone()))).collect())
    }

    fn get(&self, name: &str, otherwise: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| otherwise.to_owned())
    }

    fn millis(&self, name: &str, otherwise: u64) -> Duration {
        Duration::from_millis(self.get(name, "").parse().unwrap_or(otherwise))
    }
}

struct Worker {
    ledger: Ledger<Sqlite>,
    kind: Handle,
    provider: String,
    dedup: bool,
    gated: bool,
    gate: watch::Sender<HashSet<String>>,
}

enum Handle {
    Command(KindHandle<Sqlite, ExternalCommand>),
    Converging(KindHandle<Sqlite, Converging>),
}

impl Worker {
    async fn open(options: &Options) -> Result<Self, Failure> {
        let db = options.get("--db", "onefold.db");
        let faults: Arc<dyn Faults> = match KillAt::parse(&options.get("--fault", "")) {
            Some(kill) => Arc::new(kill),
            None => Arc::new(NoFaults),
        };
        let mut store = onefold::store::sqlite_options();
        store.faults = Arc::clone(&faults);
        store.busy_wait = options.millis("--busy-ms", 10_000);
        let installation = options.get("--installation", "");
        let settings = Settings {
            journal: Some(Arc::new(FileJournal::new(format!("{db}.journal")))),
            installation: (!installation.is_empty()).then_some(installation),
            record_for: options.millis("--record-for-ms", 15_000),
            sweep_every: options.millis("--sweep-ms", 50),
            ask_every: Duration::from_millis(50),
            faults,
            ..Settings::default()
        };
        let ledger = Ledger::open(Sqlite::open(db, store).await?, settings)?;
        let provider = options.get("--provider", "");
        let policy = options.get("--policy", "escalate");
        Ok(Self {
            kind: declare(&ledger, &policy, options, &provider)?,
            dedup: policy == "same-key",
            gated: options.get("--gate", "no") == "yes",
            gate: watch::Sender::new(HashSet::new()),
            ledger,
            provider,
        })
    }

    async fn obey(&self, line: &str) -> Result<String, Failure> {
        let words: Vec<&str> = line.split(' ').collect();
        match *words.as_slice() {
            ["PERFORM", id] => self.perform(id).await,
            ["CLAIM", id, attempt] => self.claim(id, attempt).await,
            ["RECORD", id, fence, attempt, value] => self.record(id, fence, attempt, value).await,
            ["SHOW", id] => self.show(id).await,
            _ => Err(format!("no such order: {line}").into()),
        }
    }

    async fn perform(&self, id: &str) -> Result<String, Failure> {
        let operation = OperationId::parse(id)?;
        let performed = match &self.kind {
            Handle::Command(kind) => kind.operation(operation).perform(&id, self.effect(id)).await,
            Handle::Converging(kind) => kind.operation(operation).perform(&id, self.effect(id)).await,
        };
        Ok(match performed {
            Ok(Performed::Completed { result, replayed }) => {
                format!("DONE {id} completed {result} replayed={replayed}")
            }
            Ok(Performed::Unknown { incident, .. }) => format!("DONE {id} unknown incident={}", incident.is_some()),
            Ok(Performed::Waiting { .. }) => format!("DONE {id} waiting"),
            Ok(Performed::InFlight { .. }) => format!("DONE {id} in-flight"),
            Ok(Performed::Conflict) => format!("DONE {id} conflict"),
            Ok(Performed::Rejected(rejection)) => format!("DONE {id} rejected {:?}", rejection.code),
            Err(error) => format!("DONE {id} error {} {}", error.code(), error.detail()),
        })
    }

    /// Acts at the provider, says so, and waits for the test's word before it returns.
    fn effect(
        &self,
        id: &str,
    ) -> impl FnOnce(
        onefold::call::Attempt,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<String, CallFailure>> + Send>>
    + Send
    + 'static {
        let verb = if self.dedup { "DEDUP" } else { "DO" };
        let (provider, id) = (self.provider.clone(), id.to_owned());
        let gate = self.gated.then(|| self.gate.subscribe());
        move |attempt| {
            Box::pin(async move {
                attempt.may_send()?;
                let line = format!("{verb} {}", attempt.provider_key());
                let answer =
                    ask_async(&provider, &line).await.map_err(|_| CallFailure::unknown(Category::DownstreamTimeout))?;
                println!("EFFECT {id}");
                if let Some(mut gate) = gate {
                    let _ = gate.wait_for(|open| open.contains(&id)).await;
                }
                if answer.starts_with("OK") {
                    Ok(format!("R-{id}"))
                } else {
                    Err(CallFailure::not_applied(Category::Maintenance))
                }
            })
        }
    }

    async fn claim(&self, id: &str, attempt: &str) -> Result<String, Failure> {
        let (operation, attempt_id) = (OperationId::parse(id)?, attempt_id(attempt)?);
        let claimed = match &self.kind {
            Handle::Command(kind) => kind.operation(operation).claim(&id, attempt_id).await?,
            Handle::Converging(kind) => kind.operation(operation).claim(&id, attempt_id).await?,
        };
        Ok(match claimed {
            ClaimResult::Granted(lease) => format!("CLAIM {id} granted {}", lease.fence()),
            ClaimResult::Replay(replay) => format!("CLAIM {id} replay {}", replay.status),
            ClaimResult::InFlight { .. } => format!("CLAIM {id} in-flight"),
            ClaimResult::Conflict => format!("CLAIM {id} conflict"),
            ClaimResult::Unknown { .. } => format!("CLAIM {id} unknown"),
            ClaimResult::Waiting { .. } => format!("CLAIM {id} waiting"),
        })
    }

    async fn record(&self, id: &str, fence: &str, attempt: &str, value: &str) -> Result<String, Failure> {
        let (operation, attempt_id, fence) = (OperationId::parse(id)?, attempt_id(attempt)?, fence.parse()?);
        let held = match &self.kind {
            Handle::Command(kind) => kind.operation(operation).held(fence, attempt_id)?,
            Handle::Converging(kind) => kind.operation(operation).held(fence, attempt_id)?,
        };
        Ok(match held.complete(&value, None).await {
            Ok(status) => format!("RECORD {id} accepted {status}"),
            Err(error) => format!("RECORD {id} refused {}", error.code()),
        })
    }

    async fn show(&self, id: &str) -> Result<String, Failure> {
        let kind = match &self.kind {
            Handle::Command(kind) => kind.terms().kind.clone(),
            Handle::Converging(kind) => kind.terms().kind.clone(),
        };
        let key = OperationKey::new(Tenant::default(), kind, OperationId::parse(id)?);
        let Some(entry) = self.ledger.store().find(vec![key]).await?.pop().flatten() else {
            return Ok(format!("SHOW {id} absent"));
        };
        let open = entry.incident.clone();
        let code = match open {
            None => "none".to_owned(),
            Some(incident) => {
                let filter =
                    onefold::incident::IncidentFilter { id: Some(incident), open_only: true, ..Default::default() };
                let found = self.ledger.store().incidents(filter, onefold::incident::Page::default()).await?;
                found.items.first().map_or_else(|| "missing".to_owned(), |incident| incident.error_code.to_string())
            }
        };
        let asked = if entry.next_ask_at.is_some() { "asked" } else { "-" };
        Ok(format!("SHOW {id} {} fence={} incident={code} {asked}", entry.status, entry.fence))
    }
}

fn attempt_id(text: &str) -> Result<AttemptId, Failure> {
    Ok(AttemptId::from_uuid(uuid::Uuid::parse_str(text)?))
}

fn declare(ledger: &Ledger<Sqlite>, policy: &str, options: &Options, provider: &str) -> Result<Handle, Failure> {
    let soon = Some(Schedule::Steps(Arc::new([Duration::from_millis(20)])));
    let (lease, deadline) = (options.millis("--lease-ms", 30_000), options.millis("--deadline-ms", 30_000));
    let slack = options.millis("--slack-ms", 0);
    let command = || {
        Kind::external_command("campaign.act")
            .lease(lease)
            .deadline(deadline)
            .clock_slack(slack)
            .attempts_max(1_000)
            .retry(Category::HolderLost, soon.clone(), "the tests do not wait")
            .retry(Category::DownstreamTimeout, soon.clone(), "the tests do not wait")
    };
    let address = provider.to_owned();
    Ok(match policy {
        "escalate" => Handle::Command(ledger.kind(command().on_unknown(Escalate))?),
        "same-key" => {
            Handle::Command(ledger.kind(command().on_unknown(SameKey::remembered_for(Duration::from_hours(24))))?)
        }
        "ask" => {
            let ask = Ask::with(move |asked| {
                let (address, line) = (address.clone(), format!("COUNT {}", asked.key()));
                async move { found(&ask_async(&address, &line).await, asked.key()) }
            });
            let settle = options.millis("--settle-ms", 0);
            Handle::Command(ledger.kind(command().on_unknown(ask.settle(settle)))?)
        }
        "void" => {
            let void = Void::with(move |asked| {
                let (address, line) = (address.clone(), format!("VOID {}", asked.key()));
                async move { found(&ask_async(&address, &line).await, asked.key()) }
            });
            Handle::Command(ledger.kind(command().on_unknown(void))?)
        }
        "rerun" => {
            let kind =
                Kind::converging("campaign.act").lease(lease).deadline(deadline).clock_slack(slack).attempts_max(1_000);
            Handle::Converging(
                ledger.kind(kind.retry(Category::HolderLost, soon, "the tests do not wait").on_unknown(Rerun))?,
            )
        }
        other => return Err(format!("no such policy: {other}").into()),
    })
}

fn found(answer: &std::io::Result<String>, key: &str) -> ProviderAnswer {
    match answer.as_deref() {
        Ok("0" | "VOIDED") => ProviderAnswer::did_not(),
        Ok("ERROR") | Err(_) => ProviderAnswer::cannot_tell(),
        Ok(_) => ProviderAnswer::took_hold(&format!("R-{}", key.split('~').next().unwrap_or(key))),
    }
}
