//! Whose key it is.

use crate::door::{Door, through_both};

through_both!(
    another_caller_with_the_same_key_has_its_own_operation,
    another_route_with_the_same_key_is_another_operation,
    one_key_for_two_paths_of_a_route_is_422,
);

async fn another_caller_with_the_same_key_has_its_own_operation(door: Door) {
    let alice = door.pay("k").user("alice").send().await;
    // Another request under the same key, and no conflict: it is another caller's.
    let bob = door.pay("k").user("bob").body("{\"amount\":8}").send().await;
    assert_eq!((alice.replayed(), bob.replayed()), (false, false));
    assert_ne!(alice.body, bob.body);
    let (alice_again, bob_again) =
        (door.pay("k").user("alice").send().await, door.pay("k").user("bob").body("{\"amount\":8}").send().await);
    assert_eq!((alice_again.body, bob_again.body), (alice.body, bob.body));
    assert_eq!(door.provider.count(), 2);
}

async fn another_route_with_the_same_key_is_another_operation(door: Door) {
    assert!(!door.pay("k").send().await.replayed());
    assert!(!door.pay("k").at("/trusting").send().await.replayed());
    assert_eq!(door.provider.count(), 2);
}

async fn one_key_for_two_paths_of_a_route_is_422(door: Door) {
    let paid = |account: u8| door.pay("k").at(&format!("/accounts/{account}"));
    assert_eq!(paid(1).send().await.status.as_u16(), 201);
    assert!(paid(1).send().await.replayed());
    assert_eq!(paid(2).send().await.problem(), (422, "IDEMPOTENCY_KEY_REUSED".to_owned()));
    assert_eq!(door.provider.count(), 1);
}
