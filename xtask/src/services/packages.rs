//! Packages that a suite needs to build something, rather than to talk to it.

use std::path::Path;

use super::site::Site;
use super::{Install, account, apt, program};

/// A package of the system.
#[derive(Clone, Copy)]
pub(crate) struct Package {
    /// Its name in Debian.
    pub(crate) name: &'static str,
    pub(crate) has: Has,
}

/// What shows that a package is there, however it came.
#[derive(Clone, Copy)]
pub(crate) enum Has {
    /// A program on the path.
    Program(&'static str),
    /// A file below `/usr/include`, or below its folder for this sort of machine.
    Header(&'static str),
}

impl Package {
    fn is_there(&self) -> bool {
        match self.has {
            Has::Program(name) => program::find(name).is_some(),
            Has::Header(name) => {
                let include = Path::new("/usr/include");
                let machine = include.join(format!("{}-linux-gnu", std::env::consts::ARCH));
                include.join(name).is_file() || machine.join(name).is_file()
            }
        }
    }
}

/// Installs those that are missing; an error says which they are and how to get them.
pub(crate) fn install(root: &Path, packages: &[Package], install: Install) -> Result<(), String> {
    let missing: Vec<&str> = packages.iter().filter(|one| !one.is_there()).map(|one| one.name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if install == Install::Never {
        return Err(format!("missing: {names} (--no-install); get it with `apt-get install {names}`"));
    }
    if !account::is_root() {
        return Err(format!("installing packages takes root: `sudo apt-get install {names}`"));
    }
    apt::install(&Site::open(root)?, &missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_way_to_get_it() {
        let there = Package { name: "cargo", has: Has::Program("cargo") };
        let absent = [
            Package { name: "libabsent-dev", has: Has::Header("absent/absent.h") },
            Package { name: "absent", has: Has::Program("no-such-program") },
        ];
        let root = Path::new(".");
        assert_eq!(install(root, &[there], Install::Never), Ok(()));
        let why = install(root, &[there, absent[0], absent[1]], Install::Never).unwrap_err();
        assert!(why.starts_with("missing: libabsent-dev absent (--no-install)"), "{why}");
        assert!(why.ends_with("`apt-get install libabsent-dev absent`"), "{why}");
    }
}
