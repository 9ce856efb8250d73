//! A provider that knows idempotency keys: a lost answer is asked for again under the same key, and acts once.

use std::time::Duration;

use onefold::call::CallFailure;
use onefold::policy::SameKey;
use onefold::retry::{Category, Schedule};
use onefold::testing::CountingProvider;
use onefold::{Kind, Ledger, Performed};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
    let soon = Schedule::seconds(&[1]);
    let kind = Kind::external_command("payment.create")
        .on_unknown(SameKey::remembered_for(Duration::from_hours(24)))
        .retry(Category::DownstreamTimeout, Some(soon), "an example does not wait for minutes");
    let payments = ledger.kind(kind)?;
    let provider = CountingProvider::default();
    loop {
        let bank = provider.clone();
        let answer = payments.operation("PAY-1").perform(&"12.50", move |attempt| async move {
            let effects =
                bank.act_by_key(attempt.provider_key()).map_err(|_| CallFailure::not_applied(Category::Permission))?;
            // The first answer is lost on its way.
            if attempt.number() == 1 { Err(CallFailure::unknown(Category::DownstreamTimeout)) } else { Ok(effects) }
        });
        if let Performed::Completed { result, .. } = answer.await? {
            break assert_eq!(result, 1);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!((provider.requests("PAY-1"), provider.effects("PAY-1")), (2, 1));
    Ok(())
}
