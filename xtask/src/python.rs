//! Tools of the Python world, each in an environment of its own below the target folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo;
use crate::step::{Context, Ready};

/// A package in the version whose judgement we follow, and the folder it is installed into.
pub(crate) struct Tool {
    pub(crate) package: &'static str,
    pub(crate) folder: &'static str,
}

impl Tool {
    /// Installs it where it is missing: a machine without Python or network has nothing to run.
    pub(crate) fn ready(&self, context: &Context) -> Ready {
        let installed = self.folder(&context.root).and_then(|folder| {
            if self.works(&folder) {
                Ok(())
            } else if context.options.no_install {
                Err(format!("{} is not installed (--no-install)", self.package))
            } else {
                self.install(&folder)
            }
        });
        installed.map_or_else(Ready::No, |()| Ready::Yes)
    }

    /// A program of the environment.
    pub(crate) fn program(&self, root: &Path, name: &str) -> Result<Command, String> {
        Ok(Command::new(self.folder(root)?.join("bin").join(name)))
    }

    fn folder(&self, root: &Path) -> Result<PathBuf, String> {
        Ok(cargo::target_folder(root)?.join(self.folder))
    }

    fn works(&self, folder: &Path) -> bool {
        let asked = Command::new(folder.join("bin/pip")).args(["freeze", "--quiet"]).stderr(Stdio::null()).output();
        asked.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).lines().any(|line| line == self.package))
    }

    fn install(&self, folder: &Path) -> Result<(), String> {
        println!("{} is missing: installing it into {}", self.package, folder.display());
        quietly(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))
            .map_err(|why| format!("python3 makes no environment: {why}"))?;
        quietly(Command::new(folder.join("bin/pip")).args(["install", "--quiet", self.package]))
            .map_err(|why| format!("{} cannot be installed: {why}", self.package))
    }
}

/// Runs a program without its output; what it said last is the reason it failed.
fn quietly(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it failed without a word").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_says_why() {
        let failed = quietly(Command::new("sh").args(["-c", "echo why >&2; exit 1"]));
        assert_eq!(failed, Err("why".to_owned()));
        assert!(quietly(&mut Command::new("no-such-program")).is_err());
        assert_eq!(quietly(&mut Command::new("true")), Ok(()));
    }

    #[test]
    fn an_environment_that_is_not_there_does_not_work() {
        assert!(!Tool { package: "x==1", folder: "x" }.works(Path::new("no/such/folder")));
    }
}
