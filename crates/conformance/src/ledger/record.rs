//! What an attempt says happened.

use std::sync::Arc;

use onefold_core::effect::KindSpec;
use onefold_core::error::{DUPLICATE_SUSPECTED, OUTCOME_CONFLICT};
use onefold_core::ledger::{
    Digest, Lease, Question, ReconcilerAnswer, Recorded, Refusal, Resolution, SideEffect, Status, StoredResult, Verb,
};
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, granted, key};
use crate::harness::Harness;
use crate::kinds::{DEADLINE, LEASE, SECOND, SETTLE, SLACK, asks, escalates, financial, reruns, same_key};
use crate::ledger::outcomes::{broken, completed, completion, proved, rejected, retryable, unknown};

fn settled(status: Status) -> Recorded {
    Recorded::Settled { status, next_attempt_at: None }
}

/// Each outcome is kept, and the answer gives the operation's new state.
pub async fn an_outcome_is_recorded_and_answered_with_where_it_stands<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let soon = fixture.now().plus(60 * SECOND);
    let rows = [
        ("A", completed(b"1"), settled(Status::Completed), SideEffect::Applied),
        ("B", rejected(), settled(Status::FailedFinal), SideEffect::NotApplied),
        (
            "C",
            retryable(Category::RateLimited),
            Recorded::Settled { status: Status::FailedRetryable, next_attempt_at: Some(soon) },
            SideEffect::NotApplied,
        ),
        ("D", unknown(Category::DownstreamTimeout), settled(Status::Unknown), SideEffect::Unknown),
    ];
    for (id, outcome, expected, effect) in rows {
        let lease = fixture.grant(&terms, id).await;
        assert_eq!(fixture.record(&terms, &lease, outcome.clone()).await, expected);
        let entry = fixture.entry(&lease.key).await;
        let Recorded::Settled { status, next_attempt_at } = expected else { unreachable!("every row settles") };
        assert_eq!((entry.status, entry.next_attempt_at, entry.side_effect), (status, next_attempt_at, effect));
        // An attempt that knows nothing has not spoken yet: it may still say what happened.
        let spoke = (status != Status::Unknown).then(|| outcome.digest());
        assert_eq!(entry.recorded, spoke);
        assert_eq!(entry.error_code, outcome.failure().map(|failure| failure.code.clone()));
        assert_eq!(entry.completed_at.is_some(), entry.is_settled());
    }
}

/// The same outcome again is accepted and changes nothing, at any time.
pub async fn the_same_outcome_again_is_accepted_and_changes_nothing<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let outcomes =
        [completed(b"1"), rejected(), retryable(Category::RateLimited), unknown(Category::DownstreamTimeout)];
    for (id, outcome) in ["A", "B", "C", "D"].into_iter().zip(outcomes) {
        let lease = fixture.grant(&terms, id).await;
        fixture.record(&terms, &lease, outcome.clone()).await;
        let before = (fixture.entry(&lease.key).await, fixture.story(&lease.key).await);
        fixture.wait(DEADLINE);
        assert_eq!(fixture.record(&terms, &lease, outcome).await, Recorded::Already { status: before.0.status });
        assert_eq!((fixture.entry(&lease.key).await, fixture.story(&lease.key).await), before);
    }
}

/// Another outcome of the same attempt is refused, kept as evidence, and told to a person; the first one is kept.
pub async fn another_outcome_is_refused_and_opens_an_incident<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for (id, first, second) in [
        ("A", completed(b"1"), rejected()),
        ("B", rejected(), completed(b"1")),
        ("C", completed(b"1"), completed(b"2")),
    ] {
        let lease = fixture.grant(&terms, id).await;
        fixture.record(&terms, &lease, first.clone()).await;
        fixture.wait(SECOND);
        let answer = fixture.record(&terms, &lease, second).await;
        let incident = fixture.open_incident(&lease.key).await.expect("an incident");
        assert_eq!(answer, Recorded::Refused(Refusal::OtherOutcome { incident: Some(incident.id.clone()) }));
        assert_eq!(incident.error_code, OUTCOME_CONFLICT);
        let entry = fixture.entry(&lease.key).await;
        assert_eq!(
            (entry.status, entry.recorded, entry.incident),
            (first.status(), Some(first.digest()), Some(incident.id))
        );
        assert!(fixture.story(&lease.key).await.iter().any(|line| line.contains("reported")));
    }
}

