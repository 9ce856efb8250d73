//! A gateway that dies between the upstream's act and the record.

use crate::route_fixture::RouteFixture;

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_killed_between_act_and_record_leaves_the_outcome_unknown() {
    let mut fixture = RouteFixture::gateway().await;
    let cut = tokio::spawn(fixture.pay("k").script("wait").abandon(std::future::pending()));
    fixture.provider.acted(1).await;
    cut.abort();
    fixture.kill_and_restart();
    fixture.provider.open();
    let answer = crate::deaths::settled(&fixture).await;
    assert_eq!(answer.problem(), (409, "OUTCOME_UNKNOWN".to_owned()));
    assert_eq!(fixture.provider.count(), 1);
    assert_eq!(fixture.incidents().await.len(), 1);
    assert_eq!(fixture.pay("other").send().await.status.as_u16(), 201);
}

/// The answer once the dead gateway's lease is settled: at once on SQLite, when it expires on PostgreSQL.
pub(crate) async fn settled(fixture: &RouteFixture) -> crate::client::Answer {
    for _ in 0..60 {
        let answer = fixture.pay("k").header("prefer", "wait=1").send().await;
        if answer.problem().1 != "OPERATION_IN_FLIGHT" {
            return answer;
        }
    }
    panic!("the dead gateway's lease never ended");
}
