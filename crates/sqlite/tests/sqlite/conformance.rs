//! One suite that every store passes.

onefold_conformance::suite!(crate::fixture::SqliteHarness);
onefold_conformance::outbox_suite!(crate::fixture::SqliteHarness);
