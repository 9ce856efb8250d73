//! What every store promises: each capability has its list, and this makes a test of every line.

/// Makes a test of every promise, on this harness.
#[macro_export]
macro_rules! suite {
    ($harness:ty) => {
        $crate::ledger_suite! { $harness }
        $crate::promises! { $harness; []
            announcements {
                an_opened_incident_is_announced_until_it_is_delivered,
                a_closing_is_announced_where_the_opening_was,
                one_process_at_a_time_has_the_turn,
            }
            incidents {
                one_subject_has_one_open_incident,
                processes_that_open_an_incident_at_once_open_one,
                subjects_of_one_name_never_meet,
                an_incident_about_a_dependency_is_announced,
            }
            registry {
                the_first_declaration_of_a_kind_stands,
                a_token_is_replaced_by_its_name_and_can_be_dropped,
                who_looked_stands_in_the_timeline,
                what_waits_for_a_person_is_counted_by_category,
            }
        }
    };
}

/// Makes a test of each of these promises; called by [`suite!`](crate::suite).
#[doc(hidden)]
#[macro_export]
macro_rules! promises {
    ($harness:ty; $at:tt $($room:ident { $($promise:ident,)+ })+) => {$(
        mod $room {
            #[allow(unused_imports, reason = "the harness may be named by a path from its crate's root")]
            use super::*;

            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $promise() {
                    $crate::promise!($at $room $promise $harness).await;
                }
            )+
        }
    )+};
}

/// One promise, of a capability's room or of a room of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! promise {
    ([] $room:ident $promise:ident $harness:ty) => {
        $crate::$room::$promise::<$harness>()
    };
    ([$capability:ident] $room:ident $promise:ident $harness:ty) => {
        $crate::$capability::$room::$promise::<$harness>()
    };
}

#[cfg(test)]
mod tests {
    /// A promise that is not in the list would never be tested.
    #[test]
    fn every_promise_is_in_the_list() {
        let list = concat!(include_str!("suite.rs"), include_str!("ledger/suite.rs"), include_str!("outbox/suite.rs"));
        let rooms = [
            include_str!("ledger/claim.rs"),
            include_str!("ledger/record.rs"),
            include_str!("ledger/renew.rs"),
            include_str!("ledger/release.rs"),
            include_str!("ledger/sweep.rs"),
            include_str!("ledger/reconcile.rs"),
            include_str!("ledger/resolve.rs"),
            include_str!("ledger/incident.rs"),
            include_str!("ledger/read.rs"),
            include_str!("ledger/prune.rs"),
            include_str!("ledger/batch.rs"),
            include_str!("registry.rs"),
            include_str!("announcements.rs"),
            include_str!("incidents.rs"),
            include_str!("ledger/machine.rs"),
            include_str!("outbox/staging.rs"),
            include_str!("outbox/pages.rs"),
            include_str!("outbox/asides.rs"),
            include_str!("outbox/operate.rs"),
        ];
        let promises = rooms.iter().flat_map(|room| room.lines()).filter_map(|line| {
            line.strip_prefix("pub async fn ")?
                .split_once("Harness>()")
                .map(|(name, _)| name.split('<').next().unwrap_or(name))
        });
        let mut count = 0;
        for promise in promises {
            assert!(list.contains(&format!(" {promise},")), "{promise} is not in the list");
            count += 1;
        }
        assert!(count > 80, "{count} promises");
    }
}
