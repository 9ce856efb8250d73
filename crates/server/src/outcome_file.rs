//! Outcomes of `onefold run` that the ledger did not take: on disk until it does.
//!
//! A file belongs to one attempt. Its room is taken before the command is started, so that an outcome without its output
//! still fits when the command itself filled the disk. A living run holds a lock on its file; what a dead one left is
//! recorded by the next command or server on the same ledger. Recording twice is harmless: the ledger knows the attempt.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use onefold_core::Error;
use onefold_core::error::{LEASE_SUPERSEDED, OUTCOME_CONFLICT};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::api::hexadecimal;
use crate::client::{Client, may_pass};

/// How these files end.
const EXTENSION: &str = "outcome";
/// Room that is taken before the command is started: an outcome without its output.
const RESERVED_BYTES: usize = 4096;
/// Bytes a file may have: two streams in base64, and their frame.
const BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A call that records something about a grant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordCall {
    /// The operation's reference `op_…`.
    pub(crate) operation: String,
    pub(crate) what: RecordVerb,
    pub(crate) body: Value,
}

/// What can be said of a grant. A file names nothing else: it must not become a way to call the rest of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RecordVerb {
    Complete,
    Fail,
    Unknown,
    Release,
}

impl RecordCall {
    /// Where it is sent.
    pub(crate) fn path(&self) -> String {
        let what = match self.what {
            RecordVerb::Complete => "complete",
            RecordVerb::Fail => "fail",
            RecordVerb::Unknown => "unknown",
            RecordVerb::Release => "release",
        };
        format!("/v1/operations/{}/{what}", crate::reconcile_http::encoded(&self.operation))
    }
}

/// The place of one outcome. It is gone when the outcome is recorded.
pub(crate) struct OutcomeFile {
    path: PathBuf,
    file: File,
    /// The folder, where it was made for this file.
    made: Option<PathBuf>,
}

/// What became of a file that waited.
#[derive(Debug)]
pub(crate) enum OutcomeFileResult {
    /// The ledger has it.
    Recorded { operation: String },
    /// The ledger keeps it beside what it believes, or refuses it.
    Refused { operation: String, error: Error },
    /// It cannot be read; it is kept under another name.
    Damaged { file: PathBuf },
}

impl fmt::Display for OutcomeFileResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded { operation } => write!(f, "the outcome of an earlier run is recorded now: {operation}"),
            Self::Refused { operation, error } => {
                write!(f, "the outcome of an earlier run was refused: {operation}: {error}")
            }
            Self::Damaged { file } => write!(f, "the outcome of an earlier run cannot be read: {}", file.display()),
        }
    }
}

impl OutcomeFile {
    /// Takes the room that an outcome needs; `prefix` is what all files of one ledger begin with.
    pub(crate) fn reserve(prefix: &Path) -> io::Result<Self> {
        let folder = prefix.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let made = folder.map(Path::to_owned);
        if let Some(folder) = &made {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        loop {
            let path = named(prefix, &format!("{}.{EXTENSION}", uuid::Uuid::new_v4().simple()));
            let mut file = OpenOptions::new().create_new(true).read(true).write(true).mode(0o600).open(&path)?;
            let taken = file.lock().and_then(|()| file.write_all(&[0; RESERVED_BYTES])).and_then(|()| file.sync_all());
            if let Err(cause) = taken {
                let _ = std::fs::remove_file(&path);
                return Err(cause);
            }
            // Before it was locked, another process may have taken it for a dead run's and removed it.
            if file.metadata()?.nlink() > 0 {
                return Ok(Self { path, file, made });
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a call: the whole one if there is room, else the brief one. It survives a power loss once this returned.
    pub(crate) fn keep(mut self, whole: &RecordCall, brief: &RecordCall) -> io::Result<()> {
        let mut line = line(brief)?.into_bytes();
        if line.len() > RESERVED_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "the outcome is longer than the space reserved for it",
            ));
        }
        line.resize(RESERVED_BYTES, b'\n');
        self.file.rewind()?;
        self.file.write_all(&line)?;
        self.file.sync_all()?;
        // Without it a duplicate is told that the output is not kept.
        let _ = self.replace(whole);
        Ok(())
    }

    fn replace(&self, whole: &RecordCall) -> io::Result<()> {
        let mut beside = self.path.clone().into_os_string();
        beside.push(".whole");
        let written = || -> io::Result<()> {
            let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside)?;
            file.write_all(line(whole)?.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)
        };
        written().inspect_err(|_| drop(std::fs::remove_file(&beside)))
    }

