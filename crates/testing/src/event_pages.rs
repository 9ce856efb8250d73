//! Holds a program's event contracts to the pages that were released.

use std::fmt::Write as _;
use std::path::Path;

use onefold_core::event::{EventContract, EventContracts};
use onefold_files::EventPages;

/// The variable that lets the pages be written.
const UPDATE: &str = "UPDATE_EVENTS";

/// Fails where a contract has no page in this folder, a page differs, or a schema changed against its rule. With
/// `UPDATE_EVENTS=1` it writes the pages first; what a rule forbids is never written.
///
/// ```no_run
/// use onefold_core::event::EventContract;
///
/// const CONTRACT: EventContract =
///     EventContract::new("case.submitted", 1).aggregate("case").owner("case team").schema("true");
///
/// onefold_testing::hold_event_pages("docs/events", [CONTRACT]);
/// ```
///
/// # Panics
///
/// With every finding and what to do about it.
#[track_caller]
pub fn hold_event_pages(folder: impl AsRef<Path>, contracts: impl IntoIterator<Item = EventContract>) {
    let pages = EventPages::new(folder.as_ref());
    let found = EventContracts::of(contracts).map_err(|error| format!("{error}\n  next: {}\n", error.next_step()));
    let found = found.and_then(|contracts| {
        let checked = match std::env::var_os(UPDATE) {
            Some(_) => pages.write(&contracts).map(|(_, left)| left),
            None => pages.check(&contracts),
        };
        checked.map_err(|cause| format!("{} cannot be read or written: {cause}\n", folder.as_ref().display()))
    });
    let told = match found {
        Ok(findings) => findings.iter().fold(String::new(), |mut told, finding| {
            let _ = writeln!(told, "{}: {}\n  next: {}", finding.path, finding.what, fix(finding));
            told
        }),
        Err(told) => told,
    };
    assert!(told.is_empty(), "event pages do not hold:\n{told}");
}

/// What to do in a test: there is no configuration that the command could read.
fn fix(finding: &onefold_core::event::PageFinding) -> String {
    match finding.text {
        Some(_) => format!("run the test with {UPDATE}=1 and review the difference"),
        None => finding.fix.replace("--write", &format!("{UPDATE}=1")),
    }
}
