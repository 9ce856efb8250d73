//! Licences, sources and banned crates: cargo-deny with `deny.toml`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::step::{Context, Ready, Step, Tally};

/// The version that `deny.toml` is written for.
const VERSION: &str = "0.20.2";

pub(crate) const STEP: Step = Step::new("deny", ready, run);

fn ready(context: &Context) -> Ready {
    if !context.options.no_install {
        return Ready::Yes;
    }
    match tools(&context.root) {
        Ok(tools) if installed(&binary(&tools)) => Ready::Yes,
        Ok(_) => Ready::No(format!("cargo-deny {VERSION} is not installed (--no-install)")),
        Err(why) => Ready::No(why),
    }
}

fn run(context: &Context) -> Tally {
    Tally::of_one(check(&context.root))
}

fn check(root: &Path) -> Result<(), String> {
    let tools = tools(root)?;
    let binary = binary(&tools);
    if !installed(&binary) {
        install(root, &tools)?;
    }
    let mut command = Command::new(binary);
    command.current_dir(root).args(["check", "bans", "licenses", "sources"]);
    cargo::pass_through(&mut command)
}

/// Beside the build and not in the user's own tools: another project may need another version.
fn tools(root: &Path) -> Result<PathBuf, String> {
    Ok(cargo::target_folder(root)?.join("tools"))
}

fn binary(tools: &Path) -> PathBuf {
    tools.join("bin").join("cargo-deny")
}

fn installed(binary: &Path) -> bool {
    let version = Command::new(binary).arg("--version").output();
    version.is_ok_and(|version| is_ours(&String::from_utf8_lossy(&version.stdout)))
}

fn is_ours(version: &str) -> bool {
    version.split_whitespace().last() == Some(VERSION)
}

/// Built for a run of a second, so its own optimisations would cost far more than they save.
const QUICK_BUILD: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
];

fn install(root: &Path, tools: &Path) -> Result<(), String> {
    println!("cargo-deny {VERSION} is missing: installing it into {} (some minutes)", tools.display());
    let mut command = cargo::cargo(root);
    command.args(["install", "cargo-deny", "--version", VERSION, "--locked", "--root"]).arg(tools).envs(QUICK_BUILD);
    cargo::pass_through(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_version_we_name_will_do() {
        assert!(is_ours("cargo-deny 0.20.2\n"));
        assert!(!is_ours("cargo-deny 0.20.20\n"));
        assert!(!is_ours(""));
    }

    #[test]
    fn a_tool_that_is_not_there_is_not_installed() {
        assert!(!installed(Path::new("no-such-folder/cargo-deny")));
    }
}
