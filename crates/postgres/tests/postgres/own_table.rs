//! A relay on a team's own table: rows are taken, put off, published and marked, whatever the table is called.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::{EVENT_TARGET_REFUSED, RELAY_TABLE_INVALID};
use onefold_core::event::EventId;
use onefold_core::incident::SubjectSort;
use onefold_core::outbox::{OwnColumns, OwnTable, RelayRetry, RelaySpec, RowMark, SqlName};
use onefold_core::port::{
    IncidentFilter, LedgerRead as _, OwnTableStore as _, Page, Publication, RefusedRetry, RowCounts, TakenRows,
};
use onefold_core::retry::Schedule;
use onefold_postgres::Postgres;
use onefold_runtime::{Ledger, Relay, Settings};
use onefold_testing::RecordingTarget;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::fixture::Schema;
use crate::outbox_fixture::{LONG, patterns, spec};

/// A store, and a table of a team's own beside it, with names that nobody would choose.
struct OwnTableFixture {
    schema: Schema,
    store: Postgres,
    connection: PgConnection,
    table: OwnTable,
}

fn name(text: &str) -> SqlName {
    SqlName::parse(text).unwrap()
}

impl OwnTableFixture {
    /// `id` is how the ids of the table are declared.
    async fn new(id: &str) -> Self {
        let schema = Schema::new();
        let store = schema.open().await.unwrap();
        let mut connection = schema.connect().await;
        let table = format!("{}.\"Out\"\"<id>.Box\"", schema.name);
        run(
            &mut connection,
            &format!(
                "CREATE TABLE {table} (
                    \"Id\" {id}, \"Sort of \"\"thing\"\"\" text, \"select\" text, \"TYPE\" text, \"Payload\" jsonb,
                    at timestamptz NOT NULL DEFAULT clock_timestamp(), \"publishedAt\" timestamptz,
                    \"nextAttemptAt\" timestamptz, tries integer NOT NULL DEFAULT 0, \"lastError\" varchar(300)
                )"
            ),
        )
        .await;
        let columns = OwnColumns {
            id: name("Id"),
            aggregate_type: name("Sort of \"thing\""),
            aggregate_id: name("select"),
            event_type: name("TYPE"),
            payload: name("Payload"),
            created_at: name("at"),
            published_at: name("publishedAt"),
            next_attempt_at: name("nextAttemptAt"),
            attempts: name("tries"),
            error: Some(name("lastError")),
            ..OwnColumns::default()
        };
        let table = OwnTable::parse(&table, columns).unwrap();
        Self { schema, store, connection, table }
    }

    /// Commits a row, as a program of the team would; `row` is its type and its aggregate.
    async fn insert(&mut self, event_type: &str, aggregate: &str) {
        let sql = format!(
            "INSERT INTO {} (\"Sort of \"\"thing\"\"\", \"select\", \"TYPE\", \"Payload\") \
             VALUES ('case', '{aggregate}', '{event_type}', '{{\"case\": \"{aggregate}\"}}')",
            self.table.quoted()
        );
        run(&mut self.connection, &sql).await;
    }

    /// How many rows this holds for.
    async fn count(&mut self, holds: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {} WHERE {holds}", self.table.quoted());
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut self.connection).await.unwrap()
    }

    async fn taken(&self, lease_for: Duration) -> TakenRows {
        let checked = self.store.check_table(self.table.clone()).await.unwrap();
        self.store.take_rows(checked, patterns(&["case.*"]), lease_for, 100).await.unwrap()
    }

    fn relay(&self, target: &Arc<RecordingTarget>) -> Relay {
        let ledger = Ledger::open(self.store.clone(), Settings::default()).unwrap();
        let retry = RelayRetry { attempts_max: 2, schedule: Schedule::Steps(Arc::from([Duration::ZERO])) };
        let spec = RelaySpec { retry, page_max: 10, ..spec("legacy", &["case.*"]) };
        Relay::of(&ledger.outbox(), spec).from_table(self.table.clone()).to_each(Arc::clone(target), 4)
    }

    async fn incidents(&self) -> usize {
        let filter = IncidentFilter { open_only: true, subject: Some(SubjectSort::Event), ..IncidentFilter::default() };
        self.store.incidents(filter, Page::default()).await.unwrap().items.len()
    }
}

async fn run(connection: &mut PgConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.unwrap();
}

