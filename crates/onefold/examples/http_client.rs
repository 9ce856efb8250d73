//! An HTTP client's answer or error becomes what is known of the effect, without a table of one's own.

use std::io::Error;

use onefold::call::CallFailure;
use onefold::{Kind, Ledger, Performed};

/// Stands for any HTTP client: a status and a body, or an error of the connection.
async fn post(path: &str) -> Result<(u16, String), Error> {
    tokio::task::yield_now().await;
    Ok(if path == "/notices" { (201, "NTC-991".to_owned()) } else { (503, String::new()) })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
    let notices = ledger.kind(Kind::external_command("notice.issue"))?;
    for path in ["/notices", "/broken"] {
        let send = move |_| async move {
            let (status, body) = post(path).await.map_err(|error| CallFailure::from_io(&error))?;
            if status < 300 { Ok(body) } else { Err(CallFailure::from_status(status)) }
        };
        let answer = notices.operation(path).perform(&path, send).await?;
        // A 503 after sending is not a failure: the service may have acted first.
        let known = matches!(answer, Performed::Completed { .. });
        assert_eq!(known, path == "/notices", "{answer:?}");
        println!("{path}: {answer:?}");
    }
    Ok(())
}
