//! May this attempt act?

use std::sync::Arc;

use onefold_core::effect::{Contract, EffectClass, Policy, Terms};
use onefold_core::fingerprint::Mode;
use onefold_core::ledger::{Claim, ClaimRequest, Lease, Origin, Replay, SideEffect, Source, Status, StoredResult};
use onefold_core::operation::{KindName, OperationKey, Tenant};
use onefold_core::ports::Look as _;
use onefold_core::retry::Category;

use crate::harness::Harness;
use crate::kinds::{self, DEADLINE, LEASE, MEMORY, SECOND, SETTLE, SLACK, asks, escalates, reruns};
use crate::outcomes::{CASE_CLOSED, completed, proved, rejected, retryable, unknown};
use crate::scene::{Scene, granted, key, key_in};

/// The first claim is granted: act, until lease and deadline.
pub async fn the_first_claim_is_granted_until_its_lease_and_its_deadline<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let request = scene.claim_of(&terms, "A");
    let now = scene.now();
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
    assert_eq!(scene.claim(request).await, Claim::Granted(expected));
    let entry = scene.entry(&key(&terms, "A")).await;
    assert_eq!((entry.status, entry.fence, entry.attempts), (Status::Started, 1, 1));
    assert_eq!((entry.created_at, entry.lease_until, entry.deadline), (now, now.plus(LEASE), now.plus(DEADLINE)));
}

/// A duplicate of what was done hears what was recorded.
pub async fn a_completed_operation_is_replayed<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let lease = scene.grant(&terms, "A").await;
    scene.record(&terms, &lease, proved(b"{\"notice\":\"N-1\"}", "doc/77")).await;
    let expected = Replay {
        status: Status::Completed,
        result: Some(StoredResult::json(&b"{\"notice\":\"N-1\"}"[..])),
        evidence: Some(Arc::from("doc/77")),
        error_code: None,
        category: None,
        completed_at: scene.now(),
    };
    scene.wait(3600 * SECOND);
    assert_eq!(scene.claim(scene.claim_of(&terms, "A")).await, Claim::Replay(expected));
}

/// A duplicate of what failed for good hears why.
pub async fn a_final_failure_is_replayed_with_its_code<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let lease = scene.grant(&terms, "A").await;
    scene.record(&terms, &lease, rejected()).await;
    let expected = Replay {
        status: Status::FailedFinal,
        result: None,
        evidence: None,
        error_code: Some(CASE_CLOSED.name()),
        category: None,
        completed_at: scene.now(),
    };
    assert_eq!(scene.claim(scene.claim_of(&terms, "A")).await, Claim::Replay(expected));
}

/// While a lease lives nobody else is granted; the answer says when asking again makes sense.
pub async fn a_live_lease_is_in_flight_for_the_time_it_has_left<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    scene.grant(&terms, "A").await;
    scene.wait(4 * SECOND);
    let retry_after = LEASE + SLACK - 4 * SECOND;
    assert_eq!(scene.claim(scene.claim_of(&terms, "A")).await, Claim::InFlight { retry_after });
    scene.wait(retry_after - SECOND);
    assert_eq!(scene.claim(scene.claim_of(&terms, "A")).await, Claim::InFlight { retry_after: SECOND });
}

/// The same id with another request is a conflict, wherever the operation stands; it changes nothing.
pub async fn a_conflict_wins_over_every_other_answer<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let outcomes = [
        ("COMPLETED", completed(b"1")),
        ("FAILED_FINAL", rejected()),
        ("FAILED_RETRYABLE", retryable(Category::RateLimited)),
        ("UNKNOWN", unknown(Category::DownstreamTimeout)),
    ];
    for (id, outcome) in outcomes {
        let lease = scene.grant(&terms, id).await;
        scene.record(&terms, &lease, outcome).await;
    }
    let released = scene.grant(&terms, "RELEASED").await;
    scene.release(&terms, &released).await;
    let held = scene.claim_of(&terms, "STARTED");
    granted(scene.claim(held.clone()).await);
    let expired = scene.grant(&terms, "EXPIRED").await;
    for waited in [SECOND, LEASE + SLACK, 24 * MEMORY] {
        scene.wait(waited);
        for id in ["COMPLETED", "FAILED_FINAL", "FAILED_RETRYABLE", "UNKNOWN", "RELEASED", "STARTED", "EXPIRED"] {
            let before = scene.entry(&key(&terms, id)).await;
            let other = scene.claim_for(&terms, id, b"{\"amount\":6}");
            assert_eq!(scene.claim(other.clone()).await, Claim::Conflict, "{id}");
            let same_attempt = ClaimRequest { attempt_id: held.attempt_id, ..other };
            assert_eq!(scene.claim(same_attempt).await, Claim::Conflict, "{id}");
            assert_eq!(scene.entry(&expired.key).await.status, Status::Started);
            assert_eq!(scene.entry(&key(&terms, id)).await, before, "{id}");
        }
    }
}

