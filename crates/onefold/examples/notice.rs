//! Issues formal notices once, although the process that issues them crashes on purpose.
//!
//! `cargo run --release --example notice` plays five short lives of one worker, each a process of
//! its own on the same ledger. The notice service is a file: each line is a notice that really went
//! out, so you can count.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use onefold::call::CallFailure;
use onefold::class::ExternalCommand;
use onefold::incident::TookHold;
use onefold::kind::KindHandle;
use onefold::policy::Escalate;
use onefold::retry::Category;
use onefold::settings::Shutdown;
use onefold::store::Sqlite;
use onefold::{Kind, Ledger, Performed, template};

type Failure = Box<dyn std::error::Error>;

#[derive(serde::Serialize, Clone)]
struct IssueNotice {
    case_id: String,
    notice_type: String,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => play(),
        ["issue", folder, case, mood] => issue(Path::new(folder), case, *mood == "crash").await,
        ["incidents", folder] => show_incidents(Path::new(folder)).await,
        ["resolve", folder, case] => resolve(Path::new(folder), case).await,
        _ => {
            eprintln!("usage: notice    (without arguments: plays the whole story)");
            Ok(ExitCode::from(2))
        }
    }
}

/// The story, each step a process of its own.
fn play() -> Result<ExitCode, Failure> {
    let folder = std::env::temp_dir().join(format!("onefold-notice-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let at = folder.to_string_lossy().into_owned();
    step(1, "a worker issues the notice of CASE-1", &["issue", &at, "CASE-1", "calm"])?;
    step(2, "the same request comes again: answered from the record", &["issue", &at, "CASE-1", "calm"])?;
    step(
        3,
        "a worker issues the notice of CASE-2 and dies before it can record that",
        &["issue", &at, "CASE-2", "crash"],
    )?;
    step(
        4,
        "its next life does not guess: the outcome is unknown, and a person is asked",
        &["issue", &at, "CASE-2", "calm"],
    )?;
    step(5, "what the person sees", &["incidents", &at])?;
    step(6, "the person finds the notice in the notice service and says so", &["resolve", &at, "CASE-2"])?;
    step(7, "now the request is answered, and nothing was sent again", &["issue", &at, "CASE-2", "calm"])?;
    let sent = sent_notices(&folder);
    println!("\nthe notice service sent {} notices for 2 cases in 4 requests: {}", sent.len(), sent.join(", "));
    std::fs::remove_dir_all(&folder)?;
    Ok(if sent.len() == 2 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn step(number: usize, title: &str, args: &[&str]) -> Result<(), Failure> {
    println!("\n{number}. {title}");
    let ended = Command::new(std::env::current_exe()?).args(args).status()?;
    if !ended.success() {
        println!("   the process ended: {ended}");
    }
    Ok(())
}

/// One life of the worker: declare, perform, say what is known.
async fn issue(folder: &Path, case: &str, crash: bool) -> Result<ExitCode, Failure> {
    let (ledger, notices) = open(folder).await?;
    let command = IssueNotice { case_id: case.to_owned(), notice_type: "BREACH".to_owned() };
    let id = template!("{case_id}:ISSUE_FORMAL_NOTICE:{notice_type}", command)?;
    let (service, asked) = (service(folder), command.clone());
    let answer = notices
        .operation(id)
        .business_key(case)
        .perform(&command, move |attempt| async move {
            attempt.may_send()?;
            let number = send(&service, &asked).map_err(|_| CallFailure::unknown(Category::DownstreamTimeout))?;
            if crash {
                println!("   sent {number}, and then the power goes out");
                std::process::abort();
            }
            Ok(number)
        })
        .await?;
    let told = match answer {
        Performed::Completed { result, replayed: false } => format!("completed: {result}"),
        Performed::Completed { result, replayed: true } => {
            format!("completed before: {result} (replayed, nothing was sent)")
        }
        Performed::Unknown { incident: Some(incident), .. } => format!("unknown: do not act; see {incident}"),
        Performed::Unknown { incident: None, .. } => "unknown: the notice service is being asked".to_owned(),
        Performed::Rejected(rejection) => format!("rejected: {:?}", rejection.code),
        Performed::Waiting { until, .. } => format!("not before {until}"),
        Performed::InFlight { .. } => "someone else is at it".to_owned(),
        Performed::Conflict => "this id was used for another request".to_owned(),
    };
    println!("   {told}");
    ledger.shutdown(Shutdown::Drain { within: Duration::from_secs(5) }).await;
    Ok(ExitCode::SUCCESS)
}

async fn open(folder: &Path) -> Result<(Ledger<Sqlite>, KindHandle<Sqlite, ExternalCommand>), Failure> {
    // Under its installation's name the next life settles what this one held when it died.
    let ledger = Ledger::sqlite(folder.join("onefold.db"))
        .installation("notices")
        .journal(folder.join("onefold.journal"))
        .await?;
    let kind = Kind::external_command("notice.issue-formal")
        .on_unknown(Escalate)
        .deadline(Duration::from_secs(10))
        .depends_on("notice-service");
    let notices = ledger.kind(kind)?;
    Ok((ledger, notices))
}

async fn show_incidents(folder: &Path) -> Result<ExitCode, Failure> {
    let (ledger, _) = open(folder).await?;
    for incident in ledger.incidents().open().await? {
        println!(
            "   {} · {} · {} · effect {}",
            incident.id,
            incident.error_code,
            incident.subject,
            incident.side_effect_status.map_or("-", |effect| effect.as_str())
        );
        println!("     {}", incident.message);
        println!(
            "     safe to retry: {} · runbook: {}",
            if incident.safe_to_retry { "yes" } else { "no" },
            incident.runbook
        );
        println!("     check first: {}", incident.first_check);
        println!("     then: {}", incident.suggested_action);
    }
    Ok(ExitCode::SUCCESS)
}

async fn resolve(folder: &Path, case: &str) -> Result<ExitCode, Failure> {
    let (ledger, _) = open(folder).await?;
    let number = sent_notices(folder).into_iter().find(|line| line.contains(case)).ok_or("no such notice")?;
    let incidents = ledger.incidents();
    for incident in incidents.open().await? {
        let found = TookHold::evidence(number.as_str()).result(&number)?;
        let settlement = incidents.resolve(incident.id, found).by("operator on duty");
        println!("   resolved: {:?}", settlement.because("found in the notice service").await?);
    }
    Ok(ExitCode::SUCCESS)
}

fn service(folder: &Path) -> PathBuf {
    folder.join("notice-service.log")
}

/// The notice service: every line is a notice that really went out.
fn send(service: &Path, command: &IssueNotice) -> std::io::Result<String> {
    let mut file = OpenOptions::new().create(true).append(true).open(service)?;
    let number = format!("NTC-{}", command.case_id);
    writeln!(file, "{number}")?;
    file.sync_all()?;
    Ok(number)
}

fn sent_notices(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(service(folder)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
