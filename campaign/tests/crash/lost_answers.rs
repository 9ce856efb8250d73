//! Callers whose server dies between commit and answer, and who ask again with the same attempt id.

use crate::fixture::{Provider, Worker};

const ATTEMPT: &str = "0198c0de-0000-4000-8000-000000000001";
const OTHER: &str = "0198c0de-0000-4000-8000-000000000002";

#[test]
fn the_same_attempt_asks_again_and_gets_one_grant_and_no_incident() {
    for point in ["before-claim-commit", "after-claim-commit"] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("onefold.db");
        let provider = Provider::start();
        let options = [("--installation", "main")];
        let fault = format!("{point}:1");
        let mut server = Worker::start(&db, &provider, &[&options[..], &[("--fault", &fault)]].concat());
        assert_eq!(server.ask(&format!("CLAIM A {ATTEMPT}")), None, "{point}");
        assert!(server.died_by_kill());

        let mut server = Worker::spawn(&db, &provider, &options);
        let started = server.hear("STARTED").unwrap();
        assert_eq!(started, "STARTED journal=0 damaged=0 settled=0", "a caller's lease is left alone");
        assert_eq!(server.ask(&format!("CLAIM A {ATTEMPT}")).unwrap(), "CLAIM A granted 1", "{point}");
        assert_eq!(server.ask(&format!("CLAIM A {OTHER}")).unwrap(), "CLAIM A in-flight", "{point}");
        assert!(server.ask("SHOW A").unwrap().contains("STARTED fence=1 incident=none"), "{point}");
        assert_eq!(server.ask(&format!("RECORD A 1 {ATTEMPT} R")).unwrap(), "RECORD A accepted COMPLETED", "{point}");
    }
}

#[test]
fn a_record_whose_answer_was_lost_is_accepted_again() {
    for (point, stands) in [("before-record-commit", "STARTED"), ("after-record-commit", "COMPLETED")] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("onefold.db");
        let provider = Provider::start();
        let options = [("--installation", "main")];
        let fault = format!("{point}:1");
        let mut server = Worker::start(&db, &provider, &[&options[..], &[("--fault", &fault)]].concat());
        assert_eq!(server.ask(&format!("CLAIM A {ATTEMPT}")).unwrap(), "CLAIM A granted 1");
        assert_eq!(server.ask(&format!("RECORD A 1 {ATTEMPT} R")), None, "{point}");
        assert!(server.died_by_kill());

        let mut server = Worker::start(&db, &provider, &options);
        assert!(
            server.ask("SHOW A").unwrap().starts_with(&format!("SHOW A {stands} fence=1 incident=none")),
            "{point}"
        );
        assert_eq!(server.ask(&format!("RECORD A 1 {ATTEMPT} R")).unwrap(), "RECORD A accepted COMPLETED", "{point}");
        assert_eq!(server.ask(&format!("RECORD A 1 {ATTEMPT} OTHER")).unwrap(), "RECORD A refused OUTCOME_CONFLICT");
        assert_eq!(server.ask(&format!("RECORD A 1 {OTHER} R")).unwrap(), "RECORD A refused LEASE_NOT_YOURS");
        assert_eq!(server.ask(&format!("RECORD A 7 {ATTEMPT} R")).unwrap(), "RECORD A refused LEASE_NEVER_GRANTED");
    }
}
