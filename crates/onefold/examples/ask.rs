//! After a lost answer the provider is asked whether the effect took hold, instead of sending again.

use std::time::Duration;

use onefold::call::CallFailure;
use onefold::policy::{Ask, ProviderAnswer};
use onefold::retry::Category;
use onefold::{Kind, Ledger, Performed};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db"))
        .settings(|settings| settings.ask_every = Duration::from_millis(20))
        .await?;
    let ask = Ask::with(|asked| async move {
        println!("does the notice of {} exist?", asked.key());
        ProviderAnswer::took_hold(&"NTC-991")
    });
    let notices =
        ledger.kind(Kind::external_command("notice.issue").on_unknown(ask.settle(Duration::from_mins(15))))?;
    let lost = |_| async { Err::<String, _>(CallFailure::unknown(Category::DownstreamTimeout)) };
    notices.operation("CASE-1").perform(&"BREACH", lost).await?;
    loop {
        let send = |_| async { panic!("nothing is sent again") };
        let answer: Performed<String> = notices.operation("CASE-1").perform(&"BREACH", send).await?;
        if let Performed::Completed { result, replayed: true } = answer {
            println!("the provider said: {result}");
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
