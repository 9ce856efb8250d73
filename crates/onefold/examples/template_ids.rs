//! An id comes from business values, and never from what changes with the attempt.

use onefold::{Result, template};

#[derive(serde::Serialize)]
struct Issue {
    case_id: String,
    notice_type: Option<String>,
}

fn main() -> Result<()> {
    let mut command = Issue { case_id: "CASE-91".to_owned(), notice_type: Some("BREACH".to_owned()) };
    let id = template!("{case_id}:ISSUE_NOTICE:{notice_type}", command)?;
    assert_eq!(id.as_str(), "CASE-91:ISSUE_NOTICE:BREACH");
    command.notice_type = None;
    let missing = template!("{case_id}:ISSUE_NOTICE:{notice_type}", command);
    println!("{id}\nwithout a type: {missing:?}");
    assert!(missing.is_err(), "no id is ever made up");
    Ok(())
}
