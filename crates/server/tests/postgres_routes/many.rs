//! Several gateways on one database are one.

use std::time::Duration;

use crate::client::Call;
use crate::route_fixture::RouteFixture;

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_sent_to_three_gateways_are_one_call_and_one_answer() {
    let fixture = RouteFixture::gateway().await;
    let (second, third) = (fixture.another(), fixture.another());
    let places = [fixture.at, second.1, third.1];
    let calls: Vec<_> = (0..60)
        .map(|number| {
            let call = Call::new(places[number % 3], "k").script("sleep=500").header("prefer", "wait=30");
            tokio::spawn(call.send())
        })
        .collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    assert_eq!(fixture.provider.count(), 1);
    assert_eq!(answers.iter().filter(|answer| !answer.replayed()).count(), 1);
    assert!(answers.iter().all(|answer| (answer.status, &answer.body) == (answers[0].status, &answers[0].body)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_slept_past_its_lease_is_refused_and_what_it_says_is_kept() {
    let fixture = RouteFixture::gateway().await;
    let (sleeper, at) = fixture.another();
    // The first attempt is sent by a gateway that then sleeps longer than its lease.
    let slept = tokio::spawn(Call::new(at, "k").at("/notices").script("wait").send());
    fixture.provider.acted(1).await;
    rustix::process::kill_process(sleeper.pid(), rustix::process::Signal::STOP).unwrap();
    fixture.provider.open();
    // With one key for the provider it may be performed again, once the lease is over and the backoff too.
    let mut answer = fixture.pay("k").at("/notices").send().await;
    for _ in 0..120 {
        if answer.status.as_u16() != 409 {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        answer = fixture.pay("k").at("/notices").header("prefer", "wait=0").send().await;
    }
    assert_eq!(answer.status.as_u16(), 201, "{answer:?}");
    rustix::process::kill_process(sleeper.pid(), rustix::process::Signal::CONT).unwrap();
    let late = slept.await.unwrap();
    assert_eq!(late.problem().1, "LEASE_SUPERSEDED", "{late:?}");
    assert!(fixture.pay("k").at("/notices").send().await.replayed());
    assert_eq!(fixture.provider.count(), 2);
    let keys: Vec<_> = fixture.provider.calls().iter().map(|call| call.headers["x-provider-key"].clone()).collect();
    assert_eq!(keys[0], keys[1], "one key, by which the provider knows it is one");
    let reference = late.json()["operationRef"].as_str().unwrap().to_owned();
    let timeline = fixture.api(&format!("/v1/operations/{reference}/timeline")).await.json().to_string();
    assert!(timeline.contains("LATE") || timeline.contains("late"), "what it said is kept: {timeline}");
}
