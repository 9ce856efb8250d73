//! May this attempt act?

use std::sync::Arc;

use onefold_core::effect::{DuplicateReason, EffectClass, EffectContract, KindSpec, Policy};
use onefold_core::fingerprint::Mode;
use onefold_core::ledger::{Claim, ClaimRequest, Lease, Origin, Replay, SideEffect, Source, Status, StoredResult};
use onefold_core::operation::{KindName, OperationKey, Tenant};
use onefold_core::port::LedgerRead as _;
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, granted, key, key_in};
use crate::harness::Harness;
use crate::kinds::{self, DEADLINE, LEASE, MEMORY, SECOND, SETTLE, SLACK, asks, escalates, reruns};
use crate::ledger::outcomes::{CASE_CLOSED, completed, proved, rejected, retryable, unknown};

/// The first claim is granted: act, until lease and deadline.
pub async fn the_first_claim_is_granted_until_its_lease_and_its_deadline<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let request = fixture.claim_of(&terms, "A");
    let now = fixture.now();
    let expected = Lease {
        key: key(&terms, "A"),
        fence: 1,
        attempt_id: request.attempt_id,
        deadline: now.plus(DEADLINE),
        lease_until: now.plus(LEASE),
        deadline_in: DEADLINE,
        attempt: 1,
        earlier: SideEffect::NotApplied,
        provider_key: Arc::from("A"),
    };
    assert_eq!(fixture.claim(request).await, Claim::Granted(expected));
    let entry = fixture.entry(&key(&terms, "A")).await;
    assert_eq!((entry.status, entry.fence, entry.attempts), (Status::Started, 1, 1));
    assert_eq!((entry.created_at, entry.lease_until, entry.deadline), (now, now.plus(LEASE), now.plus(DEADLINE)));
}

/// A duplicate of what was done hears what was recorded.
pub async fn a_completed_operation_is_replayed<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.record(&terms, &lease, proved(b"{\"notice\":\"N-1\"}", "doc/77")).await;
    let expected = Replay {
        status: Status::Completed,
        result: Some(StoredResult::json(&b"{\"notice\":\"N-1\"}"[..])),
        evidence: Some(Arc::from("doc/77")),
        error_code: None,
        category: None,
        completed_at: fixture.now(),
    };
    fixture.wait(3600 * SECOND);
    assert_eq!(fixture.claim(fixture.claim_of(&terms, "A")).await, Claim::Replay(expected));
}

/// A duplicate of what failed for good hears why.
pub async fn a_final_failure_is_replayed_with_its_code<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.record(&terms, &lease, rejected()).await;
    let expected = Replay {
        status: Status::FailedFinal,
        result: None,
        evidence: None,
        error_code: Some(CASE_CLOSED.name()),
        category: None,
        completed_at: fixture.now(),
    };
    assert_eq!(fixture.claim(fixture.claim_of(&terms, "A")).await, Claim::Replay(expected));
}

/// While a lease lives nobody else is granted; the answer says when asking again makes sense.
pub async fn a_live_lease_is_in_flight_for_the_time_it_has_left<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    fixture.grant(&terms, "A").await;
    fixture.wait(4 * SECOND);
    let retry_after = LEASE + SLACK - 4 * SECOND;
    assert_eq!(fixture.claim(fixture.claim_of(&terms, "A")).await, Claim::InFlight { retry_after });
    fixture.wait(retry_after - SECOND);
    assert_eq!(fixture.claim(fixture.claim_of(&terms, "A")).await, Claim::InFlight { retry_after: SECOND });
}