/// An attempt that did not know may find out: what it says then settles the operation.
pub async fn an_attempt_that_did_not_know_may_find_out<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
    assert!(fixture.open_incident(&lease.key).await.is_some());
    fixture.wait(SECOND);
    assert_eq!(fixture.record(&terms, &lease, completed(b"1")).await, settled(Status::Completed));
    assert!(fixture.open_incident(&lease.key).await.is_none());
    let too_late = fixture.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
    assert!(matches!(too_late, Recorded::Already { .. } | Recorded::Refused(_)), "{too_late:?}");
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Completed);
}

/// A record is accepted after its lease expired, as long as nobody else was granted.
pub async fn a_record_after_expiry_is_accepted_while_its_fence_holds<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.wait(24 * 3600 * SECOND);
    assert_eq!(fixture.record(&terms, &lease, completed(b"1")).await, settled(Status::Completed));
    assert!(fixture.open_incident(&lease.key).await.is_none());
}

/// An attempt that was believed lost and still holds the fence answers the question: its incident is closed by evidence.
pub async fn a_record_out_of_unknown_closes_its_incident<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for (id, outcome) in [("A", completed(b"1")), ("B", rejected()), ("C", retryable(Category::RateLimited))] {
        let lease = fixture.lost(&terms, id).await;
        let incident = fixture.open_incident(&lease.key).await.expect("an incident");
        fixture.wait(SECOND);
        assert!(matches!(fixture.record(&terms, &lease, outcome.clone()).await, Recorded::Settled { .. }));
        let entry = fixture.entry(&lease.key).await;
        assert_eq!((entry.status, entry.incident, entry.unknown_since), (outcome.status(), None, None));
        let closed = fixture.incidents_of(&lease.key).await.remove(0);
        assert_eq!((closed.id, closed.closed_at), (incident.id, Some(fixture.now())));
        assert_eq!(closed.closed_by.as_deref(), Some("evidence"));
        assert!(fixture.story(&lease.key).await.iter().any(|line| line.contains("went silent")));
    }
}

async fn superseded<H: Harness>(fixture: &StoreFixture<H>, terms: &Arc<KindSpec>, id: &str) -> (Lease, Lease) {
    let first = fixture.grant(terms, id).await;
    fixture.wait(LEASE + SLACK);
    fixture.sweep().await;
    fixture.wait(SECOND);
    let second = granted(fixture.claim(fixture.claim_of(terms, id)).await);
    assert_eq!(second.fence, 2);
    (first, second)
}

/// An attempt that reports an effect after another one was granted: kept as evidence, and a duplicate is suspected.
pub async fn an_older_fence_is_late_evidence_and_suspects_a_duplicate<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    let (first, second) = superseded(&fixture, &terms, "A").await;
    let before = fixture.entry(&first.key).await;
    let answer = fixture.record(&terms, &first, completed(b"first")).await;
    let incident = fixture.open_incident(&first.key).await.expect("an incident");
    assert_eq!(answer, Recorded::Refused(Refusal::Superseded { incident: Some(incident.id.clone()) }));
    assert_eq!((incident.error_code, incident.category), (DUPLICATE_SUSPECTED.name(), Category::DuplicateSuspected));
    let entry = fixture.entry(&first.key).await;
    assert_eq!((entry.status, entry.fence, entry.result.clone()), (before.status, 2, None));
    assert_eq!(entry.incident, Some(incident.id));
    // The present attempt still settles the operation, and the suspicion stays for a person.
    assert_eq!(fixture.record(&terms, &second, completed(b"second")).await, settled(Status::Completed));
    assert_eq!(fixture.entry(&first.key).await.result, Some(StoredResult::json(&b"second"[..])));
    assert!(fixture.open_incident(&first.key).await.is_some());
    let story = fixture.story(&first.key).await;
    assert!(story.iter().any(|line| line.starts_with("1 ") && line.contains("reported late: COMPLETED")), "{story:#?}");
}

