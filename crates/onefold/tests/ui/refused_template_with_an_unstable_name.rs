#[derive(serde::Serialize)]
struct Issue {
    case_id: String,
    request_id: String,
}

fn main() {
    let command = Issue { case_id: "C-1".into(), request_id: "R-1".into() };
    let _ = onefold::template!("{case_id}:ISSUE_NOTICE:{request_id}", command);
}
