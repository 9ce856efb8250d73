//! Money is moved only with evidence: the result of a financial effect carries the reference to its proof.

use onefold::class::WithEvidence;
use onefold::{Kind, Ledger, Performed};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
    let payments = ledger.kind(Kind::financial_or_legal("payment.register"))?;
    let answer = payments
        .operation("PAY-1")
        .perform(&"12.50", |_| async { Ok(WithEvidence::new("paid".to_owned(), "TX-7")) })
        .await?;
    assert_eq!(answer, Performed::Completed { result: "paid".to_owned(), replayed: false });
    println!("paid, and the bank's reference is kept beside it");
    Ok(())
}
