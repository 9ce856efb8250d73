//! Running cargo and other programs, and reading what they say.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;

/// Cargo in the workspace's folder: the one that started us, so that a chosen toolchain stays chosen.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs a program with its output passed through.
pub(crate) fn pass_through(command: &mut Command) -> Result<(), String> {
    println!("{}", shown(command));
    let status = command.status().map_err(|error| not_started(command, &error))?;
    succeeded(command, status)
}

/// Runs a program with its output passed through, and shows each line of it to `each`.
pub(crate) fn stream(command: &mut Command, mut each: impl FnMut(&str)) -> Result<(), String> {
    println!("{}", shown(command));
    command.stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| not_started(command, &error))?;
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).map_err(|error| error.to_string())? > 0 {
            let text = String::from_utf8_lossy(&line);
            print!("{text}");
            each(text.trim_end());
            line.clear();
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    succeeded(command, status)
}

/// What a program printed, without showing it.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| not_started(command, &error))?;
    succeeded(command, output.status)?;
    String::from_utf8(output.stdout).map_err(|error| format!("{}: {error}", shown(command)))
}

/// What `cargo metadata` says of a workspace's own packages.
pub(crate) fn metadata(root: &Path, manifest: &str) -> Result<Value, String> {
    let mut command = cargo(root);
    command.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path", manifest]);
    serde_json::from_str(&output(&mut command)?).map_err(|error| format!("cargo metadata: {error}"))
}

/// Where the root workspace is built.
pub(crate) fn target_folder(root: &Path) -> Result<PathBuf, String> {
    let metadata = metadata(root, "Cargo.toml")?;
    let folder = metadata["target_directory"].as_str();
    folder.map(PathBuf::from).ok_or_else(|| "cargo metadata names no target folder".to_owned())
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words: Vec<_> = std::iter::once(program).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    format!("$ {}", words.join(" "))
}

fn not_started(command: &Command, error: &std::io::Error) -> String {
    format!("could not start {}: {error}", command.get_program().display())
}

fn succeeded(command: &Command, status: ExitStatus) -> Result<(), String> {
    if status.success() {
        return Ok(());
    }
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program()).display();
    Err(match status.code() {
        Some(code) => format!("{program} exited with {code}"),
        None => format!("{program} was ended by a signal"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("/opt/rust/bin/cargo");
        command.args(["test", "--workspace"]);
        assert_eq!(shown(&command), "$ cargo test --workspace");
    }

    #[test]
    fn every_line_is_seen_even_when_the_program_fails() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two; exit 3"]);
        let mut lines = Vec::new();
        let ended = stream(&mut command, |line| lines.push(line.to_owned()));
        assert_eq!(lines, ["one", "two"]);
        assert_eq!(ended, Err("sh exited with 3".to_owned()));
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let wrong = pass_through(&mut Command::new("no-such-program")).unwrap_err();
        assert!(wrong.contains("no-such-program"), "{wrong}");
    }
}
