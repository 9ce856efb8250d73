//! Rust text as words, comments and string literals: just enough to tell them apart.

/// What a piece of Rust text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word,
    /// A comment, with its marks.
    Comment,
    /// The inside of a string literal, as written.
    Text,
    /// One character of punctuation.
    Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Where it begins, from 1.
    pub(super) line: usize,
}

impl Token<'_> {
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word
    }

    pub(super) fn is_mark(&self, mark: &str) -> bool {
        self.kind == Kind::Mark && self.text == mark
    }
}

/// The tokens of a file. Numbers, characters and lifetimes are left out: no rule asks for them.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { source, at: 0, line: 1, tokens: Vec::new() };
    while scanner.step() {}
    scanner.tokens
}

/// The tokens without the comments.
pub(super) fn code(source: &str) -> Vec<Token<'_>> {
    tokens(source).into_iter().filter(|token| token.kind != Kind::Comment).collect()
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    line: usize,
    tokens: Vec<Token<'a>>,
}

impl<'a> Scanner<'a> {
    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return false;
        };
        if rest.starts_with("//") {
            self.token(Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.token(Kind::Comment, block_comment(rest));
        } else if first == '"' {
            self.string();
        } else if first == '\'' {
            self.skip(character_or_lifetime(rest));
        } else if first.is_ascii_digit() {
            self.skip(word(rest));
        } else if is_word_part(first) {
            self.word_or_literal();
        } else if first.is_whitespace() {
            self.skip(first.len_utf8());
        } else {
            self.token(Kind::Mark, first.len_utf8());
        }
        true
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn skip(&mut self, length: usize) -> &'a str {
        let text = &self.rest()[..length];
        self.line += text.matches('\n').count();
        self.at += length;
        text
    }

    fn token(&mut self, kind: Kind, length: usize) {
        let line = self.line;
        let text = self.skip(length);
        self.tokens.push(Token { kind, text, line });
    }

    /// A word, or the prefix of a literal: `b"…"`, `r#"…"#`, `b'…'`, `r#type`.
    fn word_or_literal(&mut self) {
        let rest = self.rest();
        let length = word(rest);
        let (prefix, after) = rest.split_at(length);
        let hashes = after.len() - after.trim_start_matches('#').len();
        if matches!(prefix, "r" | "br" | "cr") && after[hashes..].starts_with('"') {
            self.skip(length + hashes);
            self.raw_string(hashes);
        } else if matches!(prefix, "b" | "c") && after.starts_with('"') {
            self.skip(length);
            self.string();
        } else if prefix == "b" && after.starts_with('\'') {
            self.skip(length);
            self.skip(character_or_lifetime(after));
        } else if prefix == "r" && hashes == 1 {
            self.skip(length + hashes);
        } else {
            self.token(Kind::Word, length);
        }
    }

    fn string(&mut self) {
        self.skip(1);
        self.token(Kind::Text, closing(self.rest(), '"'));
        self.skip(self.rest().len().min(1));
    }

    fn raw_string(&mut self, hashes: usize) {
        self.skip(1);
        let end = format!("\"{}", "#".repeat(hashes));
        let rest = self.rest();
        self.token(Kind::Text, rest.find(&end).unwrap_or(rest.len()));
        self.skip(self.rest().len().min(end.len()));
    }
}

fn is_word_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(text: &str) -> usize {
    text.find(|c| !is_word_part(c)).unwrap_or(text.len())
}

/// Block comments nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// How far it is to the closing quote, past escaped ones.
fn closing(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at;
        }
    }
    text.len()
}

/// `'a'` and `'\n'` are characters; `'a` without a closing quote is a lifetime.
fn character_or_lifetime(text: &str) -> usize {
    let inner = &text[1..];
    let mut chars = inner.chars();
    let first = chars.next();
    if first == Some('\\') || chars.next() == Some('\'') {
        return (1 + closing(inner, '\'') + 1).min(text.len());
    }
    1 + word(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str, kind: Kind) -> Vec<&str> {
        tokens(source).into_iter().filter(|token| token.kind == kind).map(|token| token.text).collect()
    }

    #[test]
    fn words_comments_and_text_are_told_apart() {
        let source = "let a = \"b // c\"; // d \"e\"\n/* f /* g */ h */ i";
        assert_eq!(of(source, Kind::Word), ["let", "a", "i"]);
        assert_eq!(of(source, Kind::Text), ["b // c"]);
        assert_eq!(of(source, Kind::Comment), ["// d \"e\"", "/* f /* g */ h */"]);
    }

    #[test]
    fn strings_of_every_form_are_text() {
        let source = r###"("a\"b", r"c\", r#"d"e"#, b"f", br##"g"#h"##, c"i", "")"###;
        assert_eq!(of(source, Kind::Text), [r#"a\"b"#, r"c\", "d\"e", "f", "g\"#h", "i", ""]);
        assert_eq!(of(source, Kind::Word), [""; 0]);
    }

    #[test]
    fn characters_and_lifetimes_do_not_open_strings() {
        let source = r#"fn f<'a>(x: &'a str) { ('"', '\'', b'"', '\u{1F600}', 'é'); 'outer: loop {} }"#;
        assert_eq!(of(source, Kind::Text), [""; 0]);
        assert_eq!(of(source, Kind::Word), ["fn", "f", "x", "str", "loop"]);
    }

    #[test]
    fn raw_names_are_names() {
        assert_eq!(of("r#type + radius", Kind::Word), ["type", "radius"]);
    }

    #[test]
    fn a_token_knows_the_line_it_begins_on() {
        let lines: Vec<_> =
            tokens("a\n\"b\nc\"\n/* d\n */ e").iter().map(|token| (token.text.len(), token.line)).collect();
        assert_eq!(lines, [(1, 1), (3, 2), (8, 4), (1, 5)]);
    }

    #[test]
    fn text_that_is_cut_off_ends_with_the_file() {
        for source in ["\"a", "r#\"a", "/* a", "'\\", "'", "b'"] {
            tokens(source);
        }
    }
}