/// What nobody knows is granted to nobody; the answer leads to the incident or to the next question.
pub async fn an_unknown_operation_is_granted_to_nobody<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let since = scene.now();
    for (terms, asked) in [(escalates(), false), (asks(), true)] {
        let lease = scene.grant(&terms, "A").await;
        scene.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
        scene.wait(SECOND);
        let incident = scene.open_incident(&lease.key).await.map(|incident| incident.id);
        assert_eq!(incident.is_none(), asked, "an unknown operation has an incident or a question");
        match scene.claim(scene.claim_of(&terms, "A")).await {
            Claim::Unknown { since: told, next_ask, incident: named } => {
                assert_eq!((next_ask.is_some(), named), (asked, incident));
                assert!(told >= since && told < scene.now());
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A failed operation waits out its backoff; the next grant has the next fence.
pub async fn a_backoff_is_waited_out_and_then_granted_under_the_next_fence<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let lease = scene.grant(&terms, "A").await;
    scene.record(&terms, &lease, retryable(Category::RateLimited)).await;
    let until = scene.now().plus(60 * SECOND);
    scene.wait(59 * SECOND);
    assert_eq!(scene.claim(scene.claim_of(&terms, "A")).await, Claim::Waiting { until });
    scene.wait(SECOND);
    let second = granted(scene.claim(scene.claim_of(&terms, "A")).await);
    assert_eq!((second.fence, second.attempt, second.earlier), (2, 2, SideEffect::NotApplied));
}

/// A caller that never saw its grant has not acted: asking again under its attempt id is granted under the same fence.
pub async fn a_lost_answer_is_asked_again_and_granted_under_the_same_fence<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let request = scene.claim_of(&terms, "A");
    let first = granted(scene.claim(request.clone()).await);
    for waited in [SECOND, LEASE + SLACK, SECOND] {
        scene.wait(waited);
        let again = granted(scene.claim(request.clone()).await);
        assert_eq!((again.fence, again.attempt, again.deadline), (1, 1, first.deadline));
        assert_eq!(again.lease_until, scene.now().plus(LEASE).min(first.deadline));
        assert_eq!(again.deadline_in, first.deadline.since(scene.now()));
    }
    assert_eq!(scene.entry(&first.key).await.attempts, 1);
    assert!(scene.open_incident(&first.key).await.is_none());
}

/// Past its deadline the same attempt id is no permission any more.
pub async fn the_same_attempt_id_after_its_deadline_is_no_grant<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let request = scene.claim_of(&terms, "A");
    granted(scene.claim(request.clone()).await);
    scene.wait(DEADLINE);
    assert!(matches!(scene.claim(request).await, Claim::Unknown { incident: Some(_), .. }));
}

/// A claim that finds an expired lease moves it by policy, with its incident, in one commit.
pub async fn a_claim_moves_an_expired_lease_by_its_policy<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let (strict, lax) = (escalates(), reruns());
    for terms in [&strict, &lax] {
        scene.grant(terms, "A").await;
    }
    scene.wait(LEASE + SLACK);
    let answer = scene.claim(scene.claim_of(&strict, "A")).await;
    let incident = scene.open_incident(&key(&strict, "A")).await.expect("an incident");
    assert_eq!(answer, Claim::Unknown { since: scene.now(), next_ask: None, incident: Some(incident.id.clone()) });
    assert_eq!(incident.error_code, Category::HolderLost.code());
    let until = scene.now().plus(SECOND);
    assert_eq!(scene.claim(scene.claim_of(&lax, "A")).await, Claim::Waiting { until });
    scene.wait(SECOND);
    let second = granted(scene.claim(scene.claim_of(&lax, "A")).await);
    assert_eq!((second.fence, second.earlier), (2, SideEffect::Unknown));
}

/// Ids are compared by their bytes: case, normalization, blanks and encodings tell them apart.
pub async fn ids_are_told_apart_bytewise<H: Harness>() {
    let scene = Scene::<H>::new().await;
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
        assert_eq!(scene.grant(&terms, id).await.fence, 1, "{id:?} met another id");
    }
    for id in ids {
        assert_eq!(scene.entry(&key(&terms, id)).await.key.id.as_str(), id);
    }
}

/// A stored id has up to 1,024 bytes, and every one of them counts.
pub async fn an_id_of_1024_bytes_is_kept_whole<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let (one, two) = (format!("{}a", "x".repeat(1023)), format!("{}b", "x".repeat(1023)));
    let wide = "\u{1F600}".repeat(256);
    for id in [&one, &two, &wide] {
        assert_eq!(scene.grant(&terms, id).await.fence, 1);
        assert_eq!(scene.entry(&key(&terms, id)).await.key.id.as_str(), id);
    }
}

