//! SQL lives in named files, where a test prepares it; not in strings.

use super::Finding;
use super::scan::{self, Kind, Token};
use super::tree::{File, Tree};

/// Statements that ask or change. What only frames them (`BEGIN`, `PRAGMA`, …) may stand in code.
const STATEMENTS: [&str; 8] = ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "WITH"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter(|file| is_product(&file.path)).flat_map(in_file).collect()
}

/// `crates/NAME/src/…`, but for modules of tests.
fn is_product(path: &str) -> bool {
    let mut folders = path.split('/');
    let in_src = folders.next() == Some("crates") && folders.nth(1) == Some("src");
    in_src && !folders.any(|name| matches!(name, "tests" | "tests.rs") || name.ends_with("_tests.rs"))
}

fn in_file(file: &File) -> Vec<Finding> {
    let finding = |token: &Token<'_>| Finding {
        path: file.path.clone(),
        line: token.line,
        what: "a string holds SQL".to_owned(),
        fix: "put it in a named file in queries/ or migrations/",
    };
    let code = scan::code(&file.text);
    without_tests(&code).filter(|token| is_statement(token)).map(finding).collect()
}

fn is_statement(token: &Token<'_>) -> bool {
    token.kind == Kind::Text
        && STATEMENTS.iter().any(|statement| {
            begin(token.text).strip_prefix(statement).is_some_and(|rest| rest.starts_with([' ', '\n', '\t', '\\']))
        })
}

/// The text past blanks, written or escaped.
fn begin(text: &str) -> &str {
    let trimmed = text.trim_start();
    let escaped = ["\\n", "\\t", "\\r", "\\\n"].iter().find_map(|blank| trimmed.strip_prefix(blank));
    escaped.map_or(trimmed, begin)
}

/// The tokens outside `#[cfg(test)] mod … { … }`.
fn without_tests<'a>(code: &'a [Token<'a>]) -> impl Iterator<Item = &'a Token<'a>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if let Some(length) = test_module(&code[at..]) {
            at += length;
        }
        let token = code.get(at)?;
        at += 1;
        Some(token)
    })
}

/// How many tokens the module of tests takes that begins here.
fn test_module(code: &[Token<'_>]) -> Option<usize> {
    const OPENING: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let opens = code.len() > OPENING.len() && code.iter().zip(OPENING).all(|(token, text)| token.text == text);
    if !opens || !code[OPENING.len()].is_word("mod") {
        return None;
    }
    let mut depth = 0_usize;
    for (at, token) in code.iter().enumerate().skip(OPENING.len()) {
        if token.is_mark("{") {
            depth += 1;
        } else if token.is_mark("}") {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 && (token.is_mark("}") || token.is_mark(";")) {
            return Some(at + 1);
        }
    }
    Some(code.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRODUCT: &str = "crates/sqlite/src/ledger.rs";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_statement_in_a_string_is_reported() {
        let text =
            "f(\"SELECT 1\");\nf(r#\"\n  UPDATE x SET y = 1\"#);\nf(\"\\n DELETE FROM x\");\nf(\"WITH\n a AS\");";
        assert_eq!(lines(PRODUCT, text), [1, 2, 4, 5]);
    }

    #[test]
    fn what_frames_statements_may_stand_in_code() {
        for text in ["PRAGMA user_version", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", "SAVEPOINT a", "RELEASE a"] {
            assert_eq!(lines(PRODUCT, &format!("f(\"{text}\");")), [0; 0], "{text}");
        }
    }

    #[test]
    fn words_that_only_begin_alike_are_not_a_statement() {
        assert_eq!(lines(PRODUCT, "f(\"Select a file\"); f(\"UPDATED\"); f(\"SELECT\"); // SELECT 1"), [0; 0]);
    }

    #[test]
    fn tests_may_ask_the_database_directly() {
        let text = "#[cfg(test)]\nmod tests {\n fn a() { f(\"SELECT 1\") }\n}\nfn b() { f(\"SELECT 2\") }";
        assert_eq!(lines(PRODUCT, text), [5]);
        assert_eq!(lines("crates/sqlite/tests/store.rs", "f(\"SELECT 1\")"), [0; 0]);
        assert_eq!(lines("crates/sqlite/src/ledger/tests.rs", "f(\"SELECT 1\")"), [0; 0]);
    }

    #[test]
    fn a_module_of_tests_in_a_file_of_its_own_hides_nothing() {
        assert_eq!(lines(PRODUCT, "#[cfg(test)]\nmod tests;\nfn b() { f(\"SELECT 2\") }"), [3]);
    }
}
