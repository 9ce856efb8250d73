//! Comments, messages and pages say it the short, usual way.
//!
//! What is looked for are phrases that read as translated. A phrase is found across the ends of lines, in comments and
//! string literals of Rust files, in Markdown pages, and in the names that are given in Rust.

use std::path::Path;

use super::Finding;
use super::scan::{self, Kind};
use super::tree::{File, Tree};

/// A phrase, word by word, and what to write instead.
struct Phrase {
    words: &'static [&'static str],
    instead: &'static str,
}

const fn phrase(words: &'static [&'static str], instead: &'static str) -> Phrase {
    Phrase { words, instead }
}

const SAY_IN_FLIGHT: &str = "say in flight, or running";
const SAY_FIXED: &str = "say fixed";
const NAME_THEM: &str = "name who it is: the lease holder, the caller";

const PHRASES: &[Phrase] = &[
    phrase(&["whoever"], NAME_THEM),
    phrase(&["nobody", "can", "know"], "say it is unknown whether"),
    phrase(&["nobody", "knows", "whether"], "say it is unknown whether"),
    phrase(&["nobody", "waits", "beside"], "say when there is no other caller"),
    phrase(&["mend"], SAY_FIXED),
    phrase(&["mends"], SAY_FIXED),
    phrase(&["mended"], SAY_FIXED),
    phrase(&["belongs", "into"], "say belongs in"),
    phrase(&["belong", "into"], "say belong in"),
    phrase(&["under", "way"], SAY_IN_FLIGHT),
    phrase(&["as", "it", "stands", "now"], "say now, or the current state"),
    phrase(&["began", "as", "may"], "give the limit: rate limit exceeded: 100 calls per second"),
];

/// Before `no`, where a plain sentence says "is not a".
const VERBS: [&str; 4] = ["is", "are", "was", "were"];
/// After `no`, where "is no" is usual.
const USUAL: &[&str] = &["longer", "more", "less", "fewer", "better", "worse", "different", "one", "further", "such"];
const SAY_NOT_A: &str = "say is not a";

/// The rule's own phrases.
const OWN: &str = "xtask/src/tidy/prose.rs";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().filter(|file| file.path != OWN).flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    let extension = Path::new(&file.path).extension().and_then(|extension| extension.to_str());
    let texts = match extension {
        Some("rs") => in_rust(&file.text),
        Some("md") => vec![words(&file.text, 1)],
        Some(_) | None => Vec::new(),
    };
    let found = texts.iter().flat_map(|text| retired(text));
    found
        .map(|(line, says, fix)| Finding { path: file.path.clone(), line, what: format!("the text says {says}"), fix })
        .collect()
}

/// A word in lower case, without the marks around it.
struct Word {
    text: String,
    line: usize,
    /// Whether a sentence or a part of one ends here.
    ends: bool,
}

/// The texts of a file: each string literal, and comments on consecutive lines as one.
fn in_rust(source: &str) -> Vec<Vec<Word>> {
    let mut texts: Vec<Vec<Word>> = Vec::new();
    let mut comment_until = None;
    for token in scan::tokens(source) {
        let more = match token.kind {
            Kind::Comment | Kind::Text => words(token.text, token.line),
            Kind::Word | Kind::Mark => continue,
        };
        let continues = token.kind == Kind::Comment && comment_until == Some(token.line);
        match texts.last_mut().filter(|_| continues) {
            Some(text) => text.extend(more),
            None => texts.push(more),
        }
        comment_until = (token.kind == Kind::Comment).then_some(token.line + 1);
    }
    texts
}

fn words(text: &str, first_line: usize) -> Vec<Word> {
    let marks = |c: char| !c.is_alphanumeric();
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for raw in line.split_whitespace() {
            let text = raw.trim_matches(marks).to_lowercase();
            // A dash or the mark of a comment between two words.
            if text.is_empty() {
                continue;
            }
            found.push(Word { text, line: first_line + at, ends: raw.ends_with(marks) });
        }
    }
    found
}

/// Where the words say something that is retired, what they say, and what to write instead.
fn retired(words: &[Word]) -> Vec<(usize, String, &'static str)> {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let together = |at: usize, length: usize| words[at..at + length - 1].iter().all(|word| !word.ends);
    (0..words.len())
        .filter_map(|at| {
            let (length, fix) = retired_at(&texts, at)?;
            together(at, length).then(|| (words[at].line, texts[at..at + length].join(" "), fix))
        })
        .collect()
}

/// What the parts of a name say that is retired, and what to write instead.
pub(super) fn retired_in_name(parts: &[String]) -> Option<(String, &'static str)> {
    let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
    (0..texts.len()).find_map(|at| {
        let (length, fix) = retired_at(&texts, at)?;
        Some((texts[at..at + length].join(" "), fix))
    })
}

/// How many of the words from here on are retired.
fn retired_at(words: &[&str], at: usize) -> Option<(usize, &'static str)> {
    let rest = &words[at..];
    if let Some(phrase) = PHRASES.iter().find(|phrase| rest.starts_with(phrase.words)) {
        return Some((phrase.words.len(), phrase.instead));
    }
    let there = at > 0 && words[at - 1] == "there";
    match rest {
        [verb, "no", what, ..] if VERBS.contains(verb) && !there && !USUAL.contains(what) => Some((3, SAY_NOT_A)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_phrase_is_found_in_comments_strings_pages_and_names() {
        for phrase in PHRASES {
            let said = phrase.words.join(" ");
            assert_eq!(found("a.rs", &format!("struct X;\n/// So {said} here.\n")), [2], "{said}");
            assert_eq!(found("a.rs", &format!("const X: &str = \"{said}\";")), [1], "{said}");
            assert_eq!(found("docs/a.md", &format!("# A\n\nSo {said}.\n")), [3], "{said}");
            let parts: Vec<String> = phrase.words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(retired_in_name(&parts), Some((said, phrase.instead)));
        }
    }

    #[test]
    fn what_is_not_a_thing_is_not_said_to_be_no_thing() {
        for said in ["{text:?} is no duration", "these are no codes", "It was no answer", "they were no answers"] {
            assert_eq!(found("a.rs", &format!("const X: &str = \"{said}\";")), [1], "{said}");
        }
    }

    #[test]
    fn the_usual_ways_to_say_no_stay() {
        for said in [
            "there is no route",
            "There are no aliases",
            "it is no longer sent",
            "that is no more than 3",
            "it has no id",
        ] {
            assert_eq!(found("a.rs", &format!("const X: &str = \"{said}\";")), [0; 0], "{said}");
        }
        assert_eq!(found("a.rs", "// That is. No file is read.\n"), [0; 0]);
        assert_eq!(found("a.rs", "// the answer is \"no\" here\n// it is `no` too\n"), [0; 0]);
    }

    #[test]
    fn a_phrase_is_found_across_the_end_of_a_line() {
        assert_eq!(found("a.rs", "/// A text that is\n/// no number.\nstruct X;\n"), [1]);
        assert_eq!(found("docs/a.md", "It is under\nway.\n"), [1]);
        assert_eq!(found("a.rs", "// it is\n\nfn f() {}\n// no way\n"), [0; 0]);
    }

    #[test]
    fn names_are_read_by_their_parts() {
        let parts = |name: &str| name.split('_').map(str::to_owned).collect::<Vec<_>>();
        assert!(retired_in_name(&parts("a_list_is_no_object")).is_some());
        assert!(retired_in_name(&parts("there_is_no_gateway")).is_none());
    }

    #[test]
    fn other_files_may_say_anything() {
        assert_eq!(found("a.snap", "it is under way\n"), [0; 0]);
    }
}
