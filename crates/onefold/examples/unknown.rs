//! An answer is lost: the outcome is unknown, and nothing is sent again until a person says what they found.

use onefold::call::CallFailure;
use onefold::incident::TookHold;
use onefold::retry::Category;
use onefold::{Kind, Ledger, Performed};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
    let notices = ledger.kind(Kind::external_command("notice.issue"))?;
    let lost = |_| async { Err::<String, _>(CallFailure::unknown(Category::DownstreamTimeout)) };
    let answer = notices.operation("CASE-1:NOTICE").perform(&"BREACH", lost).await?;
    let Performed::Unknown { incident: Some(incident), .. } = answer else { panic!("{answer:?}") };

    let found = TookHold::evidence("NTC-991").result(&"NTC-991")?;
    ledger.incidents().resolve(incident, found).because("found in the notice service").await?;

    let send = |_| async { panic!("nothing is sent again") };
    let again: Performed<String> = notices.operation("CASE-1:NOTICE").perform(&"BREACH", send).await?;
    assert_eq!(again, Performed::Completed { result: "NTC-991".to_owned(), replayed: true });
    Ok(())
}
