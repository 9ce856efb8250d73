//! The provider says no, for good: recorded under your own code, and replayed.

use onefold::call::CallFailure;
use onefold::{Kind, Ledger, Performed};

onefold::codes! {
    /// The case is closed
    CASE_CLOSED: DomainRule, status 409, retry Never, owner Application, visible External;
        summary "the case does not take notices any more", first_check "the case's state",
        safe_action "none: the caller chooses another case", escalation "case team";
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
    let notices = ledger.kind(Kind::external_command("notice.issue"))?;
    for _ in 0..2 {
        let refuse = |_| async { Err::<String, _>(CallFailure::rejected(CASE_CLOSED)) };
        let answer = notices.operation("CASE-1").perform(&"BREACH", refuse).await?;
        let Performed::Rejected(rejection) = answer else { panic!("{answer:?}") };
        assert_eq!(rejection.code, Some(CASE_CLOSED.into()));
    }
    println!("asked once, told twice: {ALL:?}");
    Ok(())
}