/// Looks until it holds.
macro_rules! until {
    ($holds:expr) => {
        let waited = tokio::time::timeout(Duration::from_mins(2), async {
            while !$holds {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        waited.await.expect(stringify!($holds));
    };
}

const UUID: &str = "uuid PRIMARY KEY DEFAULT gen_random_uuid()";
const NUMBER: &str = "bigint GENERATED ALWAYS AS IDENTITY UNIQUE";

#[tokio::test]
async fn rows_are_put_off_by_a_lease_and_marked_under_it_whatever_their_table_is_called() {
    for id in [UUID, NUMBER] {
        let mut own = OwnTableFixture::new(id).await;
        for (event_type, aggregate) in [("case.opened", "A"), ("order.placed", "B"), ("case.closed", "C")] {
            own.insert(event_type, aggregate).await;
        }
        let first = own.taken(LONG).await;
        let types: Vec<String> =
            first.rows.iter().map(|row| row.event.as_ref().unwrap().event.event_type.to_string()).collect();
        assert_eq!(types, ["case.opened", "case.closed"], "the oldest first, and only what is wanted");
        let stored = first.rows[0].event.as_ref().unwrap();
        assert_eq!(
            (&stored.event.payload[..], &*stored.event.content_type),
            (&b"{\"case\": \"A\"}"[..], "application/json")
        );
        assert!(own.taken(LONG).await.rows.is_empty(), "they are put off");
        let checked = own.store.check_table(own.table.clone()).await.unwrap();
        let mark = async |lease_until, row: usize, mark: RowMark| {
            let marks = vec![(Arc::clone(&first.rows[row].key), mark)];
            own.store.mark_rows(checked.clone(), lease_until, marks, Vec::new()).await.unwrap();
        };
        let again = RowMark::Again { at: first.now, code: EVENT_TARGET_REFUSED, reason: "no".to_owned() };
        mark(first.now, 0, again.clone()).await;
        assert!(own.taken(LONG).await.rows.is_empty(), "another lease marks nothing");
        mark(first.lease_until, 0, again).await;
        mark(first.now, 1, RowMark::Published).await;
        let next = own.taken(LONG).await;
        let left: Vec<(EventId, u32)> = next.rows.iter().map(|row| (row.id, row.attempts)).collect();
        assert_eq!(left, [(first.rows[0].id, 1)], "with the same id, one attempt later");
        assert_eq!(own.count("\"publishedAt\" IS NOT NULL").await, 1);
        assert_eq!(own.count("\"lastError\" = 'EVENT_TARGET_REFUSED: no'").await, 1);
    }
}

#[tokio::test]
async fn what_waits_what_is_tried_again_and_what_is_parked_is_counted_from_the_table() {
    let mut own = OwnTableFixture::new(NUMBER).await;
    let checked = own.store.check_table(own.table.clone()).await.unwrap();
    let counted = own.store.count_rows(checked.clone(), patterns(&["case.*"])).await.unwrap();
    assert_eq!(counted, RowCounts { waiting: 0, oldest: None, parked: 0, refused: 0 });
    for aggregate in ["PUBLISHED", "REFUSED", "PARKED", "LEASED", "NEW"] {
        own.insert("case.opened", aggregate).await;
    }
    own.insert("order.placed", "UNWANTED").await;
    let table = own.table.quoted();
    let changes = [
        "at = 'epoch', \"publishedAt\" = now() WHERE \"select\" = 'PUBLISHED'",
        "at = 'epoch', tries = 1, \"nextAttemptAt\" = now() + interval '1 hour' WHERE \"select\" = 'REFUSED'",
        "at = 'epoch', tries = 5, \"nextAttemptAt\" = 'infinity' WHERE \"select\" = 'PARKED'",
        "at = '2026-11-15T08:00:00Z', \"nextAttemptAt\" = now() + interval '1 hour' WHERE \"select\" = 'LEASED'",
        "at = 'epoch' WHERE \"select\" = 'UNWANTED'",
    ];
    for change in changes {
        run(&mut own.connection, &format!("UPDATE {table} SET {change}")).await;
    }
    let oldest = onefold_core::Timestamp::parse("2026-11-15T08:00:00Z");
    let counted = own.store.count_rows(checked, patterns(&["case.*"])).await.unwrap();
    assert_eq!(counted, RowCounts { waiting: 2, oldest, parked: 1, refused: 1 });
}

#[tokio::test]
async fn a_table_that_does_not_fit_is_refused_with_its_name_its_column_and_what_to_do() {
    let own = OwnTableFixture::new(UUID).await;
    let with = |change: fn(&mut OwnColumns)| {
        let mut table = own.table.clone();
        change(&mut table.columns);
        table
    };
    let rows = [
        (
            with(|columns| columns.published_at = name("published_at")),
            ["Out\"\"<id>.Box\" has no column \"published_at\"", "published_at = "],
        ),
        (with(|columns| columns.tenant = Some(name("Tenant"))), ["no column \"Tenant\"", "tenant = "]),
        (with(|columns| columns.attempts = name("lastError")), ["column \"lastError\"", "bigint"]),
        (with(|columns| columns.created_at = name("TYPE")), ["column \"TYPE\"", "timestamp with time zone"]),
        (with(|columns| columns.id = name("select")), ["column \"select\"", "unique"]),
        (
            OwnTable::parse("nowhere.outbox", OwnColumns::default()).unwrap(),
            ["no table \"nowhere\".\"outbox\"", "app.outbox"],
        ),
    ];
    for (table, says) in rows {
        let error = own.store.check_table(table).await.unwrap_err();
        assert_eq!(error.code(), RELAY_TABLE_INVALID);
        let said = format!("{} {}", error.detail(), error.next_step());
        assert!(says.iter().all(|words| said.contains(words)), "{said}");
    }
    // The loop says the same, and does not wait for it.
    let broken = OwnTableFixture { table: with(|columns| columns.payload = name("body")), ..own };
    let target = Arc::new(RecordingTarget::default());
    let error = broken.relay(&target).run(std::future::pending()).await.unwrap_err();
    assert_eq!(error.code(), RELAY_TABLE_INVALID);
    assert!(broken.schema.name.starts_with("test_"));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_loops_at_once_publish_each_row_once() {
    let mut own = OwnTableFixture::new(UUID).await;
    let target = Arc::new(RecordingTarget::default());
    let loops = [(); 2].map(|()| tokio::spawn(own.relay(&target).run(std::future::pending())));
    for number in 0..200 {
        own.insert("case.opened", &format!("CASE-{}", number % 7)).await;
    }
    until!(own.count("\"publishedAt\" IS NULL").await == 0);
    let mut taken: BTreeMap<EventId, usize> = BTreeMap::new();
    for event in target.taken() {
        *taken.entry(event.id).or_default() += 1;
    }
    assert_eq!((taken.len(), taken.values().max()), (200, Some(&1)));
    assert_eq!(own.count("tries > 0").await, 0);
    loops.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_was_published_and_not_marked_comes_again_with_the_same_id() {
    let mut own = OwnTableFixture::new(NUMBER).await;
    own.insert("case.opened", "A").await;
    // A process that took it, published it and died: its lease ends.
    let lost = own.taken(Duration::ZERO).await.rows.remove(0);
    let target = Arc::new(RecordingTarget::default());
    let running = tokio::spawn(own.relay(&target).run(std::future::pending()));
    until!(own.count("\"publishedAt\" IS NOT NULL").await == 1);
    assert_eq!(target.taken().iter().map(|taken| taken.id).collect::<Vec<_>>(), [lost.id]);
    running.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_targets_fault_uses_no_attempt_and_an_events_own_is_parked_with_an_incident() {
    let mut own = OwnTableFixture::new(UUID).await;
    let target = Arc::new(RecordingTarget::default());
    target.go_away();
    let running = tokio::spawn(own.relay(&target).run(std::future::pending()));
    own.insert("case.opened", "A").await;
    own.insert("case.opened", "POISON").await;
    until!(target.asked() > 4);
    assert_eq!((own.count("tries > 0").await, own.incidents().await), (0, 0));
    target.answer_with(|stored| {
        if &*stored.event.aggregate.id == "POISON" {
            let (code, reason) = (EVENT_TARGET_REFUSED, "the schema says no".to_owned());
            return Publication::Refused { code, reason, retry: RefusedRetry::After(None) };
        }
        Publication::Published { position: None }
    });
    until!(own.count("\"nextAttemptAt\" = 'infinity'").await == 1);
    assert_eq!(own.count("tries = 2 AND \"lastError\" LIKE '%the schema says no%'").await, 1);
    assert_eq!(own.incidents().await, 1);
    until!(own.count("\"publishedAt\" IS NOT NULL").await == 1);
    // A row that cannot be read is parked as well; the others go on.
    own.insert("case.opened", "").await;
    own.insert("case.opened", "B").await;
    until!(own.count("\"publishedAt\" IS NOT NULL").await == 2);
    until!(own.count("\"nextAttemptAt\" = 'infinity'").await == 2);
    // A person fixed the target, and lets the row go.
    target.take_everything();
    let release = format!("UPDATE {} SET \"nextAttemptAt\" = NULL WHERE \"select\" = 'POISON'", own.table.quoted());
    run(&mut own.connection, &release).await;
    until!(own.count("\"publishedAt\" IS NOT NULL").await == 3);
    assert_eq!(own.incidents().await, 1, "of the row that cannot be read");
    running.abort();
}
