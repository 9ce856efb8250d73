//! A provider that is busy is tried again on a schedule of one's own; the caller is told when, and why.

use onefold::call::CallFailure;
use onefold::retry::{Category, Schedule};
use onefold::{Kind, Ledger, Performed};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
    let schedule = Schedule::seconds(&[60, 300]);
    let kind = Kind::external_command("notice.issue").attempts_max(5).retry(
        Category::RateLimited,
        Some(schedule),
        "the quota resets each minute",
    );
    let notices = ledger.kind(kind)?;
    let busy = |_| async { Err::<String, _>(CallFailure::not_applied(Category::RateLimited)) };
    let answer = notices.operation("CASE-1").perform(&"BREACH", busy).await?;
    let Performed::Waiting { until, because } = answer else { panic!("{answer:?}") };
    println!("not before {until}, because of {because:?}");
    Ok(())
}
