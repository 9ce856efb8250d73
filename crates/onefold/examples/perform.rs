//! Performs an outside effect once; the same request again is answered from the record.

use onefold::{Kind, Ledger, Performed};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
    let notices = ledger.kind(Kind::external_command("notice.issue"))?;
    for round in 1..=2 {
        let sent = notices.operation("CASE-1:NOTICE").perform(&"BREACH", |attempt| async move {
            println!("sending under the key {}", attempt.provider_key());
            Ok("NTC-991".to_owned())
        });
        let Performed::Completed { result, replayed } = sent.await? else { panic!("not completed") };
        println!("round {round}: {result}, replayed: {replayed}");
        assert_eq!(replayed, round == 2);
    }
    Ok(())
}
