//! Serves orders on this machine: `onefold-example-orders [DATABASE]`; the address is the one line on standard output.

use onefold::Ledger;
use onefold::settings::Shutdown;
use onefold_example_orders::{Provider, routes};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = std::env::args().nth(1).unwrap_or_else(|| "orders.db".to_owned());
    let ledger = Ledger::sqlite(database).await?;
    let app = routes(&ledger, Provider::default())?;
    // What an earlier life left undone is settled, and stays so.
    ledger.start().await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    ledger.shutdown(Shutdown::Now).await;
    Ok(())
}
