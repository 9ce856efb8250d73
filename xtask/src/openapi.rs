//! The API's description, held against the OpenAPI specification by somebody else's validator.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo;
use crate::step::{Context, Ready, Tally};

/// The validator, in the version whose judgement we follow.
const VALIDATOR: &str = "openapi-spec-validator==0.7.2";

const DOCUMENT: &str = "docs/openapi.json";

/// Installs the validator where it is missing: a machine without Python or network has nothing to run.
pub(crate) fn ready(context: &Context) -> Ready {
    let installed = folder(&context.root).and_then(|folder| {
        if works(&folder) {
            Ok(())
        } else if context.options.no_install {
            Err(format!("{VALIDATOR} is not installed (--no-install)"))
        } else {
            install(&folder)
        }
    });
    installed.map_or_else(Ready::No, |()| Ready::Yes)
}

pub(crate) fn run(context: &Context) -> Tally {
    Tally::of_one(folder(&context.root).and_then(|folder| {
        let mut command = validator(&folder);
        command.current_dir(&context.root).args(["--schema", "3.1", "--errors", "all", DOCUMENT]);
        cargo::pass_through(&mut command).map_err(|why| format!("{DOCUMENT} is no valid OpenAPI 3.1: {why}"))
    }))
}

fn folder(root: &Path) -> Result<PathBuf, String> {
    Ok(cargo::target_folder(root)?.join("openapi-venv"))
}

fn validator(folder: &Path) -> Command {
    let mut command = Command::new(folder.join("bin/python"));
    command.args(["-m", "openapi_spec_validator"]);
    command
}

fn works(folder: &Path) -> bool {
    let asked = Command::new(folder.join("bin/pip")).args(["freeze", "--quiet"]).stderr(Stdio::null()).output();
    asked.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).lines().any(|line| line == VALIDATOR))
}

fn install(folder: &Path) -> Result<(), String> {
    println!("{VALIDATOR} is missing: installing it into {}", folder.display());
    quietly(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))
        .map_err(|why| format!("python3 makes no environment: {why}"))?;
    quietly(Command::new(folder.join("bin/pip")).args(["install", "--quiet", VALIDATOR]))
        .map_err(|why| format!("{VALIDATOR} cannot be installed: {why}"))
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
        assert!(!works(Path::new("no/such/folder")));
    }
}
