//! Where the services of this workspace lie.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::Service;
use super::account::Account;
use super::progress::say;
use crate::cargo;

/// `services/` in the folder that cargo builds into.
pub(super) struct Site {
    base: PathBuf,
}

impl Site {
    /// Makes the folders where they are missing.
    pub(super) fn open(root: &Path) -> Result<Self, String> {
        let site = Self { base: cargo::target_folder(root)?.join("services") };
        for folder in [site.downloads(), site.logs()] {
            std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(site)
    }

    /// What was downloaded, for all services.
    pub(super) fn downloads(&self) -> PathBuf {
        self.base.join("downloads")
    }

    /// An empty folder of the downloads, for what is not whole yet.
    pub(super) fn fresh(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.downloads().join(name);
        let shown = |error: std::io::Error| format!("{}: {error}", folder.display());
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(shown)?;
        }
        std::fs::create_dir_all(&folder).map_err(shown)?;
        Ok(folder)
    }

    /// What is whole now gets its name, by which it is found.
    pub(super) fn keep(&self, fresh: &Path, name: &str) -> Result<(), String> {
        let folder = self.downloads().join(name);
        std::fs::rename(fresh, &folder).map_err(|error| format!("{}: {error}", folder.display()))
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.base.join("logs")
    }

    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.logs().join(format!("{name}.log"))
    }

    pub(super) fn state(&self) -> PathBuf {
        self.base.join("state.json")
    }

    /// Held while services are started or stopped: two commands at once take turns.
    pub(super) fn lock(&self) -> Result<File, String> {
        let file = self.file("lock")?;
        let held = match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                say("services", "another command is starting or stopping services: waiting for it");
                file.lock()
            }
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => Ok(()),
        };
        held.map(|()| file).map_err(|error| format!("the lock of {}: {error}", self.base.display()))
    }

    /// Locked shared by every run of suites, so that the last one to end knows that it is.
    pub(super) fn in_use(&self) -> Result<File, String> {
        self.file("in-use")
    }

    fn file(&self, name: &str) -> Result<File, String> {
        let path = self.base.join(name);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        opened.map_err(|error| format!("{}: {error}", path.display()))
    }

    /// A number that differs from workspace to workspace and stays the same for this one.
    pub(super) fn seed(&self) -> u32 {
        fnv(self.base.as_os_str().as_encoded_bytes())
    }

    /// The folders where a service may have been started: here, or where `folder` went instead.
    pub(super) fn candidates(&self, service: Service) -> [PathBuf; 2] {
        [self.base.clone(), elsewhere(self.seed())].map(|home| home.join(service.name()))
    }

    /// The service's own folder, made where it is missing and given to the account.
    pub(super) fn folder(&self, service: Service, account: Option<Account>) -> Result<PathBuf, String> {
        let name = service.name();
        let home = match account {
            Some(account) if !account.reaches(&self.base) => {
                let home = temporary(self.seed())?;
                let why = "a folder above it is closed to the account that the service runs as";
                say(name, &format!("{} will not do ({why}): its data goes to {}", self.base.display(), home.display()));
                home
            }
            Some(_) | None => self.base.clone(),
        };
        let folder = home.join(name);
        let made = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::set_permissions(&folder, Permissions::from_mode(0o700)));
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        account.map_or(Ok(()), |account| account.own(&folder))?;
        Ok(folder)
    }
}

fn elsewhere(seed: u32) -> PathBuf {
    std::env::temp_dir().join(format!("onefold-{seed:08x}"))
}

/// A folder that others may pass but only we may change; one that somebody else made is not trusted.
fn temporary(seed: u32) -> Result<PathBuf, String> {
    let folder = elsewhere(seed);
    let shown = |error: std::io::Error| format!("{}: {error}", folder.display());
    if !folder.exists() {
        DirBuilder::new().mode(0o755).create(&folder).map_err(shown)?;
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).map_err(shown)?;
    }
    let found = std::fs::symlink_metadata(&folder).map_err(shown)?;
    if found.is_dir() && found.uid() == 0 {
        Ok(folder)
    } else {
        Err(format!("{} belongs to somebody else: remove it or set TMPDIR", folder.display()))
    }
}

/// FNV-1a: the same number with every compiler, unlike the standard hasher.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_workspace_stays_the_same() {
        assert_eq!(fnv(b""), 0x811c_9dc5);
        assert_eq!(fnv(b"foobar"), 0xbf9c_f968);
    }
}
