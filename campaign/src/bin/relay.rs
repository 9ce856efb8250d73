//! Runs one relay through the library until it is killed: `relay DATABASE ADDRESS SECRET_FILE`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onefold::Ledger;
use onefold::outbox::{Begin, Connect, Relay, Webhook, WebhookSecret};
use onefold::settings::SystemClock;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, address, secret] = arguments.as_slice() else {
        return Err("usage: relay DATABASE ADDRESS SECRET_FILE".into());
    };
    let ledger = Ledger::sqlite(database).await?;
    let secret = WebhookSecret::read(Path::new(secret), "relay:")?;
    let webhook = Webhook::new(address.parse()?, secret, Connect::default().client()?, Arc::new(SystemClock));
    let relay = Relay::new(&ledger.outbox(), "cases")
        .events(["case.*"])
        .begin(Begin::Oldest)
        .times(Duration::from_secs(2), Duration::from_secs(1))
        .page_max(10)
        .to_each(webhook, 8);
    println!("RELAYING");
    relay.run(std::future::pending()).await?;
    Ok(())
}
