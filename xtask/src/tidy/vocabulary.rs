//! No name uses a word that the vocabulary leaves out, and no type or file has a name that was retired.
//!
//! A name is reported where it is given, not where it is used: names in `use`,
//! in paths and after a dot were given elsewhere, and where that is another
//! crate they are not ours to choose.

use std::collections::BTreeSet;

use super::Finding;
use super::prose;
use super::public_names::defined;
use super::scan::{self, Kind, Token};
use super::tree::{File, Tree};

/// A word that is not used, as the parts of a name, and what to do instead.
struct Unused {
    parts: &'static [&'static str],
    instead: &'static str,
}

const fn unused(parts: &'static [&'static str], instead: &'static str) -> Unused {
    Unused { parts, instead }
}

const SAYS_NOTHING: &str = "name it by what it does";
const SAY_LEASE: &str = "say lease";
const SAY_FIXTURE: &str = "what a test stands on is a fixture";
const SAY_EFFECTIVELY: &str = "say effectively once, or take hold once";

const PROMISE: Unused = unused(&["exactly", "once"], SAY_EFFECTIVELY);

const UNUSED: &[Unused] = &[
    PROMISE,
    unused(&["manager"], SAYS_NOTHING),
    unused(&["helper"], SAYS_NOTHING),
    unused(&["util"], SAYS_NOTHING),
    unused(&["common"], SAYS_NOTHING),
    unused(&["processor"], SAYS_NOTHING),
    unused(&["executor"], SAYS_NOTHING),
    unused(&["acquire", "lock"], SAY_LEASE),
    unused(&["lock", "until"], SAY_LEASE),
    unused(&["lock", "owner"], SAY_LEASE),
];

/// Names that a type had and must not have again, and the field's word for it.
const RETIRED_TYPES: &[(&str, &str)] = &[
    ("Act", "say LedgerWrite"),
    ("Around", "say CommitPoint"),
    ("Book", SAY_FIXTURE),
    ("Concluded", "say AttemptReport"),
    ("Connected", "say Connection"),
    ("Contract", "say EffectContract"),
    ("Crew", SAY_FIXTURE),
    ("Door", SAY_FIXTURE),
    ("Ended", "say what ended: AttemptReport, CommandExit"),
    ("Ending", "say EffectResult"),
    ("Entrance", "say AdmissionGuard"),
    ("Fate", "say CommitResult"),
    ("Flights", "say InFlightMap"),
    ("Fresh", "say FastPath"),
    ("Front", "say Batcher"),
    ("Grip", "say LeaseToken"),
    ("Heard", "name what was heard"),
    ("Held", "name what is held"),
    ("HeldLease", "say LeaseHandle"),
    ("Hold", "say InstallationLock"),
    ("Home", SAY_FIXTURE),
    ("How", "name what it tells"),
    ("Keep", "say LedgerMaintenance"),
    ("Kept", "name what is kept"),
    ("Landed", "say InFlightResult"),
    ("Lent", "say ReplayableBody"),
    ("Look", "say LedgerRead"),
    ("Looked", "name what it looks at"),
    ("Moving", "say LockedRows"),
    ("OutsideClaim", "say RemoteClaim"),
    ("Over", "name what is over"),
    ("Pass", "say Permit"),
    ("Performing", "say RunningAttempt"),
    ("Places", "say Permits"),
    ("Proved", "say DigestCheckedBody"),
    ("Reach", "say WeakBatcher"),
    ("Reached", "name what is reached"),
    ("Rest", "say PrefixedBody"),
    ("Room", "say Permits, WaitList or BufferReservation"),
    ("Said", "name what was said"),
    ("Scene", SAY_FIXTURE),
    ("Share", "say Registry"),
    ("Silence", "say NoResult"),
    ("Stage", SAY_FIXTURE),
    ("Taking", "say ClaimInput"),
    ("Taken", "name what is taken"),
    ("Terms", "say KindSpec"),
    ("Then", "name what comes next"),
    ("Timed", "put the duration into the struct that is timed"),
    ("Told", "name what was told"),
    ("Unanswered", "say NoResponse"),
    ("Waited", "name what waited"),
    ("Whole", "say BufferedBody"),
    ("WhyOver", "say RetryEnd"),
];