/// An older attempt that says nothing took hold is kept as evidence and alarms nobody.
pub async fn an_older_fence_that_did_not_take_hold_suspects_nothing<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    let (first, _) = superseded(&fixture, &terms, "A").await;
    for _ in 0..2 {
        let answer = fixture.record(&terms, &first, rejected()).await;
        assert_eq!(answer, Recorded::Refused(Refusal::Superseded { incident: None }));
    }
    assert!(fixture.open_incident(&first.key).await.is_none());
    assert!(fixture.story(&first.key).await.iter().any(|line| line.contains("reported late: FAILED_FINAL")));
}

/// A fence that was never granted records nothing, and makes nothing up.
pub async fn a_fence_that_was_never_granted_is_refused<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    let forged = Lease { fence: 2, ..lease.clone() };
    let absent = Lease { key: key(&terms, "ABSENT"), ..lease.clone() };
    let zero = Lease { fence: 0, ..lease.clone() };
    for lease in [&forged, &absent, &zero] {
        let answer = fixture.record(&terms, lease, completed(b"1")).await;
        assert_eq!(answer, Recorded::Refused(Refusal::NeverGranted), "{lease:?}");
    }
    assert_eq!(fixture.find(&absent.key).await, None);
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Started);
}

/// A fence that was granted to another attempt is refused, the present one and an older one.
pub async fn a_fence_of_another_attempt_is_refused<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    let (first, second) = superseded(&fixture, &terms, "A").await;
    for lease in [first, second] {
        let stolen = Lease { attempt_id: fixture.attempt(), ..lease };
        assert_eq!(fixture.record(&terms, &stolen, completed(b"1")).await, Recorded::Refused(Refusal::NotYours));
    }
    assert_eq!(fixture.entry(&key(&terms, "A")).await.status, Status::Started);
    assert!(fixture.open_incident(&key(&terms, "A")).await.is_none());
}

/// A financial or legal effect is completed only with its evidence.
pub async fn a_financial_effect_is_completed_only_with_evidence<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = financial();
    let lease = fixture.grant(&terms, "A").await;
    assert_eq!(fixture.record(&terms, &lease, completed(b"1")).await, Recorded::Refused(Refusal::EvidenceRequired));
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Started);
    assert_eq!(fixture.record(&terms, &lease, proved(b"1", "ledger/8821")).await, settled(Status::Completed));
    assert_eq!(fixture.entry(&lease.key).await.evidence_ref.as_deref(), Some("ledger/8821"));
}

/// A result over the limit is kept as its digest, with where it can be read; a duplicate is told so.
pub async fn an_oversized_result_is_kept_as_its_digest<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = Arc::new(KindSpec { result_bytes_max: 8, ..KindSpec::clone(&escalates()) });
    for (id, bytes) in [("SMALL", &b"12345678"[..]), ("LARGE", b"123456789")] {
        let lease = fixture.grant(&terms, id).await;
        fixture.record(&terms, &lease, proved(bytes, "archive/9")).await;
        // The same bytes again are the same outcome, although they were not kept.
        let again = fixture.record(&terms, &lease, proved(bytes, "archive/9")).await;
        assert_eq!(again, Recorded::Already { status: Status::Completed });
    }
    assert_eq!(fixture.entry(&key(&terms, "SMALL")).await.result, Some(StoredResult::json(&b"12345678"[..])));
    let digest = StoredResult::Digest {
        content_type: Some(Arc::from("application/json")),
        bytes: 9,
        digest: Digest::of(b"123456789"),
        reference: Some(Arc::from("archive/9")),
    };
    assert_eq!(fixture.entry(&key(&terms, "LARGE")).await.result, Some(digest));
}