/// The same id with another request is a conflict in every state; it changes nothing.
pub async fn a_conflict_wins_over_every_other_answer<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let outcomes = [
        ("COMPLETED", completed(b"1")),
        ("FAILED_FINAL", rejected()),
        ("FAILED_RETRYABLE", retryable(Category::RateLimited)),
        ("UNKNOWN", unknown(Category::DownstreamTimeout)),
    ];
    for (id, outcome) in outcomes {
        let lease = fixture.grant(&terms, id).await;
        fixture.record(&terms, &lease, outcome).await;
    }
    let released = fixture.grant(&terms, "RELEASED").await;
    fixture.release(&terms, &released).await;
    let held = fixture.claim_of(&terms, "STARTED");
    granted(fixture.claim(held.clone()).await);
    let expired = fixture.grant(&terms, "EXPIRED").await;
    for waited in [SECOND, LEASE + SLACK, 24 * MEMORY] {
        fixture.wait(waited);
        for id in ["COMPLETED", "FAILED_FINAL", "FAILED_RETRYABLE", "UNKNOWN", "RELEASED", "STARTED", "EXPIRED"] {
            let before = fixture.entry(&key(&terms, id)).await;
            let other = fixture.claim_for(&terms, id, b"{\"amount\":6}");
            assert_eq!(fixture.claim(other.clone()).await, Claim::Conflict, "{id}");
            let same_attempt = ClaimRequest { attempt_id: held.attempt_id, ..other };
            assert_eq!(fixture.claim(same_attempt).await, Claim::Conflict, "{id}");
            assert_eq!(fixture.entry(&expired.key).await.status, Status::Started);
            assert_eq!(fixture.entry(&key(&terms, id)).await, before, "{id}");
        }
    }
}

/// An unknown operation is not granted; the answer leads to the incident or to the next question.
pub async fn an_unknown_operation_is_granted_to_nobody<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let since = fixture.now();
    for (terms, asked) in [(escalates(), false), (asks(), true)] {
        let lease = fixture.grant(&terms, "A").await;
        fixture.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
        fixture.wait(SECOND);
        let incident = fixture.open_incident(&lease.key).await.map(|incident| incident.id);
        assert_eq!(incident.is_none(), asked, "an unknown operation has an incident or a question");
        match fixture.claim(fixture.claim_of(&terms, "A")).await {
            Claim::Unknown { since: told, next_ask, incident: named } => {
                assert_eq!((next_ask.is_some(), named), (asked, incident));
                assert!(told >= since && told < fixture.now());
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A failed operation waits out its backoff; the next grant has the next fence.
pub async fn a_backoff_is_waited_out_and_then_granted_under_the_next_fence<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.record(&terms, &lease, retryable(Category::RateLimited)).await;
    let until = fixture.now().plus(60 * SECOND);
    fixture.wait(59 * SECOND);
    assert_eq!(fixture.claim(fixture.claim_of(&terms, "A")).await, Claim::Waiting { until });
    fixture.wait(SECOND);
    let second = granted(fixture.claim(fixture.claim_of(&terms, "A")).await);
    assert_eq!((second.fence, second.attempt, second.earlier), (2, 2, SideEffect::NotApplied));
}

/// A caller that never saw its grant has not acted: asking again under its attempt id is granted under the same fence.
pub async fn a_lost_answer_is_asked_again_and_granted_under_the_same_fence<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let request = fixture.claim_of(&terms, "A");
    let first = granted(fixture.claim(request.clone()).await);
    for waited in [SECOND, LEASE + SLACK, SECOND] {
        fixture.wait(waited);
        let again = granted(fixture.claim(request.clone()).await);
        assert_eq!((again.fence, again.attempt, again.deadline), (1, 1, first.deadline));
        assert_eq!(again.lease_until, fixture.now().plus(LEASE).min(first.deadline));
        assert_eq!(again.deadline_in, first.deadline.since(fixture.now()));
    }
    assert_eq!(fixture.entry(&first.key).await.attempts, 1);
    assert!(fixture.open_incident(&first.key).await.is_none());
}

/// Past its deadline the same attempt id is not a permission any more.
pub async fn the_same_attempt_id_after_its_deadline_is_not_granted<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let request = fixture.claim_of(&terms, "A");
    granted(fixture.claim(request.clone()).await);
    fixture.wait(DEADLINE);
    assert!(matches!(fixture.claim(request).await, Claim::Unknown { incident: Some(_), .. }));
}

