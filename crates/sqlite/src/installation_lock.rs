//! An installation's name, held by a file lock: the system lets go of it when the process dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use onefold_core::error::{DATABASE_IN_USE, DATABASE_READ_ONLY};
use onefold_core::{Error, Result};

use crate::Sqlite;

impl Sqlite {
    pub(crate) fn take_name(&self, installation: &str) -> Result<File> {
        take_name(&self.inner.resolved, self.path(), installation)
    }
}

/// Takes an installation's name on a file; refused while a living process has it.
pub(crate) fn take_name(resolved: &Path, shown: &Path, installation: &str) -> Result<File> {
    let path = lock_path(resolved, installation);
    let failed =
        |cause: std::io::Error| Error::new(DATABASE_READ_ONLY, format!("{}: {cause}", path.display())).caused_by(cause);
    let mut file =
        OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut owner = String::new();
            let _ = file.read_to_string(&mut owner);
            return Err(Error::new(
                DATABASE_IN_USE,
                format!("{}: process {} runs as {installation:?}", shown.display(), owner.trim()),
            ));
        }
        Err(TryLockError::Error(cause)) => return Err(failed(cause)),
    }
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| write!(file, "{}", std::process::id()))
        .map_err(failed)?;
    Ok(file)
}

fn lock_path(resolved: &Path, installation: &str) -> PathBuf {
    let mut name = resolved.as_os_str().to_owned();
    name.push(format!(".{installation}.lock"));
    PathBuf::from(name)
}
