//! Programs: where they are, and running one that takes its time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::progress::{Ticker, say};

/// Where servers are installed, though the path of a plain user leaves it out.
const SERVER_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// No installation or download takes longer than this, or it hangs.
const RUN_MAX: Duration = Duration::from_mins(15);

const POLL_EVERY: Duration = Duration::from_millis(100);

/// Where a program is, as the shell would find it.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SERVER_FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Runs a program to its end and says how long it took; what it printed last is the reason it failed.
pub(super) fn run(who: &str, doing: &str, command: &mut Command, log: &Path) -> Result<(), String> {
    let shown = command.get_program().display().to_string();
    let output = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let errors = output.try_clone().map_err(|error| error.to_string())?;
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    let mut child = command.spawn().map_err(|error| format!("could not start {shown}: {error}"))?;
    let mut ticker = Ticker::new();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            if status.success() {
                say(who, &format!("{doing}: done in {:.1} s", ticker.elapsed().as_secs_f64()));
                return Ok(());
            }
            return Err(format!("{doing} failed: {} (all of it: {})", last_line(log), log.display()));
        }
        if ticker.elapsed() > RUN_MAX {
            let ended = child.kill().and_then(|()| child.wait());
            let how = ended.map_or_else(|error| error.to_string(), |_| "ended it".to_owned());
            return Err(format!("{doing} took longer than {} minutes: {how}", RUN_MAX.as_secs() / 60));
        }
        ticker.tick(who, doing);
        sleep(POLL_EVERY);
    }
}

/// What a quick program printed; what it said last is the reason it failed.
pub(super) fn output(command: &mut Command) -> Result<String, String> {
    let shown = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("could not start {shown}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = errors.lines().chain(said.lines()).rfind(|line| !line.trim().is_empty());
    Err(format!("{shown}: {}", last.unwrap_or("failed without a word")))
}

/// The last lines of a file, without failing where there is none.
pub(super) fn tail(file: &Path, lines_max: usize) -> String {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(lines_max)..].join("\n")
}

/// Prefers a line that says it is an error: tools like to end with advice.
fn last_line(file: &Path) -> String {
    let text = tail(file, 200);
    let spoken = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let error =
        spoken().find(|line| line.starts_with("E:") || line.starts_with("[ERROR]") || line.starts_with("ERROR"));
    error.or_else(|| spoken().next_back()).unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("onefold-xtask-{}-{name}.log", std::process::id()))
    }

    #[test]
    fn a_program_is_found_as_the_shell_finds_it() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-such-program"), None);
    }

    #[test]
    fn what_failed_says_its_error_and_where_the_rest_is() {
        let log = log("failed");
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'E: no such package' >&2; echo advice; exit 100"]);
        let wrong = run("test", "installing", &mut command, &log).unwrap_err();
        std::fs::remove_file(&log).unwrap();
        assert!(wrong.contains("E: no such package") && wrong.contains(".log"), "{wrong}");
    }

    #[test]
    fn the_tail_of_a_missing_file_is_empty() {
        assert_eq!(tail(Path::new("no/such/file"), 3), "");
    }
}
