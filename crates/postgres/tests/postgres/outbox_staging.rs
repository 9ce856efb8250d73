//! Staging: with the change or not at all, once for each id, from any language.

use onefold_core::error::EVENT_ID_REUSED;
use onefold_core::event::{EventType, HeaderName, NewEvent};
use onefold_core::port::{OutboxOperate as _, StageOrder, StagedBy, Staging as _};
use sqlx::{AssertSqlSafe, Connection as _};

use crate::fixture::run;
use crate::outbox_fixture::{OutboxFixture, event, events, patterns, stage};

#[tokio::test]
async fn an_event_and_its_change_commit_together_or_neither_does() {
    let outbox = OutboxFixture::new().await;
    let staged = events("CASE-7", 2);
    let mut transaction = outbox.store.begin().await.unwrap();
    outbox.store.stage(&mut transaction, &staged, StageOrder::AggregateIsLocked).await.unwrap();
    transaction.rollback().await.unwrap();
    assert!(outbox.store.event(staged[0].id).await.unwrap().is_none());
    let known = outbox.stage(&staged).await;
    let (stored, asides) = outbox.store.event(staged[1].id).await.unwrap().unwrap();
    assert_eq!((&stored.event, stored.seq, asides.len()), (&staged[1], known[1].seq, 0));
    assert!(known[0].seq < known[1].seq);
}

#[tokio::test]
async fn everything_of_an_event_reads_back() {
    let outbox = OutboxFixture::new().await;
    let mut full = event("case.submitted", "CASE-ä", "{\"a\": \"\\u0000\"}");
    full.headers.insert(HeaderName::parse("traceparent").unwrap(), "00-\"quoted\"-ä".to_owned());
    full.correlation_id = Some("req-1".into());
    full.schema_version = 7;
    outbox.stage(std::slice::from_ref(&full)).await;
    assert_eq!(outbox.store.event(full.id).await.unwrap().unwrap().0.event, full);
}

