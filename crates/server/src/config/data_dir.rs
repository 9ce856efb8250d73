//! What a server keeps on its own machine: the first token, outcomes that wait, where it listens.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use onefold_core::error::{CONFIGURATION_INVALID, DATABASE_IN_USE};
use onefold_core::{Error, Result};
use sha2::{Digest as _, Sha256};

use super::address::Address;
use crate::api::hexadecimal;

/// The folder that is created if none is named.
const FOLDER: &str = "onefold-data";

/// The files of one database, as this machine sees it.
///
/// In a folder of their own they carry the database's mark: a journal must never be played into another database,
/// and a command must never ask the server of another one.
#[derive(Debug, Clone)]
pub(crate) struct DataDir {
    /// The folder of their own; none where they lie beside an SQLite file.
    folder: Option<PathBuf>,
    /// Held by the server that uses these; an SQLite file has a lock of its own.
    lock: Option<PathBuf>,
    pub(crate) token: PathBuf,
    pub(crate) journal: PathBuf,
    /// How far the ledger on a server had come, as this machine saw it; an SQLite file has its own beside it.
    position: Option<PathBuf>,
    /// Where the server of this database listens.
    pub(crate) discovery: PathBuf,
    /// What files with outcomes of runs begin with.
    pub(crate) outcomes: PathBuf,
}

impl DataDir {
    /// The files of a database: in the folder that is named, else where they belong; `base` is the configuration's folder.
    pub(super) fn of(database: &Address, schema: Option<&str>, folder: Option<&str>, base: &Path) -> Self {
        match (database, folder) {
            (Address::Sqlite(file), None) => Self::beside(file),
            (Address::Sqlite(file), Some(folder)) => {
                let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                Self { lock: None, position: None, ..Self::within(Path::new(folder), &file.display().to_string()) }
            }
            (Address::Postgres(url), folder) => {
                let identity = format!("{url:?} {}", schema.unwrap_or_default());
                Self::within(&folder.map_or_else(|| base.join(FOLDER), PathBuf::from), &identity)
            }
        }
    }

    fn beside(file: &Path) -> Self {
        // The whole name: `ledger.v1` and `ledger.v2` are two databases, and one journal would mix their outcomes.
        let named = |ending: &str| {
            let mut name = file.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        Self {
            folder: None,
            lock: None,
            token: file.with_extension("token"),
            journal: named(".journal"),
            position: None,
            discovery: named(".server"),
            outcomes: file.to_owned(),
        }
    }

    /// What files with outcomes begin with that a server elsewhere did not take.
    pub(super) fn outcomes_of(&self, server: &str) -> PathBuf {
        self.outcomes.with_file_name(format!("onefold-{}", mark(server)))
    }

    fn within(folder: &Path, identity: &str) -> Self {
        let mark = mark(identity);
        let file = |extension: &str| folder.join(format!("onefold-{mark}.{extension}"));
        Self {
            folder: Some(folder.to_owned()),
            lock: Some(file("lock")),
            token: folder.join("onefold.token"),
            journal: file("journal"),
            position: Some(file("position")),
            discovery: file("server"),
            outcomes: folder.join(format!("onefold-{mark}")),
        }
    }

    /// Where it is remembered how far the ledger has come; only in a folder that a server has made.
    pub(crate) fn position(&self) -> Option<PathBuf> {
        let made = self.folder.as_ref().is_some_and(|folder| folder.is_dir());
        self.position.clone().filter(|_| made)
    }

    /// Makes the folder, for this user alone, where there is none; answers whether it did.
    pub(crate) fn make_folder(&self) -> Result<bool> {
        let Some(folder) = self.folder.as_ref().filter(|folder| !folder.is_dir()) else { return Ok(false) };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|cause| unusable(folder, cause))?;
        Ok(true)
    }

    /// Removes the folder of a start that failed, unless something is in it.
    pub(crate) fn remove_folder(&self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir(folder);
        }
    }

    /// Takes the files for one server; refused while another living process has them.
    pub(crate) fn hold(&self) -> Result<Option<File>> {
        let Some(path) = &self.lock else { return Ok(None) };
        let failed = |cause| unusable(path, cause);
        let opened = OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path);
        let mut file = opened.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                let _ = file.read_to_string(&mut owner);
                let what = format!("{}: process {} serves this database from here", path.display(), owner.trim());
                return Err(Error::new(DATABASE_IN_USE, what)
                    .hint("give every server on this machine a folder of its own: --data-dir FOLDER"));
            }
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
        written.map_err(failed)?;
        Ok(Some(file))
    }
}

/// A ledger's mark in the names of its files.
fn mark(identity: &str) -> String {
    hexadecimal(&Sha256::digest(identity.as_bytes())[..6])
}

fn unusable(path: &Path, cause: std::io::Error) -> Error {
    Error::new(CONFIGURATION_INVALID, format!("data_dir: {} cannot be used: {cause}", path.display()))
        .hint("name a folder that this user may write to: --data-dir FOLDER")
        .caused_by(cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::address::Url;
    use std::os::unix::fs::PermissionsExt as _;

    fn postgres(url: &str) -> Address {
        Address::Postgres(Url::parse(url, "").unwrap())
    }

    #[test]
    fn files_lie_beside_an_sqlite_file_unless_a_folder_is_named() {
        let file = Address::Sqlite("a/onefold.db".into());
        let beside = DataDir::of(&file, None, None, Path::new(""));
        let named = [&beside.token, &beside.journal, &beside.discovery].map(|path| path.display().to_string());
        assert_eq!(named, ["a/onefold.token", "a/onefold.db.journal", "a/onefold.db.server"]);
        assert!(DataDir::of(&file, None, Some("b"), Path::new("c")).journal.starts_with("b"));
    }

    #[test]
    fn two_databases_with_one_stem_have_two_journals() {
        let journal = |file: &str| DataDir::of(&Address::Sqlite(file.into()), None, None, Path::new("")).journal;
        assert_ne!(journal("a/ledger.v1"), journal("a/ledger.v2"));
    }

    #[test]
    fn another_database_or_schema_has_another_journal_and_another_password_has_not() {
        let journal = |url: &str, schema| DataDir::of(&postgres(url), schema, None, Path::new("")).journal;
        let one = journal("postgres://me:a@db/app", None);
        assert!(one.starts_with("onefold-data"));
        assert_eq!(one, journal("postgres://me:b@db/app", None));
        assert_ne!(one, journal("postgres://me:a@db/other", None));
        assert_ne!(one, journal("postgres://me:a@db/app", Some("ledger")));
    }

    #[test]
    fn a_folder_is_its_owners_alone_and_has_one_server() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("x/y");
        let files = DataDir::of(&postgres("postgres://db/app"), None, folder.to_str(), Path::new(""));
        files.make_folder().unwrap();
        files.make_folder().unwrap();
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let held = files.hold().unwrap();
        let refused = files.hold().unwrap_err();
        assert_eq!(refused.code(), DATABASE_IN_USE);
        assert!(
            refused.detail().contains(&std::process::id().to_string()) && refused.next_step().contains("--data-dir")
        );
        drop(held);
        assert!(files.hold().is_ok());
    }
}
