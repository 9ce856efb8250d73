//! What people see of a gateway: metrics, access log, a breaker that opens.

use crate::route_fixture::RouteFixture;

#[tokio::test(flavor = "multi_thread")]
async fn each_answer_is_counted_and_logged_by_its_route_and_its_key() {
    let fixture = RouteFixture::gateway().await;
    assert_eq!(fixture.pay("key-77").body("{\"secret\":\"hush\"}").send().await.status.as_u16(), 201);
    assert!(fixture.pay("key-77").body("{\"secret\":\"hush\"}").send().await.replayed());
    assert_eq!(fixture.pay("lost-1").script("status=500").send().await.status.as_u16(), 500);
    let metrics = String::from_utf8(fixture.api("/metrics").await.body.to_vec()).unwrap();
    for wanted in [
        "onefold_route_answers_total{route=\"payments\",answer=\"performed\"} 1",
        "onefold_route_answers_total{route=\"payments\",answer=\"replayed\"} 1",
        "onefold_route_answers_total{route=\"payments\",answer=\"unknown\"} 1",
        "onefold_upstream_seconds_count{route=\"payments\"} 2",
        "onefold_added_seconds_count{route=\"payments\"} 2",
    ] {
        assert!(metrics.contains(wanted), "{wanted} is not in\n{metrics}");
    }
    assert!(!metrics.contains("key-77"), "ids are never labels");
    let log = fixture.log();
    let line = log.lines().find(|line| line.contains("request answered")).unwrap_or_else(|| panic!("{log}"));
    for wanted in ["payments", "key-77", "performed", "status=201", "operation=", "upstream_ms="] {
        assert!(line.contains(wanted), "{wanted} is not in {line}");
    }
    assert!(!log.contains("hush") && !log.contains("alice"), "neither bodies nor callers: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_breaker_that_opens_is_answered_for_and_seen() {
    let fixture = RouteFixture::gateway().await;
    for number in 0..2 {
        let lost = fixture.pay(&format!("k-{number}")).at("/flaky").script("status=500").send().await;
        assert_eq!(lost.status.as_u16(), 500);
    }
    let rested = fixture.pay("k-2").at("/flaky").send().await;
    assert_eq!(rested.problem(), (503, "BREAKER_OPEN".to_owned()));
    assert!(rested.header("retry-after").is_some());
    assert_eq!(fixture.provider.count(), 2);
    let metrics = String::from_utf8(fixture.api("/metrics").await.body.to_vec()).unwrap();
    for wanted in [
        "onefold_breaker_state{dependency=\"provider\"} 2",
        "onefold_dependency_refusals_total{dependency=\"provider\"",
        "onefold_route_answers_total{route=\"flaky\",answer=\"shed\"} 1",
    ] {
        assert!(metrics.contains(wanted), "{wanted} is not in\n{metrics}");
    }
}
