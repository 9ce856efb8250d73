use onefold::operation::OperationId;
use onefold::store::Sqlite;
use onefold::{Kind, Ledger};

async fn issue(store: Sqlite, ledger: Ledger<Sqlite>, id: OperationId) -> onefold::Result<()> {
    let notices = ledger.kind(Kind::external_command("notice.issue"))?;
    let mut tx = store.begin().await?;
    notices.operation(id).once_in(&mut tx, &"breach", async |_| Ok::<_, onefold::Error>(17)).await?;
    tx.commit().await?;
    Ok(())
}

fn main() {}
