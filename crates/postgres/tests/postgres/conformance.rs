//! One suite that every store passes.

onefold_conformance::suite!(crate::fixture::PostgresHarness);
onefold_conformance::outbox_suite!(crate::fixture::PostgresHarness);
