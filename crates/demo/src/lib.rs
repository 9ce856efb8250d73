//! The promise, seen: the same requests through a naive worker, a table and Onefold, side by side.
//!
//! | file | what it does |
//! |---|---|
//! | `request` | the requests, their kinds, the sides |
//! | `plan` | what goes wrong, as pure functions of the seed |
//! | `provider`, `wire` | the provider in its own process, and how it is called |
//! | `worker`, `table`, `ledger` | the worker processes |
//! | `input` | what a child process hears |
//! | `word` | what a worker says of a delivery |
//! | `queue`, `child`, `run` | delivers at least once, kills and restarts workers |
//! | `progress`, `report` | what is seen |
//! | `tally`, `verdict` | what came of it, and whether that is the promise |
//! | `folder`, `ledger_location` | where a run keeps its files and its ledger |

mod child;
mod folder;
mod input;
mod ledger;
mod ledger_location;
mod plan;
mod progress;
mod provider;
mod queue;
mod report;
mod request;
mod run;
mod table;
mod tally;
mod verdict;
mod wire;
mod word;
mod worker;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use onefold_core::error::{OUTPUT_NOT_WRITTEN, UNEXPECTED};
use onefold_core::{Error, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use child::{ChildEvent, ChildProcess};
use folder::Folder;
use ledger_location::LedgerLocation;
use plan::{AGE_MAX, Plan, SLOW_FOR};
use progress::Progress;
use provider::Truth;
use request::Side;
use run::{Event, Run, Setting, SideResult};
use tally::{Record, Row, table_record, tally};
use verdict::Rows;
use wire::Addresses;

pub use ledger_location::DemoStore;
pub use provider::{ProviderArgs, provider};
pub use worker::{WorkerArgs, worker};

/// How long the provider may take to listen.
const START_MAX: Duration = Duration::from_secs(30);

/// What the demo can be told.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "With --database postgres://… the Onefold side's ledger is in a schema of its own there, dropped afterwards.\n\nExamples:\n  onefold demo\n  onefold demo --requests 300 --seed 7\n  onefold demo --database postgres://db.internal/app"
)]
pub struct DemoArgs {
    /// The same seed gives the same faults
    #[arg(long, default_value_t = 20_261_115)]
    seed: u64,
    /// Requests that each side gets; fewer than 200 would not meet every fault
    #[arg(long, default_value_t = 3_000, value_parser = clap::value_parser!(u32).range(200..=50_000))]
    requests: u32,
    /// Keep ledger, table and logs in this folder, which must be empty
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Plays the demo: exit code 0 when the promise was seen, 1 when it was not.
pub async fn demo<S: DemoStore>(args: DemoArgs, database: Option<&str>, json: bool) -> Result<ExitCode> {
    let location = LedgerLocation::new(database)?;
    let folder = Folder::open(args.keep.clone())?;
    // A ledger that cannot be had is known before anything is started.
    drop(location.open::<S>(folder.path()).await?);
    let ended = shown::<S>(&args, &folder, &location, json).await;
    if let Some(kept) = &args.keep {
        tell_line(&format!("kept: {}", location.kept_in(kept)));
        return ended;
    }
    let cleared = location.clear().await;
    ended.and_then(|code| cleared.map(|()| code))
}

/// Shows the promise, until it is seen or someone has seen enough.
async fn shown<S: DemoStore>(
    args: &DemoArgs,
    folder: &Folder,
    location: &LedgerLocation,
    json: bool,
) -> Result<ExitCode> {
    let (mut interrupt, mut terminate) = (listen_for(SignalKind::interrupt())?, listen_for(SignalKind::terminate())?);
    // Far more than a loaded machine needs; a demo that hangs says so.
    let longest = Duration::from_mins(2) + Duration::from_millis(100) * args.requests;
    let rows = tokio::select! {
        rows = show::<S>(args, folder, location) => rows?,
        _ = interrupt.recv() => return Ok(stopped("interrupted", 130)),
        _ = terminate.recv() => return Ok(stopped("terminated", 143)),
        () = tokio::time::sleep(longest) => {
            let detail = format!("the demo did not end within {longest:?}");
            return Err(Error::new(UNEXPECTED, detail).hint("run it on a quieter machine, or with fewer --requests"));
        }
    };
    let broken = verdict::broken(&rows);
    let told = if json {
        report::json(args.seed, Plan::new(args.seed).first_calls(args.requests), &rows, &broken)
    } else {
        report::closing(&rows, &broken)
    };
    // Not as other commands print: what was started must be cleared away although nobody reads this.
    match writeln!(std::io::stdout(), "{told}") {
        Ok(()) => {}
        Err(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(cause) => {
            return Err(
                Error::new(OUTPUT_NOT_WRITTEN, format!("the output cannot be written: {cause}")).caused_by(cause)
            );
        }
    }
    Ok(if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Dropping what runs has closed the workers' input and killed them; the folder goes with them.
fn stopped(how: &str, code: u8) -> ExitCode {
    tell_line(&format!("{how}: workers and provider are stopped"));
    ExitCode::from(code)
}

fn listen_for(kind: SignalKind) -> Result<tokio::signal::unix::Signal> {
    signal(kind).map_err(|cause| Error::new(UNEXPECTED, "signals cannot be heard").caused_by(cause))
}

/// Runs the three sides side by side and holds what they say against what the provider counted.
async fn show<S: DemoStore>(args: &DemoArgs, folder: &Folder, location: &LedgerLocation) -> Result<Rows> {
    let plan = Plan::new(args.seed);
    tell_line(&report::opening(args.seed, &plan.first_calls(args.requests)));
    let (_provider, addresses, kills) = start_provider(args.seed, folder).await?;
    let (folder, location) = (folder.path().to_owned(), location.clone());
    let setting = Setting { plan, seed: args.seed, requests: args.requests, folder, location, addresses };
    let [naive, table, onefold] = Side::ALL.map(|side| Run::new(side, &setting));
    let ears = [naive.ear(), table.ear(), onefold.ear()];
    let settled = [naive.settled(), table.settled(), onefold.settled()];
    let progress = Progress::new(addresses.serves, args.requests, settled);
    let running = async {
        let ran = tokio::try_join!(naive.finish(), table.finish(), onefold.finish())?;
        // What is still on its way to the provider happens, too.
        tokio::time::sleep(AGE_MAX + SLOW_FOR).await;
        Ok::<_, Error>(ran)
    };
    let ran = tokio::select! {
        ran = running => ran?,
        never = progress.show() => match never {},
        () = pass_on(kills, ears) => return Err(Error::new(UNEXPECTED, "the provider ended before the workers did")),
    };
    hold_against::<S>(&setting, ran).await
}

async fn hold_against<S: DemoStore>(
    setting: &Setting,
    (naive, table, onefold): (SideResult, SideResult, SideResult),
) -> Result<Rows> {
    let processed = table::Table::open(&setting.folder)?.list()?;
    let standings = ledger::standings(&setting.location.open::<S>(&setting.folder).await?).await?;
    let row = async |side, ran, record: &dyn Fn(request::Request) -> Record| -> Result<Row> {
        let truth = truth(setting.addresses, side).await?;
        Ok(tally(side, setting.requests, setting.plan, &truth, ran, record))
    };
    Ok(Rows {
        naive: row(Side::Naive, &naive, &|request| Record::of_word(naive.words.get(&request).copied())).await?,
        table: row(Side::Table, &table, &|request| table_record(&processed, &table, request)).await?,
        onefold: row(Side::Onefold, &onefold, &|request| Record::of_standing(standings.get(&request).copied())).await?,
    })
}

async fn truth(addresses: Addresses, side: Side) -> Result<Truth> {
    let unheard =
        |cause: &dyn std::fmt::Display| Error::new(UNEXPECTED, format!("the provider does not tell: {cause}"));
    let answer = wire::ask(addresses.serves, &format!("TRUTH {side}")).await.map_err(|cause| unheard(&cause))?;
    serde_json::from_str(&answer).map_err(|cause| unheard(&cause))
}

/// Starts the provider; answers where it is, and what it says from then on.
async fn start_provider(
    seed: u64,
    folder: &Folder,
) -> Result<(ChildProcess, Addresses, mpsc::UnboundedReceiver<String>)> {
    let (heard, mut lines) = mpsc::unbounded_channel();
    let args = ["demo-provider".into(), "--seed".into(), seed.to_string().into()];
    let (life, _) = ChildProcess::start(&args, None, &folder.path().join("provider.log"), move |said| {
        if let ChildEvent::Line(line) = said {
            let _ = heard.send(line);
        }
    })
    .map_err(|cause| Error::new(UNEXPECTED, format!("no provider can be started: {cause}")).caused_by(cause))?;
    let first = tokio::time::timeout(START_MAX, lines.recv()).await.ok().flatten().unwrap_or_default();
    let addresses = match *first.split(' ').collect::<Vec<_>>().as_slice() {
        ["LISTENING", serves, refuses] => serves.parse().ok().zip(refuses.parse().ok()),
        _ => None,
    };
    let Some((serves, refuses)) = addresses else {
        return Err(Error::new(UNEXPECTED, format!("the provider does not say where it listens: {first:?}")));
    };
    Ok((life, Addresses { serves, refuses }, lines))
}

/// Passes the provider's wishes for a kill on to the side whose worker it is; ends with the provider.
async fn pass_on(mut lines: mpsc::UnboundedReceiver<String>, ears: [mpsc::UnboundedSender<Event>; 3]) {
    while let Some(line) = lines.recv().await {
        if let ["KILL", side, slot] = *line.split(' ').collect::<Vec<_>>().as_slice()
            && let (Some(side), Ok(slot)) = (Side::parse(side), slot.parse())
        {
            // A side that has ended has no worker to kill.
            let _ = ears[side.index()].send(Event::Kill(slot));
        }
    }
}

/// Writes a line to stderr, if anyone still reads it.
fn tell_line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