/// A claim that finds an expired lease moves it by policy, with its incident, in one commit.
pub async fn a_claim_moves_an_expired_lease_by_its_policy<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let (strict, lax) = (escalates(), reruns());
    for terms in [&strict, &lax] {
        fixture.grant(terms, "A").await;
    }
    fixture.wait(LEASE + SLACK);
    let answer = fixture.claim(fixture.claim_of(&strict, "A")).await;
    let incident = fixture.open_incident(&key(&strict, "A")).await.expect("an incident");
    assert_eq!(answer, Claim::Unknown { since: fixture.now(), next_ask: None, incident: Some(incident.id.clone()) });
    assert_eq!(incident.error_code, Category::HolderLost.code());
    let until = fixture.now().plus(SECOND);
    assert_eq!(fixture.claim(fixture.claim_of(&lax, "A")).await, Claim::Waiting { until });
    fixture.wait(SECOND);
    let second = granted(fixture.claim(fixture.claim_of(&lax, "A")).await);
    assert_eq!((second.fence, second.earlier), (2, SideEffect::Unknown));
}

/// Ids are compared by their bytes: case, normalization, blanks and encodings tell them apart.
pub async fn ids_are_told_apart_bytewise<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let ids = [
        "case-1",
        "CASE-1",
        "Case-1",
        "case-1 ",
        " case-1",
        "case-01",
        "caf\u{e9}",
        "cafe\u{301}",
        "stra\u{df}e",
        "strasse",
        "\u{2126}",
        "\u{3a9}",
        "I",
        "i",
        "\u{131}",
        "\u{130}",
        "a%3Ab",
        "a:b",
        "'",
        "''",
        "\\",
        "%",
        "_",
        "\u{1F600}",
    ];
    for id in ids {
        assert_eq!(fixture.grant(&terms, id).await.fence, 1, "{id:?} met another id");
    }
    for id in ids {
        assert_eq!(fixture.entry(&key(&terms, id)).await.key.id.as_str(), id);
    }
}

/// A stored id has up to 1,024 bytes, and every one of them counts.
pub async fn an_id_of_1024_bytes_is_kept_whole<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let (one, two) = (format!("{}a", "x".repeat(1023)), format!("{}b", "x".repeat(1023)));
    let wide = "\u{1F600}".repeat(256);
    for id in [&one, &two, &wide] {
        assert_eq!(fixture.grant(&terms, id).await.fence, 1);
        assert_eq!(fixture.entry(&key(&terms, id)).await.key.id.as_str(), id);
    }
}

/// The same kind and id of two tenants are two operations.
pub async fn tenants_never_meet<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let in_tenant = |tenant: &str, input: &[u8]| ClaimRequest {
        key: key_in(tenant, terms.kind.as_str(), "A"),
        ..fixture.claim_for(&terms, "A", input)
    };
    let one = granted(fixture.claim(in_tenant("one", b"1")).await);
    let two = granted(fixture.claim(in_tenant("two", b"2")).await);
    assert_eq!((one.fence, two.fence), (1, 1));
    fixture.record(&terms, &one, completed(b"1")).await;
    fixture.record(&terms, &two, unknown(Category::DownstreamTimeout)).await;
    assert_eq!(fixture.entry(&one.key).await.status, Status::Completed);
    assert!(fixture.open_incident(&one.key).await.is_none());
    assert!(fixture.open_incident(&two.key).await.is_some());
    assert_eq!(fixture.find(&OperationKey::new(Tenant::default(), terms.kind.clone(), one.key.id.clone())).await, None);
}

/// The same id of two kinds are two operations.
pub async fn kinds_never_meet<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let lease = fixture.grant(&escalates(), "A").await;
    assert_eq!(fixture.grant(&reruns(), "A").await.fence, 1);
    fixture.record(&escalates(), &lease, completed(b"1")).await;
    assert_eq!(fixture.entry(&key(&reruns(), "A")).await.status, Status::Started);
}

/// Whatever a caller tells of where an operation comes from is kept as it came.
pub async fn the_origin_is_kept_as_it_came<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let text = |value: &str| Some(Arc::from(value));
    for (id, source) in ["A", "B", "C", "D", "E"].into_iter().zip(Source::ALL) {
        let origin = Origin {
            source: *source,
            business_key: text("CASE-2026-000091"),
            correlation_id: text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            process_id: text("enforcement"),
            definition_key: text("2251799813685250"),
            definition_version: text("7"),
            process_instance_key: text("2251799813689751"),
            element_id: text("Issue 'formal' notice \u{2713}"),
            job_key: text("2251799813689760"),
        };
        granted(fixture.claim(ClaimRequest { origin: origin.clone(), ..fixture.claim_of(&terms, id) }).await);
        assert_eq!(fixture.entry(&key(&terms, id)).await.origin, origin);
    }
    granted(fixture.claim(fixture.claim_of(&terms, "BARE")).await);
    assert_eq!(fixture.entry(&key(&terms, "BARE")).await.origin, Origin::new(Source::Api));
}

