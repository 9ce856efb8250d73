//! A public type name exists once in the workspace: two things under one name cost every reader a doubt.

use std::collections::BTreeMap;

use super::Finding;
use super::scan::{self, Kind, Token};
use super::tree::{File, Tree};

const DEFINES: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// Macros that make a public enum of `Name { … }`, or of `pub enum Name, "what it is" { … }`.
const DEFINING_MACROS: &[&str] = &["named", "words"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let mut public: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for file in tree.rust().filter(|file| is_source(&file.path)) {
        for (name, line, is_public) in defined(file) {
            if is_public {
                public.entry(name).or_default().push((&file.path, line));
            }
        }
    }
    for (name, places) in public.iter().filter(|(_, places)| places.len() > 1) {
        let (first, _) = places[0];
        for (path, line) in &places[1..] {
            let what = format!("a public type {name} exists already, in {first}");
            found.push(finding(path, *line, what, "give one of them a name of its own"));
        }
    }
    found
}

fn finding(path: &str, line: usize, what: String, fix: &'static str) -> Finding {
    Finding { path: path.to_owned(), line, what, fix }
}

fn is_source(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/")
}

/// Each type that a file defines at its top level: name, line, and whether every crate may name it.
pub(super) fn defined(file: &File) -> Vec<(&str, usize, bool)> {
    let code = scan::code(&file.text);
    let mut depth = 0_usize;
    let mut in_macro = false;
    let mut found = Vec::new();
    for at in 0..code.len() {
        if code[at].is_mark("{") {
            in_macro |= depth == 0 && opens_a_defining_macro(&code[..at]);
            depth += 1;
        } else if code[at].is_mark("}") {
            depth = depth.saturating_sub(1);
            in_macro &= depth > 0;
        }
        let of_macro = in_macro && depth == 1;
        if of_macro && begins_a_body(&code[at..]) {
            found.push((code[at].text, code[at].line, true));
        }
        let defines = (depth == 0 || of_macro) && code[at].kind == Kind::Word && DEFINES.contains(&code[at].text);
        let Some(name) = code.get(at + 1).filter(|next| defines && next.kind == Kind::Word) else { continue };
        let is_public = at > 0 && code[at - 1].is_word("pub");
        found.push((name.text, name.line, is_public));
    }
    found
}

/// Whether what was read so far ends with `named!` or the like.
fn opens_a_defining_macro(before: &[Token<'_>]) -> bool {
    matches!(before, [.., name, mark] if mark.is_mark("!") && DEFINING_MACROS.contains(&name.text))
}

/// Whether this is the `Name {` of a type.
fn begins_a_body(rest: &[Token<'_>]) -> bool {
    matches!(rest, [name, brace, ..]
        if name.kind == Kind::Word && name.text.starts_with(char::is_uppercase) && brace.is_mark("{"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, usize)> {
        check(&Tree::of(files)).into_iter().map(|finding| (finding.path, finding.line)).collect()
    }

    #[test]
    fn a_second_public_type_of_one_name_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "pub struct Outcome;\nstruct Outcomes;\n"),
            ("crates/b/src/lib.rs", "/// pub struct Outcome;\n\npub enum Outcome {}\n"),
        ];
        assert_eq!(found(&files), [("crates/b/src/lib.rs".to_owned(), 3)]);
    }

    #[test]
    fn private_types_associated_types_and_tests_may_share_a_name() {
        let files = [
            ("crates/a/src/lib.rs", "pub struct Row;\n"),
            ("crates/b/src/lib.rs", "struct Row;\npub(crate) struct Row2;\nimpl X for Y {\n    type Row = u8;\n}\n"),
            ("crates/b/tests/it/main.rs", "pub struct Row;\n"),
        ];
        assert_eq!(found(&files), []);
    }

    #[test]
    fn a_type_that_a_macro_makes_counts() {
        let files = [
            ("crates/a/src/lib.rs", "pub enum Answer { No }\n"),
            ("crates/b/src/lib.rs", "named! {\n    /// How it ended.\n    Answer {\n        No = \"NO\",\n    }\n}\n"),
            ("crates/b/src/http.rs", "words! {\n    pub enum Answer, \"an answer\" {\n    }\n}\n"),
            ("crates/c/src/lib.rs", "other! {\n    Answer {\n    }\n}\n"),
        ];
        assert_eq!(found(&files), [("crates/b/src/lib.rs".to_owned(), 3), ("crates/b/src/http.rs".to_owned(), 2)]);
    }
}
