use onefold::operation::OperationId;
use onefold::store::Sqlite;
use onefold::{Kind, Ledger, Performed};

async fn register(ledger: Ledger<Sqlite>, id: OperationId) -> onefold::Result<Performed<u64>> {
    let sanctions = ledger.kind(Kind::financial_or_legal("sanction.register"))?;
    sanctions.operation(id).perform(&"breach", |_| async { Ok(8821_u64) }).await
}

fn main() {}
