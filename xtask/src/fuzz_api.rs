//! The running server under requests that somebody else's generator makes from its own description.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cargo;
use crate::python::Tool;
use crate::step::{Context, Ready, Tally};

const GENERATOR: Tool = Tool { package: "schemathesis==4.32.5", folder: "schemathesis-venv" };

/// The seed of a short run; a full run goes on with the next ones until its time is up.
const FIRST_SEED: u64 = 1;

/// So many requests for each operation of the API at most, with one seed.
const EXAMPLES_MAX: &str = "40";

/// One seed that takes longer is ended, and that is a failure.
const SEED_WITHIN: Duration = Duration::from_mins(3);

/// How long a full run begins new seeds.
const FULL_FOR: Duration = Duration::from_mins(10);

/// What the generator cannot know: a 422 refuses what is well formed and cannot be carried out (a kind that nobody
/// declared), and a batch answers each of its claims by itself, so a claim that breaks a limit is refused inside a 200.
const STATUSES: &str = r#"
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-path = "/v1/claims/batch"
checks.negative_data_rejection.expected-statuses = ["200", "400", "404", "413", "415", "422"]
"#;

pub(crate) fn ready(context: &Context) -> Ready {
    GENERATOR.ready(context)
}

pub(crate) fn run(context: &Context) -> Tally {
    Tally::of_one(fuzz(&context.root, if context.options.full { FULL_FOR } else { Duration::ZERO }))
}

/// Runs one seed after the other, the first in any case, and the last begun before this time has passed.
fn fuzz(root: &Path, begin_for: Duration) -> Result<(), String> {
    // The binary that the integration tests run: built with them, so that nothing is built for this suite alone.
    cargo::pass_through(cargo::cargo(root).args(["test", "--workspace", "--no-run", "--test", "server"]))?;
    let target = cargo::target_folder(root)?;
    let folder = target.join("fuzz-api");
    // What is not there need not be removed.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = target.join("debug/onefold");
    let server = Server::start(&program, &folder)?;
    let settings = folder.join("schemathesis.toml");
    std::fs::write(&settings, known(&program, &folder)?).map_err(|error| format!("{}: {error}", settings.display()))?;
    let started = Instant::now();
    let mut seed = FIRST_SEED;
    loop {
        one_seed(root, &folder, &server, seed)?;
        if started.elapsed() >= begin_for {
            return Ok(());
        }
        seed += 1;
    }
}

/// Every check of the generator, over the requests that this seed makes.
fn one_seed(root: &Path, folder: &Path, server: &Server, seed: u64) -> Result<(), String> {
    let mut command = GENERATOR.program(root, "schemathesis")?;
    command.current_dir(folder).stdin(Stdio::null());
    command.args(["run", &format!("{}/openapi.json", server.url), "--checks", "all"]);
    command.args(["--seed", &seed.to_string(), "--max-examples", EXAMPLES_MAX]);
    command.args(["--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all"]);
    command.args(["--header", &format!("Authorization: Bearer {}", server.token)]);
    // The server is here: whatever goes elsewhere is wrong.
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        command.env_remove(proxy);
    }
    println!("$ schemathesis run {}/openapi.json --checks all --seed {seed}", server.url);
    within(SEED_WITHIN, &mut command)
}

/// Makes an operation that completed and one that nobody knows the outcome of, and has the generator use their
/// names often: an invented name only finds nothing.
fn known(program: &Path, folder: &Path) -> Result<String, String> {
    let onefold = |args: &[&str]| {
        let mut command = clean(program, folder);
        // A command that is killed is what an unknown outcome looks like; how `run` then ends does not matter.
        command.args(args).stdin(Stdio::null()).output().map_err(|error| format!("onefold {args:?}: {error}"))
    };
    onefold(&["run", "--id", "done", "--", "true"])?;
    onefold(&["run", "--id", "unsure", "--", "sh", "-c", "kill -9 $$"])?;
    let listed: Value = serde_json::from_slice(&onefold(&["operations", "--json"])?.stdout)
        .map_err(|error| format!("onefold operations: {error}"))?;
    let items = listed["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let each = |name: &str| items.iter().filter_map(|item| item[name].as_str()).collect::<Vec<_>>();
    let (operations, incidents) = (each("operation"), each("incident"));
    if operations.len() != 2 || incidents.len() != 1 {
        return Err(format!("two operations and one incident were made, but there is {listed}"));
    }
    let known = [("operation", operations), ("incident", incidents), ("code", vec!["lease-ended"])];
    let used = known.iter().map(|(name, values)| {
        format!(
            "[dictionaries.{name}]\nvalues = {values:?}\n\
             [parameters.\"path.{name}\"]\ndictionary = \"{name}\"\nprobability = 0.7\n"
        )
    });
    Ok(used.chain([STATUSES.to_owned()]).collect())
}

/// The program in this folder, with nothing in its environment that could bend it.
fn clean(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ONEFOLD_")) {
        command.env_remove(name);
    }
    command.current_dir(folder);
    command
}

/// Runs a program to its end, or ends it.
fn within(limit: Duration, command: &mut Command) -> Result<(), String> {
    let mut child = Running(command.spawn().map_err(|error| format!("it cannot be started: {error}"))?);
    let started = Instant::now();
    loop {
        match child.0.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("it found something, or could not look: {status}")),
            None if started.elapsed() > limit => return Err(format!("not done within {} s", limit.as_secs())),
            None => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// A program that does not outlive us.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Server {
    _running: Running,
    url: String,
    token: String,
}

impl Server {
    /// A server with a database of its own in this folder.
    fn start(program: &Path, folder: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("the server cannot be started: {error}");
        let mut command = clean(program, folder);
        command.args(["serve", "--listen", "127.0.0.1:0", "--json"]);
        let log = File::create(folder.join("server.log")).map_err(failed)?;
        let mut running =
            Running(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().map_err(failed)?);
        let mut line = String::new();
        if let Some(output) = running.0.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(failed)?;
        }
        let said: Value = serde_json::from_str(&line).map_err(|_| format!("the server said {line:?}"))?;
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        let token = std::fs::read_to_string(folder.join(text("tokenFile"))).map_err(failed)?;
        Ok(Self { _running: running, url: text("url"), token: token.trim().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_ended_and_said() {
        let late = within(Duration::ZERO, Command::new("sleep").arg("60"));
        assert_eq!(late, Err("not done within 0 s".to_owned()));
        assert_eq!(within(SEED_WITHIN, &mut Command::new("true")), Ok(()));
        assert!(within(SEED_WITHIN, &mut Command::new("false")).is_err());
    }
}