/// Files and folders that must not come back under these names.
const RETIRED_FILES: &[(&str, &str)] = &[
    ("book", SAY_FIXTURE),
    ("crew", SAY_FIXTURE),
    ("door", "say handler, or fixture in a test"),
    ("hop", "say hop_by_hop"),
    ("home", SAY_FIXTURE),
    ("lent", "say replayable_body"),
    ("scene", SAY_FIXTURE),
    ("strict", "say head_check"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found: Vec<Finding> = tree.rust().flat_map(|file| in_path(&file.path)).collect();
    for file in tree.rust() {
        found.extend(in_names(file));
        found.extend(retired_types(file));
        found.extend(in_prose(file));
    }
    found
}

/// Types whose name was retired, private ones and those of tests included.
fn retired_types(file: &File) -> Vec<Finding> {
    let retired = |name: &str| RETIRED_TYPES.iter().find(|(word, _)| *word == name);
    defined(file)
        .into_iter()
        .filter_map(|(name, line, _)| {
            let (_, fix) = retired(name)?;
            Some(Finding { path: file.path.clone(), line, what: format!("the type name {name} is retired"), fix })
        })
        .collect()
}

/// Each file and folder on the way, so that a folder is reported once and not per file.
fn in_path(path: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
        let here = &path[..end];
        let name = here.rsplit('/').next().unwrap_or(here);
        if let Some(unused) = unused_in(name) {
            let what = format!("the name `{name}` says {}", unused.parts.join(" "));
            found.push(Finding { path: here.to_owned(), line: 1, what, fix: unused.instead });
        }
        let stem = name.strip_suffix(".rs").unwrap_or(name);
        if let Some((_, fix)) = RETIRED_FILES.iter().find(|(word, _)| *word == stem) {
            found.push(Finding { path: here.to_owned(), line: 1, what: format!("the name {stem} is retired"), fix });
        }
    }
    found
}

fn in_names(file: &File) -> Vec<Finding> {
    let code = scan::code(&file.text);
    let used = used(&code);
    let given = |at: &usize| code[*at].kind == Kind::Word && !used.positions.contains(at);
    (0..code.len())
        .filter(given)
        .map(|at| code[at])
        .filter(|token| !used.names.contains(token.text))
        .filter_map(|token| {
            let (says, fix) = match unused_in(token.text) {
                Some(unused) => (unused.parts.join(" "), unused.instead),
                None => prose::retired_in_name(&parts(token.text))?,
            };
            let what = format!("the name `{}` says {says}", token.text);
            Some(Finding { path: file.path.clone(), line: token.line, what, fix })
        })
        .collect()
}

/// Names that were given elsewhere: where they stand, and those brought in for the whole file.
#[derive(Default)]
struct Used<'a> {
    positions: BTreeSet<usize>,
    names: BTreeSet<&'a str>,
}

fn used<'a>(code: &[Token<'a>]) -> Used<'a> {
    let mut used = Used::default();
    let mut in_use = false;
    for (at, token) in code.iter().enumerate() {
        let next = |ahead: usize| code.get(at + ahead).copied();
        if token.is_word("use") && !next(1).is_some_and(|next| next.is_mark("<")) {
            in_use = true;
        } else if token.is_mark(";") {
            in_use = false;
        }
        let renames = at > 0 && code[at - 1].is_word("as");
        if in_use && token.kind == Kind::Word && !renames {
            used.positions.insert(at);
            used.names.insert(token.text);
        }
        let before = |mark: &str, back: usize| at >= back && code[at - back].is_mark(mark);
        let after = |mark: &str, ahead: usize| next(ahead).is_some_and(|next| next.is_mark(mark));
        let in_path = (before(":", 1) && before(":", 2)) || (after(":", 1) && after(":", 2));
        if in_path || before(".", 1) {
            used.positions.insert(at);
        }
    }
    used
}

/// Comments and strings may say anything but the promise that nobody can keep.
fn in_prose(file: &File) -> Vec<Finding> {
    let mut found = Vec::new();
    for token in scan::tokens(&file.text) {
        if !matches!(token.kind, Kind::Comment | Kind::Text) {
            continue;
        }
        for at in promises(token.text) {
            let line = token.line + token.text[..at].matches('\n').count();
            let what = format!("the text says {}", PROMISE.parts.join(" "));
            found.push(Finding { path: file.path.clone(), line, what, fix: PROMISE.instead });
        }
    }
    found
}

/// Where the two words of the promise follow each other.
fn promises(text: &str) -> Vec<usize> {
    let lower = text.to_ascii_lowercase();
    let [first, second] = [PROMISE.parts[0], PROMISE.parts[1]];
    let separates = |c: char| c.is_whitespace() || c == '-' || c == '_';
    lower
        .match_indices(first)
        .filter(|(at, _)| {
            let after = &lower[at + first.len()..];
            let rest = after.trim_start_matches(separates);
            let whole = |rest: &str| !rest.starts_with(char::is_alphanumeric);
            rest.len() < after.len() && rest.strip_prefix(second).is_some_and(whole)
        })
        .map(|(at, _)| at)
        .collect()
}

fn unused_in(name: &str) -> Option<&'static Unused> {
    let parts = parts(name);
    let matches = |part: &String, word: &&str| part == word || part.strip_suffix('s') == Some(word);
    UNUSED.iter().find(|unused| {
        parts
            .windows(unused.parts.len())
            .any(|window| window.iter().zip(unused.parts).all(|(part, word)| matches(part, word)))
    })
}

/// `JobQueue`, `job_queue` and `job-queue.rs` all begin with the parts `job`, `queue`.
fn parts(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut parts = vec![String::new()];
    for (at, c) in chars.iter().enumerate() {
        let after_lower = at > 0 && !chars[at - 1].is_uppercase();
        let before_lower = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        if !c.is_alphanumeric() || (c.is_uppercase() && (after_lower || before_lower)) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c.is_alphanumeric()) {
            part.extend(c.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
#[path = "vocabulary_tests.rs"]
mod tests;
