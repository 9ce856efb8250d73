//! The order of an aggregate's events under schedules that invert it for simpler rules.

use onefold_core::port::{StageOrder, Staging as _};
use sqlx::{Connection as _, PgConnection, Row as _};

use crate::fixture::run;
use crate::outbox_fixture::{OutboxFixture, event};

/// A rule that looks right and is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NaiveRule {
    /// Below the lowest running transaction, in the order of (txid, seq).
    TxidOrder,
    /// Windows from the lowest running transaction to the next, in the order of seq.
    XminWindows,
}

/// Reads events by such a rule.
pub(crate) struct NaiveReader {
    connection: PgConnection,
    rule: NaiveRule,
    /// The transaction and number that were read last, or where the next window begins.
    txid: String,
    seq: i64,
}

impl NaiveReader {
    pub(crate) fn new(connection: PgConnection, rule: NaiveRule) -> Self {
        Self { connection, rule, txid: "3".to_owned(), seq: 0 }
    }

    /// What is next: aggregates and payloads.
    pub(crate) async fn read(&mut self) -> Vec<(String, String)> {
        let xmin = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text";
        let xmin: String = sqlx::query_scalar(xmin).fetch_one(&mut self.connection).await.unwrap();
        let sql = match self.rule {
            NaiveRule::TxidOrder => {
                "SELECT txid::text, seq, aggregate_id, convert_from(payload, 'UTF8') FROM onefold_events
                 WHERE (txid, seq) > ($1::text::xid8, $2) AND txid < $3::text::xid8 ORDER BY txid, seq"
            }
            NaiveRule::XminWindows => {
                "SELECT txid::text, seq, aggregate_id, convert_from(payload, 'UTF8') FROM onefold_events
                 WHERE txid >= $1::text::xid8 AND seq > $2 AND txid < $3::text::xid8 ORDER BY seq"
            }
        };
        let asked = sqlx::query(sql).bind(&self.txid).bind(self.seq).bind(&xmin);
        let rows = asked.fetch_all(&mut self.connection).await.unwrap();
        match (self.rule, rows.last()) {
            (NaiveRule::TxidOrder, Some(last)) => (self.txid, self.seq) = (last.get(0), last.get(1)),
            (NaiveRule::TxidOrder, None) => {}
            (NaiveRule::XminWindows, _) => self.txid = xmin,
        }
        rows.iter().map(|row| (row.get(2), row.get(3))).collect()
    }

    async fn payloads(&mut self) -> Vec<String> {
        self.read().await.into_iter().map(|(_, payload)| payload).collect()
    }
}

/// Stages the event of an aggregate that this transaction has locked.
async fn stage(outbox: &OutboxFixture, connection: &mut PgConnection, payload: &str) {
    run(connection, "UPDATE cases SET version = version + 1 WHERE id = 7").await;
    let staged = [event("case.submitted", "CASE-7", payload)];
    outbox.store.stage(connection, &staged, StageOrder::AggregateIsLocked).await.unwrap();
}

async fn with_cases() -> OutboxFixture {
    let outbox = OutboxFixture::new().await;
    let mut connection = outbox.connect().await;
    run(&mut connection, "CREATE TABLE cases (id int PRIMARY KEY, version int NOT NULL)").await;
    run(&mut connection, "CREATE TABLE others (id int); INSERT INTO cases VALUES (7, 0)").await;
    outbox
}

/// The later writer has the smaller transaction number; where a bystander is open, it lies between the two.
async fn first_then_second(outbox: &OutboxFixture, bystander: Option<&mut PgConnection>) {
    let (mut a, mut b) = (outbox.connect().await, outbox.connect().await);
    let (mut a, mut b) = (a.begin().await.unwrap(), b.begin().await.unwrap());
    run(&mut b, "INSERT INTO others VALUES (1)").await;
    if let Some(bystander) = bystander {
        run(bystander, "INSERT INTO others VALUES (2)").await;
    }
    stage(outbox, &mut a, "first").await;
    a.commit().await.unwrap();
    stage(outbox, &mut b, "second").await;
    b.commit().await.unwrap();
}

/// A poll holds back what other tests' transactions hold back for a rule that looks at the lowest running one.
async fn drained(reader: &mut NaiveReader, count: usize) -> Vec<String> {
    let mut read = Vec::new();
    while read.len() < count {
        read.extend(reader.payloads().await);
    }
    read
}

#[tokio::test]
async fn a_later_event_with_a_smaller_transaction_number_comes_later() {
    let outbox = with_cases().await;
    let mut naive = NaiveReader::new(outbox.connect().await, NaiveRule::TxidOrder);
    first_then_second(&outbox, None).await;
    assert_eq!(drained(&mut naive, 2).await, ["second", "first"], "the simpler rule inverts them");
    assert_eq!(outbox.publish("host/1").await, ["first", "second"]);
}

#[tokio::test]
async fn a_bystander_between_two_writers_changes_nothing() {
    let server = crate::server::Server::start(&[]).await;
    let schema = crate::fixture::Schema::at(server.url());
    let store = schema.open().await.unwrap();
    let outbox = OutboxFixture { schema, store, spec: crate::outbox_fixture::spec("cases", &["*"]) };
    outbox.declare(outbox.spec.clone()).await.unwrap();
    let mut connection = outbox.connect().await;
    run(&mut connection, "CREATE TABLE cases (id int PRIMARY KEY, version int NOT NULL)").await;
    run(&mut connection, "CREATE TABLE others (id int); INSERT INTO cases VALUES (7, 0)").await;
    let mut naive = NaiveReader::new(outbox.connect().await, NaiveRule::XminWindows);
    let mut bystander = outbox.connect().await;
    let mut bystander = bystander.begin().await.unwrap();
    first_then_second(&outbox, Some(&mut bystander)).await;
    let mut inverted = naive.payloads().await;
    let published = outbox.publish("host/1").await;
    bystander.commit().await.unwrap();
    inverted.extend(drained(&mut naive, 1).await);
    assert_eq!(inverted, ["second", "first"], "the simpler rule inverts them");
    assert_eq!(published, ["first", "second"], "and nobody waits for the bystander");
}

#[tokio::test]
async fn numbers_that_are_handed_out_in_advance_invert_even_windows() {
    let outbox = with_cases().await;
    let mut connection = outbox.connect().await;
    run(&mut connection, "ALTER TABLE onefold_events ALTER COLUMN seq SET CACHE 20").await;
    let (mut a, mut b) = (outbox.connect().await, outbox.connect().await);
    let warm = [event("case.submitted", "CASE-8", "warm")];
    outbox.store.stage(&mut b, &warm, StageOrder::AggregateIsLocked).await.unwrap();
    stage(&outbox, &mut a, "first").await;
    stage(&outbox, &mut b, "second").await;
    let published: Vec<_> = outbox.publish("host/1").await.into_iter().filter(|payload| payload != "warm").collect();
    assert_eq!(published, ["second", "first"], "so such a sequence is refused");
}
