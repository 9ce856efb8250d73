//! Lists what waits for a person, by cause, and settles it.

use onefold::call::CallFailure;
use onefold::incident::DidNotHappen;
use onefold::retry::Category;
use onefold::{Kind, Ledger};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
    let notices = ledger.kind(Kind::external_command("notice.issue").depends_on("notice-service"))?;
    for case in 1..=3 {
        let lost = |_| async { Err::<String, _>(CallFailure::unknown(Category::DownstreamTimeout)) };
        notices.operation(format!("CASE-{case}")).perform(&case, lost).await?;
    }
    let incidents = ledger.incidents();
    for group in incidents.groups().await? {
        println!("{group:?}");
    }
    for incident in incidents.open().await? {
        println!("{}: {}\n  check first: {}", incident.id, incident.message, incident.first_check);
        let decided = incidents.resolve(incident.id, DidNotHappen::forced());
        decided.by("operator on duty").because("the service was down and its queue is empty").await?;
    }
    assert!(incidents.open().await?.is_empty());
    Ok(())
}
