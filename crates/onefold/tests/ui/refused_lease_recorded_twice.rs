use onefold::claim::LeaseHandle;
use onefold::store::Sqlite;

async fn report(lease: LeaseHandle<Sqlite>) -> onefold::Result<()> {
    lease.complete(&"done", None).await?;
    lease.complete(&"done again", None).await?;
    Ok(())
}

fn main() {}
