//! Outcomes that could not be recorded, on disk until they are.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use onefold_core::ledger::{AttemptId, Outcome};
use onefold_core::operation::OperationKey;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// An outcome that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// The operation.
    pub key: OperationKey,
    /// The fence of the grant.
    pub fence: u64,
    /// The attempt of the grant.
    pub attempt_id: AttemptId,
    /// What happened.
    pub outcome: Outcome,
}

/// What a journal holds.
#[derive(Debug, Default)]
pub struct Journaled {
    /// Whole lines.
    pub entries: Vec<JournalEntry>,
    /// Lines that were torn by a crash or damaged: reported, never believed.
    pub damaged: usize,
}

/// Where outcomes wait that could not be recorded.
pub trait Journal: Send + Sync {
    /// Writes an outcome; it survives a crash and a power loss once this returned.
    fn append(&self, entry: &JournalEntry) -> io::Result<()>;
    /// Everything that waits.
    fn read(&self) -> io::Result<Journaled>;
    /// Sets aside for a person an outcome that the ledger will never take: it knows no such grant.
    fn refuse(&self, entry: &JournalEntry) -> io::Result<()>;
    /// Forgets everything, because everything is recorded or set aside.
    fn clear(&self) -> io::Result<()>;
}

/// A journal in a file that only its owner can read. One line an outcome, each with its checksum.
pub struct FileJournal {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl FileJournal {
    /// A journal at this path; the file comes into being with its first line.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), file: Mutex::new(None) }
    }

    /// The file beside the journal with this ending added to its name.
    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        name.into()
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    // The name must survive a power loss too.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()?;
    Ok(file)
}

fn write_line(file: &mut File, entry: &JournalEntry) -> io::Result<()> {
    // A leading line break ends a line that an earlier crash left open.
    file.write_all(format!("\n{}\n", line(entry)?).as_bytes())?;
    file.sync_data()
}

impl Journal for FileJournal {
    fn append(&self, entry: &JournalEntry) -> io::Result<()> {
        let mut held = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if held.is_none() {
            *held = Some(open(&self.path)?);
        }
        let Some(file) = held.as_mut() else {
            return Err(io::Error::other("the journal is not open"));
        };
        write_line(file, entry)
    }

    fn refuse(&self, entry: &JournalEntry) -> io::Result<()> {
        write_line(&mut open(&self.beside(".refused"))?, entry)
    }

    fn read(&self) -> io::Result<Journaled> {
        let mut text = Vec::new();
        match File::open(&self.path) {
            Ok(mut file) => file.read_to_end(&mut text)?,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Journaled::default()),
            Err(cause) => return Err(cause),
        };
        let mut journaled = Journaled::default();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match parse(line) {
                Some(entry) => journaled.entries.push(entry),
                None => journaled.damaged += 1,
            }
        }
        Ok(journaled)
    }

    fn clear(&self) -> io::Result<()> {
        let mut held = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *held = None;
        let damaged = self.read().is_ok_and(|journaled| journaled.damaged > 0);
        if damaged {
            // What cannot be read is kept for a person rather than thrown away.
            return std::fs::rename(&self.path, self.path.with_extension("damaged"));
        }
        match std::fs::remove_file(&self.path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

fn line(entry: &JournalEntry) -> io::Result<String> {
    let body = serde_json::to_string(entry)?;
    Ok(format!("{} {body}", checksum(body.as_bytes())))
}

fn parse(line: &[u8]) -> Option<JournalEntry> {
    let text = std::str::from_utf8(line).ok()?;
    let (sum, body) = text.split_once(' ')?;
    (sum == checksum(body.as_bytes())).then(|| serde_json::from_str(body).ok()).flatten()
}

fn checksum(body: &[u8]) -> String {
    let mut first = [0; 8];
    first.copy_from_slice(&Sha256::digest(body)[..8]);
    format!("{:016x}", u64::from_be_bytes(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onefold_core::ledger::{Completion, StoredResult};
    use onefold_core::operation::{KindName, OperationId, Tenant};

    fn entry(id: &str) -> JournalEntry {
        JournalEntry {
            key: OperationKey::new(Tenant::default(), KindName::parse("k").unwrap(), OperationId::parse(id).unwrap()),
            fence: 3,
            attempt_id: AttemptId::from_random([7; 16]),
            outcome: Outcome::Completed(Completion { result: StoredResult::json(&b"{\"n\":1}"[..]), evidence: None }),
        }
    }

    #[test]
    fn what_was_appended_is_read_back_and_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let journal = FileJournal::new(folder.path().join("x.journal"));
        assert!(journal.read().unwrap().entries.is_empty());
        journal.append(&entry("A")).unwrap();
        journal.append(&entry("B")).unwrap();
        assert_eq!(journal.read().unwrap().entries, [entry("A"), entry("B")]);
        journal.clear().unwrap();
        assert!(journal.read().unwrap().entries.is_empty());
        journal.append(&entry("C")).unwrap();
        assert_eq!(journal.read().unwrap().entries, [entry("C")]);
    }

    #[test]
    fn a_torn_last_line_is_ignored_reported_and_kept_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.journal");
        let journal = FileJournal::new(&path);
        journal.append(&entry("A")).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let second = format!("\n{}\n", line(&entry("B")).unwrap());
        for cut in 2..second.len() - 1 {
            std::fs::write(&path, [&whole[..], &second.as_bytes()[..cut]].concat()).unwrap();
            let read = FileJournal::new(&path).read().unwrap();
            assert_eq!((read.entries.len(), read.damaged), (1, 1), "cut at {cut}");
        }
        // A line written after a torn one is still whole.
        let journal = FileJournal::new(&path);
        journal.append(&entry("C")).unwrap();
        let read = journal.read().unwrap();
        assert_eq!((read.entries.len(), read.damaged), (2, 1));
        journal.clear().unwrap();
        assert!(path.with_extension("damaged").exists());
    }
}
