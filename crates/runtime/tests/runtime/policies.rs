//! What an unknown outcome may do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use onefold_core::effect::{Converging, Escalate, ExternalCommand, SameKey};
use onefold_core::ledger::Status;
use onefold_core::retry::{Category, Schedule};
use onefold_runtime::{Ask, CallFailure, Kind, KindHandle, Ledger, Performed, ProviderAnswer, Void};
use onefold_sqlite::Sqlite;

use crate::fixture::{Effects, LedgerFixture, find, id, open_incidents, settings, stands, until};

const MOMENT: Duration = Duration::from_millis(1);

type Keys = Arc<Mutex<Vec<String>>>;

/// Performs; the first attempt does not know, the next one takes hold. Each notes the key it sends.
async fn uncertain(kind: &KindHandle<Sqlite, ExternalCommand>, keys: &Keys) -> Performed<u32> {
    let keys = Arc::clone(keys);
    let effect = move |attempt: onefold_runtime::Attempt| async move {
        keys.lock().unwrap().push(attempt.provider_key().to_owned());
        if attempt.number() == 1 && attempt.lease().fence == 1 {
            return Err(CallFailure::unknown(Category::DownstreamTimeout));
        }
        Ok(7)
    };
    kind.operation(id("A")).business_key("CASE-1").perform(&"in", effect).await.unwrap()
}

async fn until_completed(kind: &KindHandle<Sqlite, ExternalCommand>, keys: &Keys) -> Performed<u32> {
    until("it is performed again", async || {
        let answer = uncertain(kind, keys).await;
        matches!(answer, Performed::Completed { .. }).then_some(answer)
    })
    .await
}

#[tokio::test]
async fn escalate_asks_a_person_and_nobody_performs_again() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue").on_unknown(Escalate)).unwrap();
    let keys = Keys::default();
    let first = uncertain(&notices, &keys).await;
    let incident = open_incidents(&ledger).await.remove(0);
    assert!(
        matches!(&first, Performed::Unknown { incident: Some(id), next_ask: None, .. } if *id == incident.id),
        "{first:?}"
    );
    assert_eq!(uncertain(&notices, &keys).await, first);
    assert_eq!(*keys.lock().unwrap(), ["A"]);
}

#[tokio::test]
async fn same_key_waits_and_sends_the_same_key_again() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let quick = Schedule::Between(MOMENT, MOMENT);
    let memory = SameKey::remembered_for(Duration::from_hours(1));
    let notices = ledger
        .kind(Kind::external_command("notice.issue").on_unknown(memory).retry(
            Category::DownstreamTimeout,
            Some(quick),
            "a test",
        ))
        .unwrap();
    let keys = Keys::default();
    let first = uncertain(&notices, &keys).await;
    assert!(matches!(first, Performed::Waiting { .. }), "{first:?}");
    assert_eq!(until_completed(&notices, &keys).await, Performed::Completed { result: 7, replayed: false });
    assert_eq!(*keys.lock().unwrap(), ["A", "A"]);
    let entry = find(&ledger, "notice.issue", "A").await.unwrap();
    assert_eq!((entry.fence, entry.attempts), (2, 2));
    assert!(open_incidents(&ledger).await.is_empty());
}

/// A kind that asks with these answers, one after the other; the last one repeats.
fn asking(ledger: &Ledger<Sqlite>, answers: Vec<ProviderAnswer>, asked: &Keys) -> KindHandle<Sqlite, ExternalCommand> {
    let (answers, asked) = (Mutex::new(answers), Arc::clone(asked));
    let ask = Ask::with(move |question| {
        asked.lock().unwrap().push(format!("{} {}", question.key(), question.business_key().unwrap_or_default()));
        let mut answers = answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        async move { answer }
    });
    let kind = Kind::external_command("notice.issue")
        .on_unknown(ask.settle(Duration::ZERO))
        .deadline(Duration::from_millis(200))
        .clock_slack(Duration::ZERO)
        .ask_schedule(&[MOMENT, MOMENT]);
    ledger.kind(kind).unwrap()
}

#[tokio::test]
async fn ask_completes_what_took_hold() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let (keys, asked) = (Keys::default(), Keys::default());
    let notices = asking(&ledger, vec![ProviderAnswer::cannot_tell(), ProviderAnswer::took_hold(&41)], &asked);
    let first = uncertain(&notices, &keys).await;
    assert!(matches!(first, Performed::Unknown { incident: None, next_ask: Some(_), .. }), "{first:?}");
    stands(&ledger, "notice.issue", "A", Status::Completed).await;
    assert_eq!(uncertain(&notices, &keys).await, Performed::Completed { result: 41, replayed: true });
    assert_eq!((keys.lock().unwrap().len(), &asked.lock().unwrap()[0][..]), (1, "A CASE-1"));
}