/// Class and policy are read back as they were at the grant, for every legal pair.
pub async fn every_contract_is_read_back_as_it_was_granted<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let policies = [
        Policy::Rerun,
        Policy::AcceptDuplicate { because: DuplicateReason::new("a second reminder harms nobody") },
        Policy::SameKey { provider_memory: MEMORY },
        Policy::SameKey { provider_memory: 365_000 * 24 * MEMORY },
        Policy::Ask { settle: SETTLE },
        Policy::Ask { settle: std::time::Duration::from_millis(1) },
        Policy::Void,
        Policy::Escalate,
        Policy::InTransaction,
    ];
    for class in EffectClass::ALL {
        for (index, policy) in policies.iter().enumerate() {
            let Ok(contract) = EffectContract::new(class, policy.clone()) else {
                continue;
            };
            let kind = KindName::parse(&format!("{class}/{index}")).expect("a name");
            let terms = Arc::new(KindSpec { contract: contract.clone(), kind, ..KindSpec::clone(&escalates()) });
            fixture.grant(&terms, "A").await;
            assert_eq!(fixture.entry(&key(&terms, "A")).await.contract, contract);
        }
    }
}

/// A provider that never forgets is a legal declaration, and its operations stay readable.
pub async fn the_longest_memory_is_read_back<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let kind = |provider_memory| {
        kinds::terms("payment.order", EffectClass::ExternalCommand, Policy::SameKey { provider_memory }).checked()
    };
    assert!(kind(std::time::Duration::MAX).is_err(), "a memory without end is not a declaration");
    let terms = Arc::new(kind(std::time::Duration::from_hours(10 * 365 * 24)).expect("a legal declaration"));
    let lease = fixture.grant(&terms, "A").await;
    let found = fixture.store().find(vec![lease.key]).await;
    assert!(found.as_ref().is_ok_and(|found| found[0].is_some()), "{found:?}");
}

/// Yesterday's "escalate" does not become "rerun" with today's deployment; nor does today's "escalate" stay "rerun".
pub async fn the_stricter_of_stored_and_present_terms_counts<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let kind = |policy| Arc::new(kinds::terms("status.set", EffectClass::Converging, policy));
    let (strict, lax) = (kind(Policy::Escalate), kind(Policy::Rerun));
    for (id, granted_under, claimed_under) in [("A", &strict, &lax), ("B", &lax, &strict)] {
        fixture.grant(granted_under, id).await;
        fixture.wait(LEASE + SLACK);
        let answer = fixture.claim(fixture.claim_of(claimed_under, id)).await;
        assert!(matches!(answer, Claim::Unknown { incident: Some(_), .. }), "{id}: {answer:?}");
    }
}

/// A duplicate is compared in the mode that was stored, whatever the kind's mode is now.
pub async fn a_duplicate_is_compared_in_the_stored_mode<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let with = |mode: Mode| Arc::new(KindSpec { fingerprint: mode, ..KindSpec::clone(&escalates()) });
    let modes = [
        (
            "canonical",
            with(Mode::Canonical),
            &b"{\"a\":1,\"b\":2}"[..],
            &b"{ \"b\":2, \"a\":1 }"[..],
            &b"{\"a\":1,\"b\":3}"[..],
        ),
        (
            "fields",
            with(Mode::fields(["/a"]).expect("pointers")),
            b"{\"a\":1,\"b\":2}",
            b"{\"a\":1,\"b\":3}",
            b"{\"a\":2}",
        ),
    ];
    let raw = with(Mode::Raw);
    for (id, stored, first, same, other) in modes {
        granted(fixture.claim(fixture.claim_for(&stored, id, first)).await);
        assert!(matches!(fixture.claim(fixture.claim_for(&raw, id, same)).await, Claim::InFlight { .. }), "{id}");
        assert_eq!(fixture.claim(fixture.claim_for(&raw, id, other)).await, Claim::Conflict, "{id}");
    }
}