/// Results are bytes: zeros, text that is not UTF-8, nothing at all, and every content type come back as they came.
pub async fn a_result_is_kept_bytewise<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let every: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let results: [(&str, &[u8], &str); 6] = [
        ("ZERO", b"\0", "application/octet-stream"),
        ("ESCAPED", b"\"\\u0000\"", "application/json"),
        ("INVALID", b"\xff\xfe\x80\xc0 text", "text/plain; charset=\"utf-8\""),
        ("EMPTY", b"", "application/json"),
        ("EVERY", &every, "image/png"),
        ("UNTYPED", b"1", ""),
    ];
    for (id, bytes, content_type) in results {
        let result = StoredResult::Kept { content_type: Arc::from(content_type), bytes: Arc::from(bytes) };
        let outcome = onefold_core::ledger::Outcome::Completed(onefold_core::ledger::Completion {
            result: result.clone(),
            evidence: None,
        });
        let lease = fixture.grant(&terms, id).await;
        assert_eq!(fixture.record(&terms, &lease, outcome).await, settled(Status::Completed), "{id}");
        assert_eq!(fixture.entry(&lease.key).await.result, Some(result), "{id}");
    }
}

/// When every attempt is used up, retrying ends: final, with an incident that says nothing took hold.
pub async fn used_up_attempts_end_with_an_incident<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for attempt in 1..=5 {
        let lease = granted(fixture.claim(fixture.claim_of(&terms, "A")).await);
        assert_eq!(lease.attempt, attempt);
        let answer = fixture.record(&terms, &lease, retryable(Category::DownstreamUnavailable)).await;
        let expected = if attempt < 5 { Status::FailedRetryable } else { Status::FailedFinal };
        assert!(matches!(answer, Recorded::Settled { status, .. } if status == expected), "{attempt}: {answer:?}");
        fixture.wait(60 * SECOND);
    }
    let incident = fixture.open_incident(&key(&terms, "A")).await.expect("an incident");
    assert_eq!(incident.category, Category::AttemptsExhausted);
    assert_eq!((incident.attempts, incident.safe_to_retry), (5, true));
    assert_eq!(incident.side_effect_status, Some(SideEffect::NotApplied));
    let ended = fixture.story(&key(&terms, "A")).await.iter().filter(|line| line.contains("recorded")).count();
    assert_eq!(ended, 4, "each earlier attempt is a line");
}

/// A final technical failure is somebody's work; a business answer is not.
pub async fn a_final_technical_failure_opens_an_incident_and_a_business_answer_does_not<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for (id, outcome, alarmed) in [("A", broken(Category::Permission), true), ("B", rejected(), false)] {
        let lease = fixture.grant(&terms, id).await;
        assert_eq!(fixture.record(&terms, &lease, outcome).await, settled(Status::FailedFinal));
        assert_eq!(fixture.open_incident(&lease.key).await.is_some(), alarmed, "{id}");
    }
}

/// The provider said "did not happen", and the attempt that still holds the fence says it did: it did, and the answer was wrong.
pub async fn a_completed_record_after_a_wrong_answer_settles_it<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = asks();
    let lease = fixture.lost(&terms, "A").await;
    fixture.wait(DEADLINE + SETTLE + SLACK);
    fixture.answer(&terms, &lease, Question::Ask, ReconcilerAnswer::DidNot).await;
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Released);
    assert_eq!(fixture.record(&terms, &lease, completed(b"1")).await, settled(Status::Completed));
    let story = fixture.story(&lease.key).await;
    assert!(story.iter().any(|line| line.contains("was wrong")), "{story:#?}");
}

/// After its own release an attempt that reports an effect contradicts itself: unknown, with an incident.
pub async fn a_completed_record_after_its_own_release_is_a_contradiction<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.release(&terms, &lease).await;
    let answer = fixture.record(&terms, &lease, completed(b"1")).await;
    let incident = fixture.open_incident(&lease.key).await.expect("an incident");
    assert_eq!(answer, Recorded::Refused(Refusal::OtherOutcome { incident: Some(incident.id) }));
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Unknown);
}