#[tokio::test]
async fn ask_performs_again_what_did_not_take_hold_after_settle() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let (keys, asked) = (Keys::default(), Keys::default());
    let notices = asking(&ledger, vec![ProviderAnswer::did_not()], &asked);
    uncertain(&notices, &keys).await;
    let deadline = find(&ledger, "notice.issue", "A").await.unwrap().deadline;
    let released = stands(&ledger, "notice.issue", "A", Status::Released).await;
    assert!(released.updated_at >= deadline, "believed before the deadline");
    assert_eq!(until_completed(&notices, &keys).await, Performed::Completed { result: 7, replayed: false });
    assert!(open_incidents(&ledger).await.is_empty());
}

#[tokio::test]
async fn ask_that_cannot_tell_goes_to_a_person() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let (keys, asked) = (Keys::default(), Keys::default());
    let notices = asking(&ledger, vec![ProviderAnswer::cannot_tell()], &asked);
    uncertain(&notices, &keys).await;
    let incident = until("a person is asked", async || open_incidents(&ledger).await.pop()).await;
    let answer = uncertain(&notices, &keys).await;
    assert!(
        matches!(&answer, Performed::Unknown { incident: Some(id), next_ask: None, .. } if *id == incident.id),
        "{answer:?}"
    );
    assert_eq!((keys.lock().unwrap().len(), asked.lock().unwrap().len()), (1, 3));
}

#[tokio::test]
async fn a_question_that_panics_or_never_ends_tells_nothing() {
    let fixture = LedgerFixture::new();
    let ledger =
        fixture.ledger_with(onefold_runtime::Settings { ask_deadline: Duration::from_millis(30), ..settings() }).await;
    let asked = Effects::default();
    let counting = asked.clone();
    let ask = Ask::with(move |_| {
        let question = counting.happen();
        async move {
            assert!(question > 1, "the first question panics");
            if question == 2 {
                std::future::pending::<()>().await;
            }
            ProviderAnswer::took_hold(&41)
        }
    });
    let kind = Kind::external_command("notice.issue").on_unknown(ask).ask_schedule(&[MOMENT, MOMENT, MOMENT]);
    let notices = ledger.kind(kind).unwrap();
    uncertain(&notices, &Keys::default()).await;
    stands(&ledger, "notice.issue", "A", Status::Completed).await;
    assert_eq!(asked.count(), 3);
}

#[tokio::test]
async fn void_releases_only_after_the_providers_yes_and_then_sends_a_key_it_has_not_refused() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let (keys, voided) = (Keys::default(), Keys::default());
    let noting = Arc::clone(&voided);
    let void = Void::with(move |asked| {
        let mut voided = noting.lock().unwrap();
        voided.push(asked.key().to_owned());
        let answer = if voided.len() < 2 { ProviderAnswer::later(MOMENT) } else { ProviderAnswer::did_not() };
        async move { answer }
    });
    let seats = ledger.kind(Kind::external_command("seat.reserve").on_unknown(void)).unwrap();
    uncertain(&seats, &keys).await;
    stands(&ledger, "seat.reserve", "A", Status::Released).await;
    assert_eq!(until_completed(&seats, &keys).await, Performed::Completed { result: 7, replayed: false });
    assert_eq!(*voided.lock().unwrap(), ["A", "A"]);
    assert_eq!(*keys.lock().unwrap(), ["A", "A~v2"]);
}

#[tokio::test]
async fn rerun_is_performed_again() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let quick = Schedule::Between(MOMENT, MOMENT);
    let kind = Kind::converging("status.set").retry(Category::DownstreamTimeout, Some(quick), "a test");
    let statuses: KindHandle<Sqlite, Converging> = ledger.kind(kind).unwrap();
    let effects = Effects::default();
    let answer = until("it is performed again", async || {
        let happens = effects.clone();
        let effect = move |_| async move {
            if happens.happen() == 1 { Err(CallFailure::unknown(Category::DownstreamTimeout)) } else { Ok(7) }
        };
        let answer = statuses.operation(id("A")).perform(&"in", effect).await.unwrap();
        matches!(answer, Performed::Completed { .. }).then_some(answer)
    })
    .await;
    assert_eq!((answer, effects.count()), (Performed::Completed { result: 7, replayed: false }, 2));
}
