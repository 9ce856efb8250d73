//! A test moves the clock: what would wait for minutes is performed again at once.

use std::sync::Arc;
use std::time::Duration;

use onefold::call::CallFailure;
use onefold::retry::Category;
use onefold::testing::{CountingProvider, ManualClock, SeededRandom};
use onefold::{Kind, Ledger, Performed};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let clock = Arc::new(ManualClock::default());
    let random = Arc::new(SeededRandom::new(7));
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).clock(clock.clone()).random(random).await?;
    let notices = ledger.kind(Kind::external_command("notice.issue"))?;
    let provider = CountingProvider::default();

    let busy = |_| async { Err::<u64, _>(CallFailure::not_applied(Category::RateLimited)) };
    let answer = notices.operation("CASE-1").perform(&"BREACH", busy).await?;
    assert!(matches!(answer, Performed::Waiting { .. }), "{answer:?}");

    clock.advance(Duration::from_mins(5));
    let service = provider.clone();
    let act = move |_| async move { Ok(service.act("CASE-1")) };
    let answer = notices.operation("CASE-1").perform(&"BREACH", act).await?;
    assert_eq!(answer, Performed::Completed { result: 1, replayed: false });
    assert_eq!(provider.effects("CASE-1"), 1);
    Ok(())
}
