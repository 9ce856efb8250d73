//! Replacing a file as a whole: a reader finds the old one or the new one, also after a power loss.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Replaces the file at `path`, unless `needed`, which sees what is there, says that there is no need.
///
/// Writers of one path take turns, across processes too. The file is readable by its owner alone.
pub fn replace(path: &Path, bytes: &[u8], needed: impl FnOnce() -> bool) -> io::Result<()> {
    let beside = beside(path);
    let mut file = take_turn(&beside)?;
    if !needed() {
        return std::fs::remove_file(&beside);
    }
    file.set_len(0)?;
    file.write_all(bytes)?;
    finish(&file, &beside, path)
}

/// Syncs a file that was written beside `path`, and gives it that name durably.
pub fn finish(file: &File, written: &Path, path: &Path) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.sync_all()?;
    std::fs::rename(written, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// The file beside, locked. Its previous holder has renamed or removed it meanwhile, so the name is looked up again.
fn take_turn(beside: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(beside)?;
        file.lock()?;
        let ours = file.metadata()?;
        match std::fs::metadata(beside) {
            Ok(named) if (named.dev(), named.ino()) == (ours.dev(), ours.ino()) => return Ok(file),
            Ok(_) => {}
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_take_turns_and_nothing_is_left_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::thread::scope(|scope| {
            for writer in 0..8_u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..20 {
                        replace(path, &[b'a' + writer; 100], || true).unwrap();
                    }
                });
            }
        });
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() == 100 && bytes.iter().all(|byte| *byte == bytes[0]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_not_needed_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        replace(&path, b"1", || true).unwrap();
        replace(&path, b"2", || false).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"1");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
