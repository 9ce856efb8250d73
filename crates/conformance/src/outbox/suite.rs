//! The list of an outbox's promises.

/// Makes a test of every promise of an outbox, on this harness.
#[macro_export]
macro_rules! outbox_suite {
    ($harness:ty) => {
        $crate::promises! { $harness; [outbox]
            staging {
                an_event_commits_with_its_transaction_or_not_at_all,
                the_same_event_staged_again_stages_nothing,
                an_id_with_another_content_is_refused,
            }
            pages {
                a_relay_publishes_each_event_once_and_in_order,
                a_new_relay_begins_where_it_says,
                unwanted_events_are_passed_and_not_read_again,
                a_window_is_the_same_for_its_next_holder_and_closed_to_its_last,
                a_large_window_is_read_by_places,
                each_relay_has_a_place_of_its_own,
            }
            asides {
                an_aggregate_waits_behind_its_refused_event,
                a_parked_event_waits_for_a_person,
                a_person_skips_or_edits_only_after_the_last_lease,
            }
            operate {
                a_stopped_lane_waits_for_a_person,
                it_is_counted_what_was_published_in_time,
                retention_takes_only_what_every_relay_has_passed,
                what_is_staged_after_a_prune_is_published,
                a_retired_relay_has_no_lanes_until_it_is_declared_again,
                a_rebased_relay_begins_anew,
            }
            replays {
                a_replay_sends_what_was_passed_and_is_within_its_bounds,
                a_replay_is_taken_over_from_its_last_page_and_closed_to_its_last_holder,
                a_replay_sends_the_edited_payload_and_leaves_alone_what_is_set_aside,
                a_cancelled_replay_is_closed_to_its_holder,
                replays_wait_for_each_other_and_there_are_few,
            }
        }
    };
}
