//! What the upstream's answers mean.

use crate::route_fixture::{RouteFixture, through_both};

through_both!(
    what_was_surely_not_applied_leaves_the_key_usable,
    every_status_that_may_hide_an_effect_is_unknown,
    an_upstream_that_acts_and_drops_the_connection_is_unknown,
    an_upstream_that_knows_better_is_believed_where_it_is_trusted,
    an_answer_that_breaks_off_is_never_stored,
);

async fn what_was_surely_not_applied_leaves_the_key_usable(fixture: RouteFixture) {
    for status in [401, 403, 405, 408, 411, 413, 414, 415, 417, 425, 426, 428, 429, 431] {
        let key = format!("k-{status}");
        let before = fixture.provider.count();
        let first = fixture.pay(&key).script(&format!("status={status}, retry")).send().await;
        assert_eq!((first.status.as_u16(), first.header("retry-after")), (status, Some("7")));
        assert_eq!(first.header("onefold-outcome"), None);
        let again = fixture.pay(&key).send().await;
        assert_eq!((again.status.as_u16(), again.replayed()), (201, false), "{status}");
        assert_eq!(fixture.provider.count(), before + 2);
    }
    assert!(fixture.incidents().await.is_empty());
}

async fn every_status_that_may_hide_an_effect_is_unknown(fixture: RouteFixture) {
    for status in [500, 501, 502, 503, 504, 599] {
        let key = format!("k-{status}");
        let before = fixture.provider.count();
        let first = fixture.pay(&key).script(&format!("status={status}")).send().await;
        assert_eq!((first.status.as_u16(), first.header("onefold-outcome")), (status, Some("unknown")));
        assert_eq!(fixture.pay(&key).send().await.problem(), (409, "OUTCOME_UNKNOWN".to_owned()));
        assert_eq!(fixture.provider.count(), before + 1);
    }
}

async fn an_upstream_that_acts_and_drops_the_connection_is_unknown(fixture: RouteFixture) {
    let first = fixture.pay("k").script("drop").send().await;
    assert!(first.status.is_server_error(), "{first:?}");
    assert_eq!(first.header("onefold-outcome"), Some("unknown"));
    assert_eq!(first.problem().1, "OUTCOME_UNKNOWN");
    assert_eq!(fixture.pay("k").send().await.problem(), (409, "OUTCOME_UNKNOWN".to_owned()));
    assert_eq!(fixture.provider.count(), 1);
    assert_eq!(fixture.incidents().await.len(), 1);
}

async fn an_upstream_that_knows_better_is_believed_where_it_is_trusted(fixture: RouteFixture) {
    let said = |key: &str, script: &str| fixture.pay(key).at("/trusting").script(script);
    let none = said("none", "status=500, effect=none").send().await;
    assert_eq!(
        (none.status.as_u16(), none.header("onefold-effect"), none.header("onefold-outcome")),
        (500, None, None)
    );
    assert_eq!(said("none", "").send().await.status.as_u16(), 201);
    let applied = said("applied", "status=500, effect=applied").send().await;
    assert_eq!((applied.status.as_u16(), applied.header("onefold-effect")), (500, None));
    assert!(said("applied", "").send().await.replayed());
    let unknown = said("unknown", "status=200, effect=unknown").send().await;
    assert_eq!((unknown.status.as_u16(), unknown.header("onefold-outcome")), (200, Some("unknown")));
    assert_eq!(said("unknown", "").send().await.problem().0, 409);
    // Elsewhere it is not believed, and still not shown.
    let untrusted = fixture.pay("untrusted").script("status=200, effect=none").send().await;
    assert_eq!(untrusted.header("onefold-effect"), None);
    assert!(fixture.pay("untrusted").send().await.replayed());
}

async fn an_answer_that_breaks_off_is_never_stored(fixture: RouteFixture) {
    let first = fixture.pay("k").script("breaks").send().await;
    assert_eq!((first.problem().1.as_str(), first.header("onefold-outcome")), ("OUTCOME_UNKNOWN", Some("unknown")));
    assert_eq!(fixture.pay("k").send().await.problem(), (409, "OUTCOME_UNKNOWN".to_owned()));
    assert_eq!(fixture.provider.count(), 1);
}
