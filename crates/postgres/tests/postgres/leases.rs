//! Leases are found in a table of their own: a grant is in it in its own commit, and out of it when it is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onefold_conformance::fixture::{granted, record_of};
use onefold_conformance::kinds::escalates;
use onefold_conformance::ledger::outcomes::{completed, retryable, unknown};
use onefold_core::Timestamp;
use onefold_core::backup::{BackupSummary, ExistingLedger};
use onefold_core::effect::{KindSpec, Kinds};
use onefold_core::ledger::{Claim, Lease, ReleaseReason, ReleaseRequest, RenewRequest, Status};
use onefold_core::port::{LedgerMaintenance as _, LedgerWrite as _, Step, SweepRequest, SweepScope, Swept};
use onefold_core::retry::Category;
use onefold_postgres::{Postgres, PostgresOptions, Statements};
use onefold_testing::{SeededRandom, seed};
use sqlx::PgConnection;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::asking::{claim, claim_of, claims, complete, find, grant, replaced_after, step, until};
use crate::fixture::{Schema, run};

/// Operations that the sweeper would not find when their lease ends.
const LOST: &str = "SELECT count(*) FROM onefold_operations AS o WHERE o.status = 'STARTED' AND NOT EXISTS (
    SELECT FROM onefold_leases AS l WHERE o.seq = ANY (l.seqs) AND l.due_at <= o.lease_until)";
/// Granted operations whose lease was not committed with them, of those whose id begins so and that have this fence.
const APART: &str = "SELECT count(*) FROM onefold_operations AS o
    WHERE o.operation_id LIKE $1 || '-%' AND o.fence = $2 AND NOT EXISTS (
        SELECT FROM onefold_leases AS l WHERE o.seq = ANY (l.seqs) AND l.xmin = o.xmin)";
const ROWS: &str = "SELECT count(*) FROM onefold_leases";

/// A connection that finds the tables.
pub(crate) async fn beside(schema: &Schema) -> PgConnection {
    let mut connection = schema.connect().await;
    run(&mut connection, &format!("SET search_path = {}", schema.name)).await;
    connection
}

async fn counted(connection: &mut PgConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
}

async fn apart(connection: &mut PgConnection, id: &str, fence: i64) -> i64 {
    sqlx::query_scalar(APART).bind(id).bind(fence).fetch_one(connection).await.unwrap()
}

/// Nothing that is in flight is lost to the sweeper.
pub(crate) async fn every_lease_is_found(schema: &Schema) {
    assert_eq!(counted(&mut beside(schema).await, LOST).await, 0);
}

/// One slice of a sweeper that knows these kinds.
async fn sweep(store: &Postgres, terms: &[&Arc<KindSpec>], limit: usize) -> Swept {
    let kinds: Kinds = terms.iter().map(|terms| (terms.kind.clone(), Arc::clone(terms))).collect();
    let (scope, clock_slack) = (SweepScope::Overdue, Duration::ZERO);
    store.sweep(SweepRequest { kinds: Arc::new(kinds), scope, clock_slack, seed: 0, limit }).await.unwrap()
}