#[tokio::test]
async fn a_known_id_stages_nothing_and_with_other_bytes_it_is_refused() {
    let outbox = OutboxFixture::new().await;
    let first = events("CASE-7", 2);
    let known = outbox.stage(&first).await;
    let again = outbox.stage(&[first[1].clone(), event("case.opened", "CASE-7", "{}"), first[0].clone()]).await;
    let wrote: Vec<_> = again.iter().map(|staged| staged.wrote).collect();
    assert_eq!(wrote, [StagedBy::Earlier, StagedBy::ThisTransaction, StagedBy::Earlier]);
    assert_eq!((again[2].seq, again[0].seq), (known[0].seq, known[1].seq));
    let others = [
        NewEvent { payload: "{}".into(), ..first[0].clone() },
        NewEvent { event_type: EventType::parse("case.closed").unwrap(), ..first[0].clone() },
        NewEvent { aggregate: event("case.submitted", "CASE-8", "").aggregate, ..first[0].clone() },
        NewEvent { schema_version: 2, ..first[0].clone() },
    ];
    for other in others {
        let beside = event("case.opened", "CASE-9", "{}");
        let error = stage(&outbox.store, &[beside.clone(), other]).await.unwrap_err();
        assert_eq!(error.code(), EVENT_ID_REUSED, "{error}");
        assert!(outbox.store.event(beside.id).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn an_id_that_comes_twice_in_one_transaction_is_one_event() {
    let outbox = OutboxFixture::new().await;
    let one = event("case.opened", "CASE-7", "{}");
    let mut transaction = outbox.store.begin().await.unwrap();
    let order = StageOrder::LockAggregate;
    let first = outbox.store.stage(&mut transaction, &[one.clone(), one.clone()], order).await.unwrap();
    let second = outbox.store.stage(&mut transaction, std::slice::from_ref(&one), order).await.unwrap();
    assert!(first[0] == first[1] && second[0] == first[0] && first[0].wrote == StagedBy::ThisTransaction);
    transaction.commit().await.unwrap();
}

#[tokio::test]
async fn two_transactions_that_stage_one_id_at_once_stage_it_once() {
    let outbox = OutboxFixture::new().await;
    let one = event("case.opened", "CASE-7", "{}");
    let mut first = outbox.store.begin().await.unwrap();
    outbox.store.stage(&mut first, std::slice::from_ref(&one), StageOrder::AggregateIsLocked).await.unwrap();
    let second = tokio::spawn({
        let (store, one) = (outbox.store.clone(), one.clone());
        async move { stage(&store, &[one]).await }
    });
    first.commit().await.unwrap();
    let second = second.await.unwrap().unwrap();
    assert_eq!(second[0].wrote, StagedBy::Earlier);
}

#[tokio::test]
async fn any_language_stages_through_a_function_in_the_ledgers_schema() {
    let outbox = OutboxFixture::new().await;
    let mut connection = outbox.schema.connect().await;
    let schema = &outbox.schema.name;
    let call = |name: &str, rest: &str| {
        AssertSqlSafe(format!(
            "SELECT {schema}.{name}('case', 'CASE-7', 'case.submitted', 1, '{{\"caseId\": \"CASE-7\"}}'{rest})::text"
        ))
    };
    let id: String = sqlx::query_scalar(call("onefold_stage", "")).fetch_one(&mut connection).await.unwrap();
    let rest = format!(", id => '{id}', headers => '{{\"origin\": \"sql\"}}', correlation_id => 'r'");
    let again: String =
        sqlx::query_scalar(call("onefold_stage_ordered", &rest)).fetch_one(&mut connection).await.unwrap();
    assert_eq!(again, id, "the same event is staged once");
    let (stored, _) = outbox.store.event(onefold_core::event::EventId::parse(&id).unwrap()).await.unwrap().unwrap();
    assert_eq!(stored.event.payload, "{\"caseId\": \"CASE-7\"}");
    assert_eq!((stored.event.aggregate.tenant.as_str(), &*stored.event.content_type), ("default", "application/json"));
    let other = format!("SELECT {schema}.onefold_stage('case', 'CASE-8', 'case.submitted', 1, '{{}}', id => '{id}')");
    let error = sqlx::query(AssertSqlSafe(other)).execute(&mut connection).await.unwrap_err();
    assert!(error.to_string().contains("EVENT_ID_REUSED"), "{error}");
    assert_eq!(error.as_database_error().unwrap().code().as_deref(), Some("23505"));
    assert_eq!(outbox.publish("host/1").await.len(), 1);
}

#[tokio::test]
async fn what_a_relay_could_not_read_is_refused_by_the_table() {
    let outbox = OutboxFixture::new().await;
    let mut connection = outbox.connect().await;
    let refused = [
        ("case type", "CASE-7", "case.submitted", "{}"),
        ("case", "", "case.submitted", "{}"),
        ("case", "CASE-7", "fälle.neu", "{}"),
        ("case", "CASE-7", "case.submitted", "[]"),
        ("case", "CASE-7", "case.submitted", "{\"Origin\": \"a\"}"),
        ("case", "CASE-7", "case.submitted", "{\"origin\": 7}"),
        ("case", "CASE-7", "case.submitted", "{\"ce_id\": \"a\"}"),
    ];
    for (aggregate_type, aggregate_id, event_type, headers) in refused {
        let sql = "SELECT onefold_stage($1, $2, $3, 1, '{}', headers => $4)";
        let call = sqlx::query(sql).bind(aggregate_type).bind(aggregate_id).bind(event_type).bind(headers);
        let error = call.execute(&mut connection).await.unwrap_err();
        assert_eq!(error.as_database_error().unwrap().code().as_deref(), Some("23514"), "{headers}: {error}");
    }
    // What the program may send, the table takes, and the other way round.
    for name in ["host", "traceparent", "ce-id", "onefold-x", "x", "nats-msg-id", "cloudevents", "Webhook-id", "a b"] {
        let sql = "SELECT onefold_headers_fit(json_build_object($1::text, 'v')::text)";
        let fits: bool = sqlx::query_scalar(sql).bind(name).fetch_one(&mut connection).await.unwrap();
        assert_eq!(fits, HeaderName::parse(name).is_ok(), "{name}");
    }
}

#[tokio::test]
async fn the_database_wants_the_types_that_the_rule_wants() {
    let outbox = OutboxFixture::new().await;
    let mut connection = outbox.connect().await;
    let types = ["case.submitted", "case", "case.", "case.file.added", "casework.begun", "order.paid", "case.a."];
    for wanted in [&["*"][..], &["case.*"], &["case.submitted", "order.*"], &["case.a.*", "case.*"], &["case"]] {
        let wanted = patterns(wanted);
        for name in types {
            let json = serde_json::to_string(&wanted).unwrap();
            let asked = sqlx::query_scalar("SELECT onefold_wants($1, $2)").bind(json).bind(name);
            let wants: bool = asked.fetch_one(&mut connection).await.unwrap();
            assert_eq!(wants, wanted.matches(&EventType::parse(name).unwrap()), "{wanted}: {name}");
        }
    }
}

#[tokio::test]
async fn staging_in_order_waits_for_the_other_writer_of_the_aggregate_in_any_language() {
    let outbox = OutboxFixture::new().await;
    let mut first = outbox.connect().await;
    let mut transaction = first.begin().await.unwrap();
    run(&mut transaction, "SELECT onefold_stage_ordered('case', 'CASE-7', 'case.opened', 1, '1')").await;
    let second = tokio::spawn({
        let store = outbox.store.clone();
        async move {
            let mut tx = store.begin().await.unwrap();
            let second = [event("case.closed", "CASE-7", "2")];
            let staged = store.stage(&mut tx, &second, StageOrder::LockAggregate).await.unwrap();
            tx.commit().await.unwrap();
            staged[0].seq
        }
    });
    // Another aggregate does not wait.
    let mut other = outbox.store.begin().await.unwrap();
    let beside = [event("case.opened", "CASE-8", "3")];
    let beside = outbox.store.stage(&mut other, &beside, StageOrder::LockAggregate).await.unwrap();
    other.commit().await.unwrap();
    let mut looking = outbox.connect().await;
    crate::asking::until("the second writer waits", async || {
        let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = \
                   'onefold_events'::regclass";
        let mut looking = outbox.connect().await;
        let waiting: i64 = sqlx::query_scalar(sql).fetch_one(&mut looking).await.unwrap();
        (waiting == 1).then_some(())
    })
    .await;
    run(&mut transaction, "SELECT onefold_stage('case', 'CASE-7', 'case.changed', 1, '4')").await;
    transaction.commit().await.unwrap();
    let second = second.await.unwrap();
    let highest: i64 = sqlx::query_scalar("SELECT max(seq) FROM onefold_events").fetch_one(&mut looking).await.unwrap();
    assert!(second == highest && beside[0].seq < second);
}
