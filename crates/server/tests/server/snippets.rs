//! Every snippet of the README and the guides does what its page shows.
//!
//! | block | what is checked |
//! |---|---|
//! | `console` | its `$ ` lines are run by a shell, a page in one folder, and print what the page shows |
//! | `console no-run` | not run; a comment before it says why |
//! | `toml` | the server takes it as its configuration, and the page's later commands find it as `onefold.toml` |
//! | `json` | it is JSON |
//! | `rust` | its lines stand in code that is compiled |
//! | `text` | nothing: it is not a snippet |

mod pages;
mod shell;

use onefold_core::call::{CallMeaning, CallOutcome, GrpcStatus, Promises, Sent, judge};
use pages::{Block, Page, pages, root};
use shell::{Shell, fits};

use crate::fixture::Workdir;

/// Blocks that are not run. Let it shrink.
const NOT_RUN: usize = 7;

/// Where the lines of `rust` blocks stand: documentation that is compiled, and examples.
const CODE: [&str; 3] = ["crates/onefold/src", "examples/orders/src", "examples/case/src"];

fn blocks(language: &str) -> Vec<Block> {
    pages().into_iter().flat_map(|page| page.blocks).filter(|block| block.language == language).collect()
}

#[test]
fn every_block_is_of_a_language_that_is_checked_and_says_why_it_is_not_run() {
    let known = ["console", "console no-run", "toml", "json", "rust", "text"];
    for block in pages().iter().flat_map(|page| &page.blocks) {
        assert!(known.contains(&block.language.as_str()), "{}: {:?} is none of {known:?}", block.at, block.language);
    }
    let not_run = blocks("console no-run");
    for block in &not_run {
        let why = block.before.starts_with("<!-- not run: ") && block.before.ends_with(" -->");
        assert!(why, "{}: write <!-- not run: why --> before it, not {:?}", block.at, block.before);
    }
    let listed: Vec<_> = not_run.iter().map(|block| block.at.as_str()).collect();
    assert_eq!(not_run.len(), NOT_RUN, "these are not run: {listed:?}");
}