/// Sweeps until this many operations were moved.
async fn sweep_until(store: &Postgres, terms: &Arc<KindSpec>, moved: usize) {
    let mut total = 0;
    while total < moved {
        total += sweep(store, &[terms], 100).await.total();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(total, moved);
}

fn renewal(lease: &Lease, terms: &Arc<KindSpec>) -> Step {
    let (key, terms) = (lease.key.clone(), Arc::clone(terms));
    Step::Renew(RenewRequest { key, fence: lease.fence, attempt_id: lease.attempt_id, terms })
}

fn release(lease: &Lease, terms: &Arc<KindSpec>) -> Step {
    let (key, terms, reason) = (lease.key.clone(), Arc::clone(terms), ReleaseReason::NothingSent);
    Step::Release(ReleaseRequest { key, fence: lease.fence, attempt_id: lease.attempt_id, terms, reason })
}

#[tokio::test]
async fn what_is_granted_is_among_the_leases_in_the_same_commit() {
    let schema = Schema::new();
    let own = schema.open().await.unwrap();
    let unnamed = PostgresOptions { statements: Statements::Unnamed, ..schema.options() };
    let lent = Postgres::open(schema.url(), unnamed).await.unwrap();
    let mut connection = beside(&schema).await;
    let terms = replaced_after(Duration::from_mins(5));
    for (name, store) in [("own", &own), ("lent", &lent)] {
        let alone = grant(store, &terms, &format!("{name}-alone")).await;
        let batch: Vec<_> = (0..50).map(|id| claim_of(store, &terms, &format!("{name}-{id}"))).collect();
        let leases: Vec<_> =
            claims(store, &batch).await.unwrap().into_iter().map(|answer| granted(answer.unwrap())).collect();
        assert_eq!(apart(&mut connection, name, 1).await, 0, "{name}: first grants");
        let rows = counted(&mut connection, ROWS).await;
        // A commit whose answer was lost: the same again.
        claims(store, &batch).await.unwrap();
        assert_eq!(counted(&mut connection, ROWS).await, rows, "{name}: nothing was granted");
        // Completions and grants in one statement; a grant after a release.
        let steps = leases[..40].iter().map(|lease| record_of(&terms, lease, completed(b"1")));
        let fresh = Step::Claim(Box::new(claim_of(store, &terms, &format!("fresh-{name}"))));
        store.act(Arc::new(steps.chain([fresh, release(&alone, &terms)]).collect())).await.unwrap();
        assert_eq!(apart(&mut connection, "fresh", 1).await, 0, "{name}: a grant beside completions");
        grant(store, &terms, &format!("{name}-alone")).await;
        step(store, record_of(&terms, &leases[49], retryable(Category::DownstreamTimeout))).await.unwrap();
        grant(store, &terms, &format!("{name}-49")).await;
        assert_eq!(apart(&mut connection, name, 2).await, 0, "{name}: later grants");
        assert_eq!(counted(&mut connection, LOST).await, 0, "{name}");
    }
}

#[tokio::test]
async fn an_expired_lease_is_found_whatever_happened_to_it_before() {
    let schema = Schema::new();
    let (store, elsewhere) = (schema.open().await.unwrap(), schema.open().await.unwrap());
    let terms = replaced_after(Duration::from_millis(300));
    grant(&store, &terms, "PLAIN").await;
    let renewed = grant(&store, &terms, "RENEWED").await;
    step(&elsewhere, renewal(&renewed, &terms)).await.unwrap();
    let lost = claim_of(&store, &terms, "LOST-ANSWER");
    granted(claim(&store, lost.clone()).await.unwrap());
    granted(claim(&store, lost).await.unwrap());
    let released = grant(&store, &terms, "RELEASED").await;
    step(&store, release(&released, &terms)).await.unwrap();
    grant(&elsewhere, &terms, "RELEASED").await;
    let taken = claim_of(&elsewhere, &terms, "TAKEN-OVER");
    grant(&store, &terms, "TAKEN-OVER").await;
    let taken_over = until("the lease is over", async || match claim(&elsewhere, taken.clone()).await.unwrap() {
        Claim::Granted(lease) => Some(lease),
        _ => None,
    });
    assert_eq!(taken_over.await.fence, 2);
    // The last of them may be swept after the others.
    sweep_until(&store, &terms, 5).await;
    for id in ["PLAIN", "RENEWED", "LOST-ANSWER", "RELEASED", "TAKEN-OVER"] {
        assert_eq!(find(&store, &terms, id).await.unwrap().status, Status::FailedRetryable, "{id}");
    }
    assert_eq!(counted(&mut beside(&schema).await, ROWS).await, 0);
}

/// A deploy may shorten the leases of what is in flight.
#[tokio::test]
async fn a_lease_that_a_renewal_shortens_is_found_when_it_ends() {
    let schema = Schema::new();
    let store = schema.open().await.unwrap();
    let (long, short) = (replaced_after(Duration::from_secs(25)), replaced_after(Duration::from_millis(50)));
    let lease = grant(&store, &long, "A").await;
    step(&store, renewal(&lease, &short)).await.unwrap();
    every_lease_is_found(&schema).await;
    sweep_until(&store, &short, 1).await;
}

#[tokio::test]
async fn a_lease_outlasts_the_others_of_its_commit() {
    let schema = Schema::new();
    let store = schema.open().await.unwrap();
    let (short, long) = (replaced_after(Duration::from_millis(50)), escalates());
    let mut batch: Vec<_> = (0..20).map(|id| claim_of(&store, &short, &format!("SHORT-{id}"))).collect();
    batch.extend((0..5).map(|id| claim_of(&store, &long, &format!("LONG-{id}"))));
    let leases: Vec<_> =
        claims(&store, &batch).await.unwrap().into_iter().map(|answer| granted(answer.unwrap())).collect();
    assert_eq!(counted(&mut beside(&schema).await, ROWS).await, 1);
    sweep_until(&store, &short, 20).await;
    every_lease_is_found(&schema).await;
    let left = "SELECT count(*) FROM onefold_leases WHERE cardinality(seqs) = 5 AND due_at > (
        SELECT max(lease_until) FROM onefold_operations WHERE operation_id LIKE 'SHORT-%')";
    assert_eq!(counted(&mut beside(&schema).await, left).await, 1);
    for lease in &leases[20..] {
        assert_eq!(find(&store, &long, lease.key.id.as_str()).await.unwrap().status, Status::Started);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sweepers_at_once_move_each_operation_once_and_leave_no_lease_behind() {
    const OPERATIONS: usize = 600;
    let schema = Schema::new();
    let store = schema.open().await.unwrap();
    let terms = replaced_after(Duration::from_millis(20));
    for number in 0..OPERATIONS / 3 {
        let batch: Vec<_> = (0..3).map(|id| claim_of(&store, &terms, &format!("{number}-{id}"))).collect();
        claims(&store, &batch).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(30)).await;
    let mut sweeping = JoinSet::new();
    for _ in 0..3 {
        let (store, terms) = (schema.open().await.unwrap(), Arc::clone(&terms));
        sweeping.spawn(async move {
            let mut moved = 0;
            loop {
                let swept = sweep(&store, &[&terms], 7).await;
                moved += swept.total();
                if !swept.more {
                    return moved;
                }
            }
        });
    }
    let moved: usize = sweeping.join_all().await.into_iter().sum();
    let rest = sweep(&store, &[&terms], OPERATIONS).await.total();
    assert_eq!(moved + rest, OPERATIONS);
    let mut connection = beside(&schema).await;
    let attempts = "SELECT count(*) FROM onefold_attempts WHERE fence = 1";
    assert_eq!(counted(&mut connection, attempts).await, i64::try_from(OPERATIONS).unwrap());
    sweep(&store, &[&terms], OPERATIONS).await;
    assert_eq!(counted(&mut connection, ROWS).await, 0);
}

#[tokio::test]
async fn what_somebody_else_has_locked_is_swept_later_and_keeps_nothing_waiting() {
    let schema = Schema::new();
    let store = schema.open().await.unwrap();
    let terms = replaced_after(Duration::from_millis(20));
    for (locked, what) in [
        ("SELECT FROM onefold_operations WHERE operation_id LIKE 'FIRST%' FOR UPDATE", "an operation"),
        ("SELECT FROM onefold_leases ORDER BY due_at LIMIT 1 FOR UPDATE", "a lease"),
    ] {
        grant(&store, &terms, &format!("FIRST, {what}")).await;
        grant(&store, &terms, &format!("SECOND, {what}")).await;
        // A sweeper that stands still, and is then killed.
        let mut other = beside(&schema).await;
        let backend = crate::pitfalls::backend(&mut other).await;
        run(&mut other, &format!("BEGIN; {locked}")).await;
        sweep_until(&store, &terms, 1).await;
        assert_eq!(sweep(&store, &[&terms], 1).await.total(), 0, "{what}");
        let first = find(&store, &terms, &format!("FIRST, {what}")).await.unwrap();
        assert_eq!(first.status, Status::Started, "{what}");
        every_lease_is_found(&schema).await;
        run(&mut beside(&schema).await, &format!("SELECT pg_terminate_backend({backend})")).await;
        sweep_until(&store, &terms, 1).await;
        assert_eq!(counted(&mut beside(&schema).await, ROWS).await, 0, "{what}");
    }
}

#[tokio::test]
async fn leases_are_out_of_the_table_after_everything_was_settled() {
    let schema = Schema::new();
    let store = schema.open().await.unwrap();
    let terms = replaced_after(Duration::from_millis(20));
    let mut connection = beside(&schema).await;
    // More rows than one look of the sweeper takes.
    for number in 0..600 {
        let lease = grant(&store, &terms, &format!("OP-{number}")).await;
        complete(&store, &terms, &lease).await.unwrap();
    }
    assert!(counted(&mut connection, ROWS).await > 0);
    until("the leases are over", async || {
        assert_eq!(sweep(&store, &[&terms], 100).await, Swept::default());
        (counted(&mut beside(&schema).await, ROWS).await == 0).then_some(())
    })
    .await;
}

/// Whatever callers and sweepers do at once, a look at any moment finds no lease that the sweeper would miss.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_no_moment_is_a_lease_where_the_sweeper_does_not_look() {
    const ROUNDS: usize = 60;
    let schema = Schema::new();
    let terms = replaced_after(Duration::from_millis(5));
    let seed = seed("ONEFOLD_SEED");
    let over = Arc::new(AtomicBool::new(false));
    let mut sweeping = JoinSet::new();
    for _ in 0..2 {
        let (store, terms, over) = (schema.open().await.unwrap(), Arc::clone(&terms), Arc::clone(&over));
        sweeping.spawn(async move {
            while !over.load(Ordering::SeqCst) {
                sweep(&store, &[&terms], 10).await;
            }
        });
    }
    let mut calling = JoinSet::new();
    for number in 0..3 {
        let random = SeededRandom::new(seed.wrapping_add(number));
        let (store, terms) = (schema.open().await.unwrap(), Arc::clone(&terms));
        calling.spawn(async move {
            for _ in 0..ROUNDS {
                let ids = crate::pitfalls::shuffled((0..40).collect::<Vec<_>>(), &random);
                let batch: Vec<_> = ids[..15].iter().map(|id| claim_of(&store, &terms, &format!("ID-{id}"))).collect();
                let answers = claims(&store, &batch).await.unwrap();
                let steps = answers.into_iter().filter_map(|answer| match answer.unwrap() {
                    Claim::Granted(lease) => Some(lease),
                    _ => None,
                });
                let steps = steps.map(|lease| match random.draw() % 4 {
                    0 => record_of(&terms, &lease, unknown(Category::DownstreamTimeout)),
                    1 => release(&lease, &terms),
                    2 => renewal(&lease, &terms),
                    _ => record_of(&terms, &lease, retryable(Category::DownstreamTimeout)),
                });
                let steps: Vec<_> = steps.collect();
                store.act(Arc::new(steps)).await.unwrap();
            }
        });
    }
    let mut connection = beside(&schema).await;
    let mut looks = 0;
    while !calling.is_empty() {
        assert_eq!(counted(&mut connection, LOST).await, 0, "after {looks} looks");
        looks += 1;
        while let Some(called) = calling.try_join_next() {
            called.unwrap();
        }
    }
    over.store(true, Ordering::SeqCst);
    sweeping.join_all().await;
    assert!(looks > 20, "{looks} looks");
}

#[tokio::test]
async fn leases_of_a_backup_are_swept_where_it_is_restored() {
    let (from, to) = (Schema::new(), Schema::new());
    let store = from.open().await.unwrap();
    let terms = replaced_after(Duration::from_millis(20));
    for number in 0..100 {
        let lease = grant(&store, &terms, &format!("OP-{number}")).await;
        if number % 2 == 0 {
            complete(&store, &terms, &lease).await.unwrap();
        }
    }
    let (parts, mut made) = mpsc::channel(100);
    let (exported, tables) = tokio::join!(store.export(parts), async {
        let mut tables = Vec::new();
        while let Some(part) = made.recv().await {
            tables.push(part);
        }
        tables
    });
    exported.unwrap();
    let mut rows = BTreeMap::new();
    for part in &tables {
        *rows.entry(part.table.clone()).or_default() += part.rows.len() as u64;
    }
    let summary = BackupSummary { copied_at: Timestamp::from_micros(1), mark: 1, rows, bytes: 0 };
    let (parts, restored) = mpsc::channel(100);
    for part in tables {
        parts.send(part).await.unwrap();
    }
    drop(parts);
    Postgres::import(to.url(), to.options(), ExistingLedger::Keep, summary, restored).await.unwrap();
    every_lease_is_found(&to).await;
    let mut connection = beside(&to).await;
    assert!((1..=3).contains(&counted(&mut connection, ROWS).await));
    run(&mut connection, "UPDATE onefold_position SET copied_at = NULL").await;
    let restored = to.open().await.unwrap();
    sweep_until(&restored, &terms, 50).await;
    assert_eq!(find(&restored, &terms, "OP-1").await.unwrap().status, Status::FailedRetryable);
}
