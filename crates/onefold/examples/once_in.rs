//! Changes your own table once: check, execute and record are one commit.

use onefold::error::{DATABASE_UNAVAILABLE, Error};
use onefold::{Kind, Ledger, Once};

fn failed(cause: sqlx::Error) -> Error {
    Error::new(DATABASE_UNAVAILABLE, "the order was not written").caused_by(cause)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
    let mut tx = ledger.store().begin().await?;
    sqlx::query("CREATE TABLE IF NOT EXISTS orders (id TEXT)").execute(&mut *tx).await.map_err(failed)?;
    tx.commit().await?;

    let orders = ledger.kind(Kind::local("order.place"))?;
    for expected in [Once::Performed(17), Once::Replayed(17)] {
        let mut tx = ledger.store().begin().await?;
        let placed = orders.operation("ORDER-17").once_in(&mut tx, &"two chairs", async |tx| {
            sqlx::query("INSERT INTO orders VALUES ('ORDER-17')").execute(tx).await.map_err(failed)?;
            Ok::<_, Error>(17)
        });
        assert_eq!(placed.await?, expected);
        tx.commit().await?;
    }
    println!("one row, however often it is asked for");
    Ok(())
}