/// The more careful of two words of one attempt counts while nobody has been granted since.
pub async fn an_unknown_record_after_its_own_release_is_a_contradiction<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.release(&terms, &lease).await;
    let answer = fixture.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
    let incident = fixture.open_incident(&lease.key).await.expect("an incident");
    assert_eq!(answer, Recorded::Refused(Refusal::OtherOutcome { incident: Some(incident.id) }));
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Unknown);
}

async fn settled_by_a_person<H: Harness>(
    fixture: &StoreFixture<H>,
    terms: &Arc<KindSpec>,
    evidence: Option<&str>,
) -> Lease {
    let lease = fixture.lost(terms, "A").await;
    let found = Verb::Resolve(Resolution::TookHold(completion(b"\"found\"", evidence)));
    fixture.resolve(terms, "A", "ana", found).await.expect("resolved");
    lease
}

/// What is acknowledged leaves a trace, once, and changes nothing that duplicates are told.
pub async fn what_an_attempt_says_after_a_person_settled_it_is_kept<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = settled_by_a_person(&fixture, &terms, Some("NTC-1")).await;
    let stored = fixture.entry(&lease.key).await.result;
    for _ in 0..2 {
        let answer = fixture.record(&terms, &lease, proved(b"\"mine\"", "NTC-1")).await;
        assert_eq!(answer, Recorded::Already { status: Status::Completed });
    }
    let story = fixture.story(&lease.key).await;
    let told = story.iter().filter(|line| line.contains("reported late: COMPLETED") && line.contains("NTC-1"));
    assert_eq!(told.count(), 1, "{story:#?}");
    assert!(story.iter().any(|line| line.contains("went silent")), "{story:#?}");
    assert_eq!(fixture.entry(&lease.key).await.result, stored, "one stored result");
    assert!(fixture.open_incident(&lease.key).await.is_none());
}

/// Two references are two effects, or one of them is wrong: a person looks again.
pub async fn other_evidence_than_a_person_found_is_a_contradiction<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = settled_by_a_person(&fixture, &terms, Some("NTC-1")).await;
    let answer = fixture.record(&terms, &lease, proved(b"\"mine\"", "NTC-2")).await;
    let incident = fixture.open_incident(&lease.key).await.expect("an incident");
    assert_eq!(answer, Recorded::Refused(Refusal::OtherOutcome { incident: Some(incident.id.clone()) }));
    assert_eq!(incident.error_code, OUTCOME_CONFLICT.name());
    let story = fixture.story(&lease.key).await;
    assert!(story.iter().any(|line| line.contains("NTC-2")), "{story:#?}");
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Completed);
}

/// What an attempt said before stays in the story when it says something else.
pub async fn a_late_report_leaves_the_line_that_it_adds_to<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    let first = fixture.grant(&terms, "A").await;
    fixture.release(&terms, &first).await;
    granted(fixture.claim(fixture.claim_of(&terms, "A")).await);
    fixture.record(&terms, &first, completed(b"1")).await;
    let story = fixture.story(&first.key).await;
    assert!(story.iter().any(|line| line.starts_with("1 ") && line.contains("released")), "{story:#?}");
    assert!(story.iter().any(|line| line.starts_with("1 ") && line.contains("reported late")), "{story:#?}");
}

/// Under one key the provider answers every attempt with the same effect: no second one is suspected.
pub async fn the_same_evidence_under_one_key_is_one_effect<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = same_key();
    for (id, late, suspected) in [("SAME", "NTC-1", false), ("OTHER", "NTC-2", true)] {
        let (first, second) = superseded(&fixture, &terms, id).await;
        fixture.record(&terms, &second, proved(b"1", "NTC-1")).await;
        fixture.record(&terms, &first, proved(b"1", late)).await;
        assert_eq!(fixture.open_incident(&first.key).await.is_some(), suspected, "{id}");
        let story = fixture.story(&first.key).await;
        assert!(story.iter().any(|line| line.contains("reported late") && line.contains(late)), "{story:#?}");
    }
}
