//! One id is one request: another request under the same id is a conflict, never a wrong answer.

use onefold::{Kind, Ledger, Performed};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
    let payments = ledger.kind(Kind::external_command("payment.create"))?;
    payments.operation("PAY-1").perform(&"12.50", |_| async { Ok(1) }).await?;
    let other = payments.operation("PAY-1").perform(&"99.00", |_| async { Ok(2) }).await?;
    assert_eq!(other, Performed::Conflict);
    println!("PAY-1 was used for another request");
    Ok(())
}
