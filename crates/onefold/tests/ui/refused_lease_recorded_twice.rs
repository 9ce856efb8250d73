use onefold::{HeldLease, Sqlite};

async fn report(lease: HeldLease<Sqlite>) -> onefold::Result<()> {
    lease.complete(&"done", None).await?;
    lease.complete(&"done again", None).await?;
    Ok(())
}

fn main() {}
