//! Processes that outlive us: started, recognised, stopped.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a service may take to close its files.
const STOP_WITHIN: Duration = Duration::from_secs(30);
/// How long the system may take to end what was killed.
const KILL_WITHIN: Duration = Duration::from_secs(10);
const POLL_EVERY: Duration = Duration::from_millis(50);

/// A process is ours when it runs this program and has this argument: a number alone may have passed to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    /// The file name of the program.
    pub(super) program: &'static str,
    /// One whole argument, which names a path that only this service uses.
    pub(super) argument: String,
}

impl Marker {
    fn is_on(&self, arguments: &[String]) -> bool {
        let program = arguments.first().and_then(|first| Path::new(first).file_name());
        program.is_some_and(|name| name == self.program) && arguments.contains(&self.argument)
    }
}

/// The process with this marker: the remembered one, or any, where what we remember is stale.
pub(super) fn find(remembered: Option<u32>, marker: &Marker) -> Option<u32> {
    let is_ours = |pid: &u32| marker.is_on(&arguments(*pid));
    remembered.filter(is_ours).or_else(|| all().into_iter().find(is_ours))
}

/// Whether a process that we started has ended.
pub(super) fn has_ended(pid: u32) -> bool {
    arguments(pid).is_empty()
}

/// Starts a program that goes on without us, in a process group of its own so that Ctrl-C here does not reach it.
pub(super) fn start(command: &mut Command, log: &Path) -> Result<u32, String> {
    let output = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let errors = output.try_clone().map_err(|error| error.to_string())?;
    command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
    let child = command.spawn();
    child
        .map(|child| child.id())
        .map_err(|error| format!("could not start {}: {error}", command.get_program().display()))
}

/// Asks a process to end, waits until it has, and insists where it does not.
pub(super) fn stop(pid: u32, marker: &Marker, signal: &str) -> Result<(), String> {
    for (signal, within) in [(signal, STOP_WITHIN), ("KILL", KILL_WITHIN)] {
        send(pid, signal)?;
        let deadline = Instant::now() + within;
        while Instant::now() < deadline {
            if !marker.is_on(&arguments(pid)) {
                return Ok(());
            }
            sleep(POLL_EVERY);
        }
    }
    Err(format!("process {pid} does not end"))
}

/// By the shell, which has it built in: the program `kill` is not on every machine.
fn send(pid: u32, signal: &str) -> Result<(), String> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "kill -s \"$1\" \"$2\"", "sh", signal, &pid.to_string()]).stderr(Stdio::null());
    command.status().map(drop).map_err(|error| format!("could not signal process {pid}: {error}"))
}

/// The arguments of a process; none when it has ended, even where nobody has taken note of its end.
fn arguments(pid: u32) -> Vec<String> {
    if let Ok(line) = std::fs::read(format!("/proc/{pid}/cmdline")) {
        let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        return words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    }
    if Path::new("/proc/self").exists() {
        return Vec::new();
    }
    let asked = Command::new("ps").args(["-o", "args=", "-p", &pid.to_string()]).output();
    let said = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    said.split_whitespace().map(str::to_owned).collect()
}

/// Every process, where the system lists them as files.
fn all() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(argument: &str) -> Marker {
        Marker { program: "sleep", argument: argument.to_owned() }
    }

    #[test]
    fn a_process_is_recognised_by_program_and_whole_argument() {
        let arguments = ["/bin/sleep".to_owned(), "1000".to_owned()];
        assert!(marker("1000").is_on(&arguments));
        assert!(!marker("100").is_on(&arguments));
        assert!(!Marker { program: "redis-server", argument: "1000".to_owned() }.is_on(&arguments));
        assert!(!marker("1000").is_on(&[]));
    }

    #[test]
    fn a_process_is_found_again_without_its_number_and_gone_once_stopped() {
        let seconds = format!("{}", 86_400 + std::process::id());
        let marker = marker(&seconds);
        assert_eq!(find(None, &marker), None);
        let log = std::env::temp_dir().join(format!("onefold-xtask-{seconds}.log"));
        let pid = start(Command::new("sleep").arg(&seconds), &log).unwrap();
        let deadline = Instant::now() + KILL_WITHIN;
        while find(None, &marker) != Some(pid) && Instant::now() < deadline {
            sleep(POLL_EVERY);
        }
        assert_eq!(find(Some(1), &marker), Some(pid), "a stale number does not hide it");
        stop(pid, &marker, "TERM").unwrap();
        assert_eq!(find(Some(pid), &marker), None);
        std::fs::remove_file(log).unwrap();
    }
}
