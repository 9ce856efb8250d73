//! Nothing is left out quietly: no ignored test, no placeholder.

use super::Finding;
use super::scan::{self, Token};
use super::tree::{File, Tree};

const PLACEHOLDERS: [&str; 2] = ["todo", "unimplemented"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    let code = scan::code(&file.text);
    let finding =
        |token: &Token<'_>, what: String, fix| Finding { path: file.path.clone(), line: token.line, what, fix };
    let mut found = Vec::new();
    for (at, token) in code.iter().enumerate() {
        let rest = &code[at + 1..];
        if token.is_mark("#") && ignores(rest) {
            found.push(finding(token, "a test is ignored".to_owned(), "make it run, or take it out"));
        }
        let is_placeholder = PLACEHOLDERS.iter().any(|name| token.is_word(name));
        if is_placeholder && rest.first().is_some_and(|next| next.is_mark("!")) {
            found.push(finding(
                token,
                format!("`{}!` is a placeholder", token.text),
                "write it, or answer with an error",
            ));
        }
    }
    found
}

/// `[ignore…]`, or `[cfg_attr(…, ignore…)]`.
fn ignores(attribute: &[Token<'_>]) -> bool {
    let [bracket, name, ..] = attribute else {
        return false;
    };
    let mut inside = attribute.iter().take_while(|token| !token.is_mark("]"));
    bracket.is_mark("[")
        && (name.is_word("ignore") || (name.is_word("cfg_attr") && inside.any(|token| token.is_word("ignore"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Tree::of(&[("a.rs", text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn an_ignored_test_is_reported_however_it_is_ignored() {
        assert_eq!(lines("#[test]\n#[ignore]\nfn a() {}"), [2]);
        assert_eq!(lines("#[ignore = \"slow\"]\nfn a() {}"), [1]);
        assert_eq!(lines("#[cfg_attr(windows, ignore)]\nfn a() {}"), [1]);
    }

    #[test]
    fn a_placeholder_is_reported() {
        assert_eq!(lines("fn a() { todo!() }\nfn b() { unimplemented!(\"b\") }"), [1, 2]);
    }

    #[test]
    fn the_words_alone_are_not_a_placeholder() {
        assert_eq!(lines("// todo!() #[ignore]\nlet todo = \"todo!()\"; ignore(todo);"), [0; 0]);
        assert_eq!(lines("#[serde(ignore)]\nstruct A;"), [0; 0]);
    }
}
