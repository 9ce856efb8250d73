//! What a database says stays here: its statement and values nowhere, its names and address in the log alone.

use axum::response::IntoResponse as _;
use http_body_util::BodyExt as _;
use onefold_core::Error;
use onefold_core::error::{OPERATION_CONFLICT, PROGRAMMING_INVARIANT_VIOLATED, Visibility};
use onefold_core::persistence::{Constraints, Fault};
use onefold_http::ProblemResponse;

use crate::log::Log;

/// A driver's own error, which repeats everything that it knows.
const DRIVER: &str = "duplicate key value violates unique constraint \"m4rk3r_constraint\" at m4rk3r-address:5432: \
     Key (iban)=(m4rk3r-value) already exists: INSERT INTO m4rk3r_table VALUES ('m4rk3r-literal')";

const NOWHERE: [&str; 3] = ["m4rk3r-value", "m4rk3r_table", "m4rk3r-literal"];

/// Every fault, by its state.
const STATES: [&str; 17] = [
    "23505", "23503", "23514", "23P01", "23502", "P0001", "40001", "40P01", "55P03", "53100", "53300", "57014",
    "57P01", "25006", "08006", "42P01", "22001",
];

async fn answered(error: Error) -> (String, String) {
    let log = Log::default();
    let taken = log.take();
    let response = ProblemResponse::from(error).into_response();
    drop(taken);
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (String::from_utf8_lossy(&bytes).into_owned(), log.text())
}

#[tokio::test]
async fn no_fault_tells_its_client_how_the_database_is_made() {
    // The one that nobody mapped is named in the log, and first: a flood of one code is not logged.
    let fault = Fault::of_sql_state("23505", Some("m4rk3r_constraint"));
    let error = Constraints::new().error(&fault).caused_by(std::io::Error::other(DRIVER));
    assert_eq!(error.code(), PROGRAMMING_INVARIANT_VIOLATED);
    let (body, log) = answered(error).await;
    assert!(!body.contains("m4rk3r"), "{body}");
    assert!(log.contains("constraint=\"m4rk3r_constraint\"") && log.contains("m4rk3r-address"), "{log}");
    let known = Constraints::new().map("m4rk3r_constraint", OPERATION_CONFLICT);
    for state in STATES {
        for name in ["m4rk3r_constraint", "m4rk3r_unmapped"] {
            let fault = Fault::of_sql_state(state, Some(name));
            let error = known.error(&fault).caused_by(std::io::Error::other(DRIVER));
            let (body, log) = answered(error).await;
            assert!(!body.contains("m4rk3r"), "{state}: {body}");
            for marker in NOWHERE {
                assert!(!log.contains(marker), "{state}: {log}");
            }
        }
    }
}

#[tokio::test]
async fn every_code_that_a_fault_can_have_by_itself_hides_its_detail() {
    for state in STATES {
        let error = Constraints::new().error(&Fault::of_sql_state(state, None));
        assert_ne!(error.code().descriptor().visibility, Visibility::External, "{state}");
    }
}
