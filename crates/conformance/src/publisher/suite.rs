//! The list of a publisher's promises.

/// Makes a test of every promise of a publisher, on this harness.
#[macro_export]
macro_rules! publisher_suite {
    ($harness:ty) => {
        $crate::publisher_suite! { $harness:
            every_event_is_there_once_and_in_the_order_of_its_aggregate,
            lanes_are_published_together_and_answered_apart,
            an_event_carries_its_attributes_and_headers,
            broken_connections_lose_nothing_and_keep_the_order,
            a_page_that_nobody_acknowledges_ends_in_time_and_is_repeated_under_its_ids,
            a_broker_that_never_answers_holds_nobody_up,
            a_broker_that_is_away_is_unavailable_and_comes_back_by_itself,
        }
    };
    ($harness:ty: $($promise:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                $crate::publisher::promises::$promise::<$harness>().await;
            }
        )*
    };
}
