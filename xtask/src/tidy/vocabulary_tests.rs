use super::*;

fn found(path: &str, text: &str) -> Vec<(String, usize)> {
    check(&Tree::of(&[(path, text)])).into_iter().map(|finding| (finding.path, finding.line)).collect()
}

fn lines(text: &str) -> Vec<usize> {
    found("a.rs", text).into_iter().map(|(_, line)| line).collect()
}

/// The promise in two words, put together here so that this file does not make it.
fn promise(between: &str) -> String {
    PROMISE.parts.join(between)
}

#[test]
fn a_word_within_a_name_is_reported_however_it_is_written() {
    for name in ["JobManager", "job_manager", "HTTPManager", "MANAGER", "managers", "test_util", "Utils"] {
        assert_eq!(lines(&format!("struct {name};")), [1], "{name}");
    }
}

#[test]
fn a_word_that_only_contains_it_is_not() {
    for name in ["manage", "commonplace", "uncommon", "utilisation", "Helpful", "process", "execute"] {
        assert_eq!(lines(&format!("struct {name};")), [0; 0], "{name}");
    }
}

#[test]
fn the_promise_is_reported_in_names_comments_and_strings() {
    assert_eq!(lines(&format!("fn {}() {{}}", promise("_"))), [1]);
    assert_eq!(lines(&format!("struct X;\n// delivers {}", promise(" "))), [2]);
    assert_eq!(lines(&format!("const X: &str = \"\nruns {} here\";", promise("-"))), [2]);
}

#[test]
fn other_words_may_stand_in_comments_and_strings() {
    assert_eq!(lines("// the transaction manager\nconst X: &str = \"util\";"), [0; 0]);
    assert_eq!(lines("// exactly one, and only once"), [0; 0]);
}

#[test]
fn only_the_lock_that_means_lease_is_reported() {
    assert_eq!(lines("struct S { lock_until: u64,\nlock_owner: u8 }\nfn acquire_lock() {}"), [1, 2, 3]);
    assert_eq!(lines("let lock = mutex.lock();"), [0; 0]);
}

#[test]
fn names_of_other_crates_are_not_ours_to_choose() {
    assert_eq!(
        lines("use sqlx::{Acquire, Executor};\nfn f<E: Executor>(e: E) { tokio_util::x(); e.executor() }"),
        [0; 0]
    );
}

#[test]
fn a_new_name_given_in_an_import_is_ours() {
    assert_eq!(lines("use sqlx::Pool as PoolManager;"), [1]);
}

#[test]
fn a_retired_name_is_found_on_any_type_and_any_file() {
    for (name, _) in RETIRED_TYPES {
        assert_eq!(lines(&format!("pub(crate) struct {name};")), [1], "{name}");
        assert_eq!(lines(&format!("struct {name}Body;\nlet x = other::{name};")), [0; 0], "{name}");
    }
    for (name, _) in RETIRED_FILES {
        assert_eq!(found(&format!("crates/a/tests/it/{name}.rs"), "").len(), 1, "{name}");
        assert_eq!(found(&format!("crates/a/tests/it/{name}_check.rs"), "").len(), 0, "{name}");
    }
}

#[test]
fn a_name_says_it_as_prose_does() {
    assert_eq!(lines("fn a_list_is_no_object() {}\nfn there_is_no_route() {}"), [1]);
    assert_eq!(lines("struct S {\n    under_way: usize,\n}"), [2]);
}

#[test]
fn a_captured_lifetime_is_not_an_import() {
    assert_eq!(lines("fn f() -> impl Sized + use<> { let helper = 1; helper }"), [1, 1]);
}

#[test]
fn a_file_or_folder_is_reported_by_its_own_path() {
    assert_eq!(found("crates/common/src/lib.rs", ""), [("crates/common".to_owned(), 1)]);
    assert_eq!(found("crates/core/src/job_utils.rs", ""), [("crates/core/src/job_utils.rs".to_owned(), 1)]);
}

#[test]
fn files_that_are_not_rust_may_have_any_name() {
    assert_eq!(found("docs/common.md", &promise(" ")), []);
}
