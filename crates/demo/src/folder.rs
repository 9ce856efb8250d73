//! Where a run keeps its files.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onefold_core::error::{DATABASE_IN_USE, DATABASE_READ_ONLY};
use onefold_core::{Error, Result};

/// How often removing the folder is tried, and how long is waited in between.
const REMOVALS_MAX: u32 = 100;
const REMOVAL_WAIT: Duration = Duration::from_millis(20);

/// A folder for one run; removed when the run is over, unless it is kept.
pub(super) struct Folder {
    path: PathBuf,
    kept: bool,
}

impl Folder {
    /// An empty folder: this one, which is kept, or a temporary one.
    pub(super) fn open(keep: Option<PathBuf>) -> Result<Self> {
        let kept = keep.is_some();
        let path = keep.unwrap_or_else(|| std::env::temp_dir().join(format!("onefold-demo-{}", uuid::Uuid::new_v4())));
        let failed = |cause: std::io::Error| {
            Error::new(DATABASE_READ_ONLY, format!("{}: {cause}", path.display())).caused_by(cause)
        };
        std::fs::DirBuilder::new().recursive(kept).mode(0o700).create(&path).map_err(failed)?;
        if std::fs::read_dir(&path).map_err(failed)?.next().is_some() {
            return Err(Error::new(DATABASE_IN_USE, format!("{} is not empty", path.display()))
                .hint("name a folder that is empty or does not exist yet"));
        }
        Ok(Self { path, kept })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // A worker that is just being killed may still write a file.
        for _ in 0..REMOVALS_MAX {
            if std::fs::remove_dir_all(&self.path).is_ok() || !self.path.exists() {
                return;
            }
            std::thread::sleep(REMOVAL_WAIT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_folder_is_removed_and_one_that_is_kept_stays() {
        let temporary = Folder::open(None).unwrap();
        let path = temporary.path().to_owned();
        assert!(path.is_dir());
        drop(temporary);
        assert!(!path.exists());

        let parent = tempfile::tempdir().unwrap();
        let kept = parent.path().join("a/b");
        drop(Folder::open(Some(kept.clone())).unwrap());
        assert!(kept.is_dir());
    }

    #[test]
    fn a_folder_with_something_in_it_is_refused_and_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        std::fs::write(parent.path().join("mine"), "x").unwrap();
        let refused = Folder::open(Some(parent.path().to_owned())).err().unwrap();
        assert!(refused.detail().ends_with("is not empty"));
        assert!(parent.path().join("mine").exists());
    }
}