    /// The outcome is recorded.
    pub(crate) fn discard(self) {
        let _ = std::fs::remove_file(&self.path);
        if let Some(folder) = &self.made {
            // Whatever else came to be in it keeps it.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Records what dead runs left behind. A ledger that is away leaves them for the next time.
pub(crate) async fn record_waiting(client: &Client, prefix: &Path) -> Vec<OutcomeFileResult> {
    let mut waited = Vec::new();
    for path in waiting(prefix) {
        let Some(mut file) = unheld(&path) else { continue };
        match read(&mut file) {
            Ok(Some(call)) => match client.post::<Value>(&call.path(), &call.body).await {
                Err(error) if may_pass(&error) => return waited,
                Ok(_) => {
                    let _ = std::fs::remove_file(&path);
                    waited.push(OutcomeFileResult::Recorded { operation: call.operation });
                }
                Err(error) => {
                    if [LEASE_SUPERSEDED, OUTCOME_CONFLICT].contains(&error.code()) {
                        // The ledger keeps it as late evidence, with an incident where a second effect is suspected.
                        let _ = std::fs::remove_file(&path);
                    } else {
                        let _ = std::fs::rename(&path, path.with_extension("refused"));
                    }
                    waited.push(OutcomeFileResult::Refused { operation: call.operation, error });
                }
            },
            // A run that died before it had an outcome: its lease expires, and the rule decides.
            Ok(None) => drop(std::fs::remove_file(&path)),
            Err(_) => {
                let file = path.with_extension("damaged");
                let _ = std::fs::rename(&path, &file);
                waited.push(OutcomeFileResult::Damaged { file });
            }
        }
    }
    waited
}

/// The files of this ledger, in the order of their names.
fn waiting(prefix: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (prefix.parent(), prefix.file_name()) else { return Vec::new() };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let begins = format!("{}.", name.to_string_lossy());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&begins));
    let mut found: Vec<PathBuf> = ours.map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
    found.sort();
    found
}

/// The file, unless a living run holds it or somebody else put it there: what it says is recorded in our name.
fn unheld(path: &Path) -> Option<File> {
    let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
    let file = OpenOptions::new().read(true).write(true).open(path).ok().filter(|_| is_file)?;
    let ours = file.metadata().is_ok_and(|data| data.uid() == rustix::process::geteuid().as_raw());
    (ours && file.try_lock().is_ok()).then_some(file)
}

/// The call in a file; none where nothing was written yet.
fn read(file: &mut File) -> io::Result<Option<RecordCall>> {
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if line.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the outcome is damaged");
    let text = std::str::from_utf8(line).map_err(|_| damaged())?;
    let (sum, body) = text.split_once(' ').ok_or_else(damaged)?;
    if sum != checksum(body) {
        return Err(damaged());
    }
    Ok(Some(serde_json::from_str(body)?))
}

fn line(call: &RecordCall) -> io::Result<String> {
    let body = serde_json::to_string(call)?;
    Ok(format!("{} {body}\n", checksum(&body)))
}

fn checksum(body: &str) -> String {
    hexadecimal(&Sha256::digest(body.as_bytes())[..8])
}

fn named(prefix: &Path, end: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!(".{end}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(text: &str) -> RecordCall {
        RecordCall { operation: "op_x".to_owned(), what: RecordVerb::Complete, body: json!({ "result": text }) }
    }

    #[test]
    fn a_file_can_only_say_what_became_of_a_grant() {
        assert_eq!(call("x").path(), "/v1/operations/op_x/complete");
        let aside = RecordCall { operation: "../prune?x=".to_owned(), ..call("x") };
        assert_eq!(aside.path(), "/v1/operations/..%2Fprune%3Fx%3D/complete");
        let other = r#"{"operation":"op_x","what":"resolve","body":{}}"#;
        assert!(serde_json::from_str::<RecordCall>(other).is_err());
    }

    #[test]
    fn a_link_to_a_file_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a"), folder.path().join("onefold.db.x.outcome"));
        std::fs::write(&file, line(&call("x")).unwrap()).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(unheld(&link).is_none() && unheld(&file).is_some());
    }

    #[test]
    fn a_file_of_another_user_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("onefold.db.x.outcome");
        std::fs::write(&file, line(&call("x")).unwrap()).unwrap();
        assert!(unheld(&file).is_some());
        // Nobody else can give a file away, or write to another user's.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(1), None).unwrap();
            assert!(unheld(&file).is_none());
        }
    }

    #[test]
    fn an_outcome_is_kept_whole_and_read_back_once_its_run_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("onefold.db");
        let place = OutcomeFile::reserve(&prefix).unwrap();
        let path = place.path().to_owned();
        assert_eq!(waiting(&prefix), std::slice::from_ref(&path));
        assert!(unheld(&path).is_none(), "a living run holds its file");
        let large = call(&"x".repeat(100_000));
        place.keep(&large, &call("brief")).unwrap();
        assert_eq!(read(&mut unheld(&path).unwrap()).unwrap(), Some(large));
    }

    #[test]
    fn a_run_that_died_without_an_outcome_leaves_nothing_to_record() {
        let folder = tempfile::tempdir().unwrap();
        let place = OutcomeFile::reserve(&folder.path().join("onefold.db")).unwrap();
        let path = place.path().to_owned();
        drop(place);
        assert_eq!(read(&mut unheld(&path).unwrap()).unwrap(), None);
    }

    #[test]
    fn a_damaged_outcome_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.outcome");
        let whole = line(&call("done")).unwrap();
        for text in [whole.replace("done", "gone"), whole[..whole.len() / 2].to_owned(), "nonsense".to_owned()] {
            std::fs::write(&path, &text).unwrap();
            assert!(read(&mut unheld(&path).unwrap()).is_err(), "{text}");
        }
    }

    #[test]
    fn files_of_another_ledger_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = OutcomeFile::reserve(&folder.path().join("other.db")).unwrap();
        assert!(waiting(&folder.path().join("onefold.db")).is_empty());
        place.discard();
        assert!(waiting(&folder.path().join("other.db")).is_empty());
    }
}
