//! The list of a ledger's promises.

/// Makes a test of every promise of a ledger, on this harness.
#[macro_export]
macro_rules! ledger_suite {
    ($harness:ty) => {
        $crate::promises! { $harness; [ledger]
            claim {
                the_first_claim_is_granted_until_its_lease_and_its_deadline,
                a_completed_operation_is_replayed,
                a_final_failure_is_replayed_with_its_code,
                a_live_lease_is_in_flight_for_the_time_it_has_left,
                a_conflict_wins_over_every_other_answer,
                an_unknown_operation_is_granted_to_nobody,
                a_backoff_is_waited_out_and_then_granted_under_the_next_fence,
                a_lost_answer_is_asked_again_and_granted_under_the_same_fence,
                the_same_attempt_id_after_its_deadline_is_not_granted,
                a_claim_moves_an_expired_lease_by_its_policy,
                ids_are_told_apart_bytewise,
                an_id_of_1024_bytes_is_kept_whole,
                tenants_never_meet,
                kinds_never_meet,
                the_origin_is_kept_as_it_came,
                every_contract_is_read_back_as_it_was_granted,
                the_longest_memory_is_read_back,
                the_stricter_of_stored_and_present_terms_counts,
                a_duplicate_is_compared_in_the_stored_mode,
            }
            record {
                an_outcome_is_recorded_and_answered_with_where_it_stands,
                the_same_outcome_again_is_accepted_and_changes_nothing,
                another_outcome_is_refused_and_opens_an_incident,
                an_attempt_that_did_not_know_may_find_out,
                a_record_after_expiry_is_accepted_while_its_fence_holds,
                a_record_out_of_unknown_closes_its_incident,
                an_older_fence_is_late_evidence_and_suspects_a_duplicate,
                an_older_fence_that_did_not_take_hold_suspects_nothing,
                a_fence_that_was_never_granted_is_refused,
                a_fence_of_another_attempt_is_refused,
                a_financial_effect_is_completed_only_with_evidence,
                an_oversized_result_is_kept_as_its_digest,
                a_result_is_kept_bytewise,
                used_up_attempts_end_with_an_incident,
                a_final_technical_failure_opens_an_incident_and_a_business_answer_does_not,
                a_completed_record_after_a_wrong_answer_settles_it,
                a_completed_record_after_its_own_release_is_a_contradiction,
                an_unknown_record_after_its_own_release_is_a_contradiction,
                what_an_attempt_says_after_a_person_settled_it_is_kept,
                other_evidence_than_a_person_found_is_a_contradiction,
                a_late_report_leaves_the_line_that_it_adds_to,
                the_same_evidence_under_one_key_is_one_effect,
            }
            renew {
                a_renewed_lease_stays_live_beyond_its_first_end,
                a_lease_is_never_renewed_past_its_deadline,
                an_expired_lease_that_nobody_took_is_renewed,
                an_attempt_that_is_over_is_not_renewed,
                a_lease_of_another_is_not_renewed,
            }
            release {
                a_released_operation_is_granted_again_and_keeps_its_history,
                releasing_again_changes_nothing,
                what_is_over_is_not_released,
                a_grant_of_another_is_not_released,
                a_release_out_of_unknown_closes_its_incident,
                a_release_after_an_unknown_attempt_leaves_it_unknown,
                a_grant_whose_only_answer_was_not_handed_over_goes_back,
                a_grant_that_was_answered_twice_stays,
                a_grant_that_was_answered_twice_in_one_batch_stays,
                a_grant_that_was_renewed_stays,
                an_attempt_that_said_unknown_does_not_release,
            }
            sweep {
                a_lease_within_its_slack_is_left_alone,
                an_expired_lease_moves_by_its_policy,
                an_accepted_duplicate_tells_why_it_was_accepted,
                a_kind_that_nobody_knows_follows_its_stored_contract,
                a_key_that_may_be_forgotten_goes_to_a_person,
                an_overdue_retry_ends_with_an_incident,
                an_overdue_question_goes_to_a_person,
                a_dead_holder_leaves_other_leases_alone,
                a_dead_holder_is_settled_by_policy,
                a_sweep_moves_at_most_its_limit_and_says_that_there_is_more,
                the_limit_of_a_sweep_counts_every_reason,
                leases_within_a_long_slack_keep_nobody_from_being_swept,
            }
            reconcile {
                questions_are_due_when_their_time_has_come,
                took_hold_completes_the_operation,
                did_not_is_believed_only_after_settle,
                a_void_is_believed_at_once,
                an_answer_that_tells_nothing_is_asked_again_and_then_escalated,
                later_is_asked_again_when_it_says,
                an_answer_that_comes_too_late_is_stale,
                answers_are_written_together_and_judged_one_by_one,
                a_financial_effect_is_not_believed_without_evidence,
                an_answer_closes_the_incident_and_stands_in_the_story,
            }
            resolve {
                took_hold_completes_the_operation_and_closes_its_incident,
                did_not_happen_needs_settle_or_force,
                failed_is_final_under_the_code_given,
                a_financial_release_takes_two_people,
                a_financial_effect_needs_evidence_from_a_person_too,
                a_retry_is_given_only_where_nothing_took_hold,
                ask_now_makes_the_question_due,
                a_verb_is_refused_when_the_operation_moved_or_its_lease_lives,
                a_verb_without_a_reason_is_refused_alone,
                a_person_confirms_what_stands_and_closes_the_suspicion,
                a_waiting_operation_with_an_unknown_attempt_can_be_settled,
            }
            incident {
                every_field_is_kept_and_read_back,
                causes_join_the_one_open_incident_and_the_gravest_heads_it,
                a_graver_cause_takes_the_incident_over,
                a_closed_incident_stays_to_be_read,
                incidents_of_one_cause_are_one_group_headed_by_the_oldest,
                the_head_of_a_group_is_the_oldest_whatever_was_seen_last,
                incidents_are_found_by_every_filter,
                incidents_are_read_page_by_page,
            }
            read {
                operations_are_found_in_the_order_asked_for,
                operations_are_found_by_every_filter,
                operations_are_read_page_by_page,
                a_page_is_bounded,
                the_timeline_never_loses_a_crashed_attempt,
                a_takeover_keeps_how_the_attempt_before_it_ended,
                an_absent_operation_has_no_timeline,
                everything_survives_a_reopen,
                time_never_goes_back_when_the_clock_is_set_back,
                an_installation_has_one_owner_at_a_time,
            }
            prune {
                a_settled_operation_is_forgotten_when_its_time_is_over,
                what_is_open_is_never_forgotten,
                a_dry_run_changes_nothing,
                a_result_is_dropped_and_its_id_stays,
                a_kind_without_a_rule_is_kept,
                a_prune_takes_slices_and_says_that_there_is_more,
                what_is_open_in_front_keeps_nothing_behind_it,
                the_archive_has_everything_that_was_deleted,
                the_archive_has_the_results_that_were_dropped,
                what_is_not_in_the_archive_is_not_deleted,
                a_clock_that_jumps_ahead_for_seconds_deletes_nothing,
                a_clock_that_was_right_is_confirmed,
                a_failing_archive_deletes_nothing,
                a_forgotten_operation_takes_its_history_along,
            }
            batch {
                the_first_of_two_claims_in_one_batch_is_granted,
                a_mixed_batch_is_decided_in_order,
                a_step_that_cannot_be_decided_fails_alone,
                a_lone_step_is_answered_and_kept_like_a_batch_of_one,
                an_empty_batch_is_answered,
                of_64_claims_in_one_batch_one_is_granted,
                of_64_claims_at_once_one_is_granted,
                overlapping_batches_in_opposite_orders_all_end,
            }
            machine {
                the_store_and_the_model_give_the_same_answers,
            }
        }
    };
}
