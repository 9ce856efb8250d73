//! Whose key it is.

use crate::route_fixture::{RouteFixture, through_both};

through_both!(
    another_caller_with_the_same_key_has_its_own_operation,
    another_route_with_the_same_key_is_another_operation,
    one_key_for_two_paths_of_a_route_is_422,
);

async fn another_caller_with_the_same_key_has_its_own_operation(fixture: RouteFixture) {
    let alice = fixture.pay("k").user("alice").send().await;
    // Another request under the same key, and no conflict: it is another caller's.
    let bob = fixture.pay("k").user("bob").body("{\"amount\":8}").send().await;
    assert_eq!((alice.replayed(), bob.replayed()), (false, false));
    assert_ne!(alice.body, bob.body);
    let (alice_again, bob_again) =
        (fixture.pay("k").user("alice").send().await, fixture.pay("k").user("bob").body("{\"amount\":8}").send().await);
    assert_eq!((alice_again.body, bob_again.body), (alice.body, bob.body));
    assert_eq!(fixture.provider.count(), 2);
}

async fn another_route_with_the_same_key_is_another_operation(fixture: RouteFixture) {
    assert!(!fixture.pay("k").send().await.replayed());
    assert!(!fixture.pay("k").at("/trusting").send().await.replayed());
    assert_eq!(fixture.provider.count(), 2);
}

async fn one_key_for_two_paths_of_a_route_is_422(fixture: RouteFixture) {
    let paid = |account: u8| fixture.pay("k").at(&format!("/accounts/{account}"));
    assert_eq!(paid(1).send().await.status.as_u16(), 201);
    assert!(paid(1).send().await.replayed());
    assert_eq!(paid(2).send().await.problem(), (422, "IDEMPOTENCY_KEY_REUSED".to_owned()));
    assert_eq!(fixture.provider.count(), 1);
}
