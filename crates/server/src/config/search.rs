//! Finding `onefold.toml`: in this folder, else in the next one above it that has one.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::{Error, Result};

/// The file that is read when none is named.
const NAME: &str = "onefold.toml";

/// The file that counts for `folder`: as a bare name where it is in it, else with its whole path.
///
/// One above it must belong to this user or to root: anyone who may write to a shared folder, such as the one for
/// temporary files, must not decide which ledger others use.
pub(super) fn find(folder: &Path, user: u32) -> Result<Option<PathBuf>> {
    if folder.join(NAME).is_file() {
        return Ok(Some(PathBuf::from(NAME)));
    }
    let above = folder.ancestors().skip(1).map(|folder| folder.join(NAME)).find(|file| file.is_file());
    let Some(file) = above else { return Ok(None) };
    let owner = file.metadata().map(|data| data.uid()).ok();
    if owner == Some(user) || owner == Some(0) {
        return Ok(Some(file));
    }
    let what = format!("{} was found above this folder and belongs to another user", file.display());
    Err(Error::new(CONFIGURATION_INVALID, what).hint("name a file with --config, or put one into this folder"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_counts_and_another_users_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        let user = rustix::process::getuid().as_raw();
        let write = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        write("onefold.toml");
        assert_eq!(find(&deep, user).unwrap(), Some(folder.path().join("onefold.toml")));
        write("a/onefold.toml");
        assert_eq!(find(&deep, user).unwrap(), Some(folder.path().join("a/onefold.toml")));
        write("a/b/c/onefold.toml");
        assert_eq!(find(&deep, user).unwrap(), Some(PathBuf::from("onefold.toml")));
    }

    #[test]
    fn a_file_above_that_belongs_to_somebody_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a");
        std::fs::create_dir_all(&deep).unwrap();
        let file = folder.path().join("onefold.toml");
        std::fs::write(&file, "").unwrap();
        if rustix::process::geteuid().is_root() {
            // Root's files count for everyone, so this one is given away.
            assert_eq!(find(&deep, 1).unwrap(), Some(file.clone()));
            std::os::unix::fs::chown(&file, Some(1), None).unwrap();
        }
        let owner = file.metadata().unwrap().uid();
        assert_eq!(find(&deep, owner).unwrap(), Some(file));
        let refused = find(&deep, owner + 1).unwrap_err();
        assert_eq!(refused.code(), CONFIGURATION_INVALID, "{refused}");
    }
}
