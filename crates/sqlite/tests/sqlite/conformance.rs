//! One suite that every store passes.

onefold_conformance::suite!(crate::fixture::SqliteHarness);
