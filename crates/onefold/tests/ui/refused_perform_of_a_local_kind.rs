use onefold::operation::OperationId;
use onefold::store::Sqlite;
use onefold::{Kind, Ledger};

async fn place(ledger: Ledger<Sqlite>, id: OperationId) -> onefold::Result<()> {
    let orders = ledger.kind(Kind::local("order.place"))?;
    orders.operation(id).perform(&"two chairs", |_| async { Ok(17) }).await?;
    Ok(())
}

fn main() {}
