//! The folder of event pages: read as a whole, compared with contracts, written where that is all there is to do.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use onefold_core::event::{EventContracts, PageFinding, PageProblem, review_event_pages};

/// Files that the folder may have.
const FILES_MAX: usize = 50_000;
/// Folders in folders.
const DEPTH_MAX: usize = 8;
/// Bytes that a file of it may have.
const BYTES_MAX: u64 = 1024 * 1024;

/// A folder of event pages, such as `docs/events`.
#[derive(Debug, Clone)]
pub struct EventPages {
    folder: PathBuf,
}

impl EventPages {
    /// The pages in this folder; it need not exist.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// What is wrong with the pages of these contracts.
    pub fn check(&self, contracts: &EventContracts) -> io::Result<Vec<PageFinding>> {
        let mut kept = BTreeMap::new();
        read(&self.folder, "", &mut kept)?;
        Ok(review_event_pages(contracts, &kept))
    }

    /// Writes every page and schema that is missing or differs. Answers with what was written and what is left to do: a
    /// schema that changed against its rule is never written over.
    pub fn write(&self, contracts: &EventContracts) -> io::Result<(Vec<PageFinding>, Vec<PageFinding>)> {
        let (written, left): (Vec<_>, Vec<_>) =
            self.check(contracts)?.into_iter().partition(|finding| finding.text.is_some());
        for finding in &written {
            let path = self.folder.join(&finding.path);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(path, finding.text.as_deref().unwrap_or_default())?;
        }
        // The person who writes has compared what could not be decided.
        let left = left.into_iter().filter(|finding| finding.problem != PageProblem::Undecided).collect();
        Ok((written, left))
    }
}

/// Reads pages and schemas, by their paths below the folder.
fn read(folder: &Path, below: &str, kept: &mut BTreeMap<String, String>) -> io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && below.is_empty() => return Ok(()),
        Err(cause) => return Err(cause),
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && path.matches('/').count() < DEPTH_MAX {
            read(&entry.path(), &path, kept)?;
        } else if kind.is_file() && [".md", ".json"].iter().any(|end| name.ends_with(end)) {
            if kept.len() >= FILES_MAX || entry.metadata()?.len() > BYTES_MAX {
                let what = format!("{path}: more than {FILES_MAX} files, or a file of more than {BYTES_MAX} bytes");
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
            }
            // Text that is not UTF-8 is not a page of ours: it differs.
            kept.insert(path, String::from_utf8_lossy(&std::fs::read(entry.path())?).into_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use onefold_core::event::EventContract;

    use super::*;

    const CONTRACT: EventContract = EventContract::new("case.submitted", 1).aggregate("case").owner("case team");

    #[test]
    fn what_is_written_is_found_again_and_what_a_rule_forbids_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let pages = EventPages::new(folder.path().join("docs/events"));
        let contracts = EventContracts::of([CONTRACT.schema(r#"{ "type": "string" }"#)]).unwrap();
        assert_eq!(pages.check(&contracts).unwrap().len(), 2);
        let (written, left) = pages.write(&contracts).unwrap();
        assert_eq!((written.len(), left.len()), (2, 0));
        assert_eq!(pages.check(&contracts).unwrap(), []);
        let schema = folder.path().join("docs/events/case/submitted.v1.json");
        let before = std::fs::read_to_string(&schema).unwrap();
        let changed = EventContracts::of([CONTRACT.schema(r#"{ "type": "integer" }"#)]).unwrap();
        let (written, left) = pages.write(&changed).unwrap();
        assert_eq!((written.len(), left[0].problem), (0, PageProblem::Incompatible));
        assert_eq!(std::fs::read_to_string(&schema).unwrap(), before);
    }
}