/// Runs a page from top to bottom; what it shows and is not so.
fn lies(page: &Page) -> Vec<String> {
    let mut shell = Shell::new();
    let mut lies = Vec::new();
    for block in &page.blocks {
        match block.language.as_str() {
            "toml" => shell.configure(&block.text),
            "console" => {
                for step in block.steps() {
                    if let Some(printed) = shell.run(&step) {
                        lies.push(format!(
                            "{}\n$ {}\n--- shown\n{}--- printed\n{printed}",
                            block.at, step.command, step.shown
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    lies
}

#[test]
fn commands_print_what_the_pages_show() {
    let lies: Vec<String> = pages().iter().flat_map(lies).collect();
    assert!(lies.is_empty(), "{}", lies.join("\n\n"));
}

#[test]
fn what_is_shown_must_be_what_is_printed() {
    let rows = [
        ("done\n", "done\n", true),
        ("done\n", "done\nand more\n", false),
        ("done\n", "", false),
        ("", "an error\n", false),
        ("a … c\n", "a b c\n", true),
        ("a … c\n", "a b\n", false),
        ("…\nlast\n", "one\ntwo\nlast\n", true),
        ("…\nlast\n", "one\ntwo\n", false),
        ("at 2026-11-16 00:44:51\n", "at 2027-01-02 03:04:05\n", true),
    ];
    for (shown, printed, expected) in rows {
        assert_eq!(fits(shown, printed), expected, "{shown:?} {printed:?}");
    }
}

#[test]
fn configuration_is_taken_and_json_is_json() {
    for block in blocks("toml") {
        let ran = Workdir::with_config(&block.text).run(&["config"]);
        assert_eq!(ran.code, Some(0), "{}: {}", block.at, ran.err());
    }
    for block in blocks("json") {
        let read = serde_json::Deserializer::from_str(&block.text).into_iter::<serde_json::Value>();
        let values: Result<Vec<_>, _> = read.collect();
        assert!(values.is_ok_and(|values| !values.is_empty()), "{} is not JSON", block.at);
    }
}

/// Code without comments and layout, so that it can be found whatever its indentation.
fn bare(code: &str) -> String {
    let lines = code.lines().map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("//! ").map_or(line, |line| line.strip_prefix("# ").unwrap_or(line));
        if line.starts_with("//") { "" } else { line.split(" // ").next().unwrap_or_default() }
    });
    let text: String = lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
    text.replace(",)", ")").replace(",}", "}").replace(",]", "]")
}

/// Whether the parts stand in the code, in this order.
fn has_in_order(code: &str, parts: &str) -> bool {
    let mut rest = code;
    parts.split('…').all(|part| {
        let found = rest.find(part).map(|at| &rest[at + part.len()..]);
        rest = found.unwrap_or(rest);
        found.is_some()
    })
}

#[test]
fn rust_stands_in_code_that_is_compiled() {
    let files = CODE.iter().flat_map(|folder| std::fs::read_dir(root().join(folder)).unwrap());
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    // An example may stand in the documentation of an item, too.
    let code: Vec<String> = texts.flat_map(|text| [bare(&text), bare(&text.replace("/// ", "//! "))]).collect();
    for block in blocks("rust") {
        for paragraph in block.text.split("\n\n") {
            let parts = bare(paragraph);
            let found = code.iter().any(|code| has_in_order(code, &parts));
            assert!(found, "{}: this stands in none of {CODE:?}:\n{paragraph}", block.at);
        }
    }
}

#[test]
fn the_guide_has_every_key_of_a_kind() {
    let refused = Workdir::with_config("[kind.k]\nclass = \"pure\"\nno_such_key = 1\n").run(&["config"]).err();
    let (_, keys) = refused.split_once("expected one of ").expect(&refused);
    let keys: Vec<&str> = keys.lines().next().unwrap().split('`').skip(1).step_by(2).collect();
    assert!(keys.len() > 10, "{refused}");
    let guide = pages().into_iter().find(|page| page.name == "docs/guides/configuration.md").unwrap().text;
    for key in keys {
        assert!(guide.contains(&format!("\n| `{key}")), "{key} has no row in docs/guides/configuration.md");
    }
}

#[test]
fn the_guide_says_what_every_grpc_status_means() {
    let guide = pages().into_iter().find(|page| page.name == "docs/guides/idempotency-key.md").unwrap().text;
    let (_, said) = guide.split_once("Answers are judged by `grpc-status`: ").unwrap();
    let said: Vec<&str> = said.split("trailers too").next().unwrap().split(';').collect();
    for status in GrpcStatus::ALL {
        let means = match judge(CallOutcome::Grpc(*status), Sent::Something, &Promises::default()) {
            CallMeaning::NotSent(_) | CallMeaning::NotApplied(_) => "leave the key usable",
            CallMeaning::Unknown(_) | CallMeaning::StillRunning => "are unknown",
            // A client's own request, passed on, is the client's to fix.
            CallMeaning::Broken(_) | CallMeaning::Final | CallMeaning::Business(_) => "are final and replayed",
        };
        let named = |part: &&&str| part.split([' ', ',']).any(|word| word == status.as_str());
        let named: Vec<_> = said.iter().filter(named).collect();
        assert!(named.len() == 1 && named[0].contains(means), "{status}: {means}, but the guide says {named:?}");
    }
}

#[test]
fn a_kind_in_double_brackets_is_told_what_to_write() {
    let refused = Workdir::with_config("[[kind]]\nname = \"a\"\nclass = \"pure\"\n").run(&["config"]);
    assert!(refused.err().contains("write [kind.\"NAME\"] for each kind"), "{}", refused.err());
    let refused = Workdir::with_config("[route]\nname = \"a\"\n").run(&["config"]);
    assert!(refused.err().contains("write [[route]]"), "{}", refused.err());
}