/// The same kind and id of two tenants are two operations.
pub async fn tenants_never_meet<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let in_tenant = |tenant: &str, input: &[u8]| ClaimRequest {
        key: key_in(tenant, terms.kind.as_str(), "A"),
        ..scene.claim_for(&terms, "A", input)
    };
    let one = granted(scene.claim(in_tenant("one", b"1")).await);
    let two = granted(scene.claim(in_tenant("two", b"2")).await);
    assert_eq!((one.fence, two.fence), (1, 1));
    scene.record(&terms, &one, completed(b"1")).await;
    scene.record(&terms, &two, unknown(Category::DownstreamTimeout)).await;
    assert_eq!(scene.entry(&one.key).await.status, Status::Completed);
    assert!(scene.open_incident(&one.key).await.is_none());
    assert!(scene.open_incident(&two.key).await.is_some());
    assert_eq!(scene.find(&OperationKey::new(Tenant::default(), terms.kind.clone(), one.key.id.clone())).await, None);
}

/// The same id of two kinds are two operations.
pub async fn kinds_never_meet<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let lease = scene.grant(&escalates(), "A").await;
    assert_eq!(scene.grant(&reruns(), "A").await.fence, 1);
    scene.record(&escalates(), &lease, completed(b"1")).await;
    assert_eq!(scene.entry(&key(&reruns(), "A")).await.status, Status::Started);
}

/// Whatever a caller tells of where an operation comes from is kept as it came.
pub async fn the_origin_is_kept_as_it_came<H: Harness>() {
    let scene = Scene::<H>::new().await;
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
        granted(scene.claim(ClaimRequest { origin: origin.clone(), ..scene.claim_of(&terms, id) }).await);
        assert_eq!(scene.entry(&key(&terms, id)).await.origin, origin);
    }
    granted(scene.claim(scene.claim_of(&terms, "BARE")).await);
    assert_eq!(scene.entry(&key(&terms, "BARE")).await.origin, Origin::new(Source::Api));
}

/// Class and policy are read back as they were at the grant, for every legal pair.
pub async fn every_contract_is_read_back_as_it_was_granted<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let policies = [
        Policy::Rerun,
        Policy::AcceptDuplicate,
        Policy::SameKey { provider_memory: MEMORY },
        Policy::SameKey { provider_memory: 365_000 * 24 * MEMORY },
        Policy::Ask { settle: SETTLE },
        Policy::Ask { settle: std::time::Duration::from_millis(1) },
        Policy::Void,
        Policy::Escalate,
        Policy::InTransaction,
        Policy::Outbox,
    ];
    for class in EffectClass::ALL {
        for (index, policy) in policies.iter().enumerate() {
            let Ok(contract) = Contract::new(class, policy.clone()) else {
                continue;
            };
            let kind = KindName::parse(&format!("{class}/{index}")).expect("a name");
            let terms = Arc::new(Terms { contract: contract.clone(), kind, ..Terms::clone(&escalates()) });
            scene.grant(&terms, "A").await;
            assert_eq!(scene.entry(&key(&terms, "A")).await.contract, contract);
        }
    }
}

/// A provider that never forgets is a legal declaration, and its operations stay readable.
pub async fn the_longest_memory_is_read_back<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let kind = |provider_memory| {
        kinds::terms("payment.order", EffectClass::ExternalCommand, Policy::SameKey { provider_memory }).checked()
    };
    assert!(kind(std::time::Duration::MAX).is_err(), "a memory without end is no declaration");
    let terms = Arc::new(kind(std::time::Duration::from_hours(10 * 365 * 24)).expect("a legal declaration"));
    let lease = scene.grant(&terms, "A").await;
    let found = scene.store().find(vec![lease.key]).await;
    assert!(found.as_ref().is_ok_and(|found| found[0].is_some()), "{found:?}");
}

/// Yesterday's "escalate" does not become "rerun" with today's deployment; nor does today's "escalate" stay "rerun".
pub async fn the_stricter_of_stored_and_present_terms_counts<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let kind = |policy| Arc::new(kinds::terms("status.set", EffectClass::Converging, policy));
    let (strict, lax) = (kind(Policy::Escalate), kind(Policy::Rerun));
    for (id, granted_under, claimed_under) in [("A", &strict, &lax), ("B", &lax, &strict)] {
        scene.grant(granted_under, id).await;
        scene.wait(LEASE + SLACK);
        let answer = scene.claim(scene.claim_of(claimed_under, id)).await;
        assert!(matches!(answer, Claim::Unknown { incident: Some(_), .. }), "{id}: {answer:?}");
    }
}

/// A duplicate is compared in the mode that was stored, whatever the kind's mode is now.
pub async fn a_duplicate_is_compared_in_the_stored_mode<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let with = |mode: Mode| Arc::new(Terms { fingerprint: mode, ..Terms::clone(&escalates()) });
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
        granted(scene.claim(scene.claim_for(&stored, id, first)).await);
        assert!(matches!(scene.claim(scene.claim_for(&raw, id, same)).await, Claim::InFlight { .. }), "{id}");
        assert_eq!(scene.claim(scene.claim_for(&raw, id, other)).await, Claim::Conflict, "{id}");
    }
}
