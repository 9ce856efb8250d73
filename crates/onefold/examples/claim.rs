//! A caller that acts by itself: it claims, acts, and reports back with the lease.

use onefold::claim::Claim;
use onefold::{Kind, Ledger};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
    let notices = ledger.kind(Kind::external_command("notice.issue"))?;
    let operation = notices.operation("CASE-1");
    let Claim::Granted(lease) = operation.claim(&"BREACH", ledger.attempt_id()).await? else { panic!("not granted") };
    println!("{}", lease.complete(&"NTC-991", None).await?);
    let again = operation.claim(&"BREACH", ledger.attempt_id()).await?.map_grant(|_| ());
    assert!(matches!(again, Claim::Replay(_)));
    Ok(())
}
