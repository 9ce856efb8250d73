//! Builds every example and runs it where it can leave nothing behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cargo;
use crate::step::{Context, Tally};

/// An example is read by people and ends by itself; one that hangs must not hold up the rest.
const RUNS_FOR_MAX: Duration = Duration::from_mins(1);
/// Short against a run, long against the cost of asking.
const POLL_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, PartialEq, Eq)]
struct Example {
    name: String,
    binary: PathBuf,
}

/// Every example of the workspace ends with success within [`RUNS_FOR_MAX`].
pub(crate) fn run(context: &Context) -> Tally {
    let examples = match build(&context.root) {
        Ok(examples) => examples,
        Err(why) => return Tally::trouble(why),
    };
    let mut tally = Tally::default();
    for example in examples {
        println!("$ {}", example.name);
        tally.add(run_one(&example).map_err(|why| format!("{}: {why}", example.name)));
    }
    tally
}

/// Cargo names the binaries: where they are depends on settings that we do not know.
fn build(root: &Path) -> Result<Vec<Example>, String> {
    let mut command = cargo::cargo(root);
    command.args(["build", "--workspace", "--examples", "--message-format=json-render-diagnostics"]);
    println!("$ cargo build --workspace --examples");
    let mut examples: Vec<Example> = cargo::output(&mut command)?.lines().filter_map(built).collect();
    examples.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(examples)
}

fn built(message: &str) -> Option<Example> {
    let message: Value = serde_json::from_str(message).ok()?;
    let target = &message["target"];
    if target["kind"][0] != "example" {
        return None;
    }
    Some(Example { name: target["name"].as_str()?.to_owned(), binary: PathBuf::from(message["executable"].as_str()?) })
}

fn run_one(example: &Example) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("onefold-example-{}-{}", example.name, std::process::id()));
    std::fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let ended = Command::new(&example.binary)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())
        .and_then(|mut child| wait(&mut child, RUNS_FOR_MAX));
    let removed = std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()));
    ended.and(removed)
}

fn wait(child: &mut Child, runs_for_max: Duration) -> Result<(), String> {
    let started = Instant::now();
    while started.elapsed() < runs_for_max {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(status.to_string()),
            None => std::thread::sleep(POLL_EVERY),
        }
    }
    child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
    Err(format!("did not end within {} s", runs_for_max.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).spawn().unwrap()
    }

    #[test]
    fn a_built_example_is_found_among_cargos_messages() {
        let message = r#"{"target":{"kind":["example"],"name":"notice"},"executable":"/t/notice"}"#;
        let example = Example { name: "notice".to_owned(), binary: PathBuf::from("/t/notice") };
        assert_eq!(built(message), Some(example));
    }

    #[test]
    fn other_messages_are_left_aside() {
        assert_eq!(built(r#"{"target":{"kind":["lib"],"name":"onefold"},"executable":null}"#), None);
        assert_eq!(built(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(built("not json"), None);
    }

    #[test]
    fn an_example_that_fails_is_reported_with_its_status() {
        assert_eq!(wait(&mut shell("exit 0"), RUNS_FOR_MAX), Ok(()));
        let why = wait(&mut shell("exit 4"), RUNS_FOR_MAX).unwrap_err();
        assert!(why.contains('4'), "{why}");
    }

    #[test]
    fn an_example_that_hangs_is_ended() {
        let why = wait(&mut shell("exec sleep 600"), Duration::from_millis(50)).unwrap_err();
        assert!(why.contains("did not end"), "{why}");
    }
}
