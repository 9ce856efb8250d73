//! A worker process: takes deliveries line by line, carries them out, says what became of each.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::Result;
use tokio::task::JoinSet;

use crate::input;
use crate::ledger::LedgerWorker;
use crate::ledger_location::{DemoStore, LedgerLocation};
use crate::plan::Plan;
use crate::request::{Request, Side};
use crate::table::Table;
use crate::wire::{Addresses, CallResult, Caller, Try};
use crate::word::Word;

/// Calls that a worker without a ledger makes before it gives up.
const TRIES_MAX: u32 = 3;
/// How long it waits between two calls, times the number of the call.
const TRY_WAIT: Duration = Duration::from_millis(50);

/// What a worker is told.
#[derive(Debug, clap::Args)]
pub struct WorkerArgs {
    #[arg(long)]
    side: Side,
    #[arg(long)]
    slot: usize,
    #[arg(long)]
    folder: PathBuf,
    #[arg(long)]
    ledger_schema: Option<String>,
    #[arg(long)]
    seed: u64,
    #[command(flatten)]
    addresses: Addresses,
}

enum Worker<S: DemoStore> {
    Naive(Caller),
    Table(Caller, Table),
    Onefold(LedgerWorker<S>),
}

/// Runs until its standard input closes, and then ends what is in flight.
pub async fn worker<S: DemoStore>(args: WorkerArgs) -> Result<ExitCode> {
    let caller = Caller { addresses: args.addresses, plan: Plan::new(args.seed), side: args.side, slot: args.slot };
    let worker = Arc::new(match args.side {
        Side::Naive => Worker::Naive(caller),
        Side::Table => Worker::Table(caller, Table::open(&args.folder)?),
        Side::Onefold => {
            let store = LedgerLocation::of_worker(args.ledger_schema)?.open::<S>(&args.folder).await?;
            Worker::Onefold(LedgerWorker::open(store, &args.folder, caller).await?)
        }
    });
    let mut lines = input::lines();
    let mut in_flight = JoinSet::new();
    while let Some(line) = lines.recv().await {
        let worker = Arc::clone(&worker);
        in_flight.spawn(async move { worker.take(&line).await });
        while in_flight.try_join_next().is_some() {}
    }
    in_flight.join_all().await;
    if let Worker::Onefold(worker) = &*worker {
        worker.close().await;
    }
    Ok(ExitCode::SUCCESS)
}

impl<S: DemoStore> Worker<S> {
    /// Carries out a delivery such as `17 REQ-000004 2`: ticket, request, how often it was delivered.
    async fn take(&self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let [ticket, id, delivery] = *words.as_slice() else { return };
        let (Some(request), Ok(delivery)) = (Request::parse(id), delivery.parse()) else { return };
        let word = match self {
            Self::Naive(caller) => insist(caller, request, delivery).await,
            Self::Table(caller, table) => look_call_write(caller, table, request, delivery).await,
            Self::Onefold(worker) => worker.perform(request, delivery).await,
        };
        println!("{ticket} {word}");
    }
}

/// The usual order: one that writes first loses what it then fails to do.
async fn look_call_write(caller: &Caller, table: &Table, request: Request, delivery: u32) -> Word {
    if let Some(word) = tokio::task::block_in_place(|| table.find(request)) {
        return word;
    }
    let word = insist(caller, request, delivery).await;
    tokio::task::block_in_place(|| table.keep(request, word));
    word
}

/// Calls until there is an answer, a few times.
async fn insist(caller: &Caller, request: Request, delivery: u32) -> Word {
    for number in 1..=TRIES_MAX {
        match caller.call(Try { request, delivery, number }, || true).await {
            CallResult::Done => return Word::Done,
            CallResult::Rejected => return Word::Rejected,
            CallResult::Refused | CallResult::TooLate | CallResult::NoAnswer => {}
        }
        if number < TRIES_MAX {
            tokio::time::sleep(TRY_WAIT * number).await;
        }
    }
    Word::Failed
}
