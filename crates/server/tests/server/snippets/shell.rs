//! A shell in a folder of its own, as a reader of a page has it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use super::pages::{Step, root};
use crate::fixture::until;
use crate::gateway_try::free_port;
use crate::seen::masked;

/// Where the pages say that the readers' folder is.
const FOLDER: &str = "/srv/jobs";
/// The ports that the pages name: the API, the gateway, a service behind it.
const PORTS: [&str; 3] = ["7070", "7080", "8181"];

/// A shell that keeps its variables from command to command.
pub(super) struct Shell {
    bash: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
    /// What the shell is told and what it says; not in the reader's way.
    notes: tempfile::TempDir,
    /// What stands on the page, and what stands for it here.
    names: Vec<(String, String)>,
    serves: bool,
    performed: usize,
}

impl Shell {
    pub(super) fn new() -> Self {
        let (folder, notes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let programs = folder.path().join("target/release");
        std::fs::create_dir_all(&programs).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_onefold"), programs.join("onefold")).unwrap();
        std::os::unix::fs::symlink(root().join("examples"), folder.path().join("examples")).unwrap();
        let names = PORTS.map(|port| (port.to_owned(), free_port().to_string())).to_vec();
        let mut command = Command::new("bash");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ONEFOLD_")) {
            command.env_remove(name);
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = command
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("ONEFOLD_LISTEN", format!("127.0.0.1:{}", names[0].1))
            .env("ONEFOLD_GATEWAY_LISTEN", format!("127.0.0.1:{}", names[1].1))
            .env("COLUMNS", "120")
            .current_dir(folder.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bash runs the pages' commands: install it");
        let (stdin, stdout) = (bash.stdin.take().unwrap(), BufReader::new(bash.stdout.take().unwrap()));
        Self { bash, stdin, stdout, folder, notes, names, serves: false, performed: 0 }
    }

    /// Writes what a page calls `onefold.toml`.
    pub(super) fn configure(&self, text: &str) {
        std::fs::write(self.folder.path().join("onefold.toml"), self.here(text)).unwrap();
    }

    /// Runs a step; says what is printed if it is not what the page shows.
    pub(super) fn run(&mut self, step: &Step) -> Option<String> {
        let command = self.here(&step.command);
        let bare = command.split("  #").next().unwrap_or_default().trim();
        let printed = if bare.starts_with("onefold serve") || bare == "cargo run --release" {
            self.serve(&command.replace("cargo run --release", "onefold serve"))
        } else {
            self.perform(&command, "");
            if bare.ends_with('&') {
                self.wait_for_ports(bare);
            }
            self.printed()
        };
        self.learn(&step.shown, &printed);
        let folder = self.folder.path().canonicalize().unwrap();
        let printed = printed.replace(&folder.display().to_string(), FOLDER);
        (!fits(&step.shown, &printed)).then_some(printed)
    }

    /// Starts a server, as a reader does in another shell, in place of the one that runs.
    fn serve(&mut self, command: &str) -> String {
        if self.serves {
            self.perform("kill $SERVER; wait $SERVER", "");
        }
        self.serves = true;
        self.perform(&format!("exec {command}"), "& SERVER=$!");
        let said = |text: &str| self.printed().contains(text);
        until("a page's server serves, or says why it does not", || said("Try next") || said("error: "));
        self.printed()
    }

    /// A service in the background is used once it listens.
    fn wait_for_ports(&self, command: &str) {
        for (_, port) in self.names.iter().take(PORTS.len()).filter(|(_, port)| command.contains(port.as_str())) {
            until("a page's service listens", || TcpStream::connect(format!("127.0.0.1:{port}")).is_ok());
        }
    }

    /// Has the shell read a command from a file, so that one which is not complete is an error and not a wait.
    fn perform(&mut self, command: &str, after: &str) {
        self.performed += 1;
        let (told, said) = (self.note("command"), self.note("printed"));
        std::fs::write(&told, format!("{command}\n")).unwrap();
        let (told, said) = (told.display(), said.display());
        writeln!(self.stdin, ". {told} > {said} 2>&1 < /dev/null {after}\necho").unwrap();
        self.stdout.read_line(&mut String::new()).unwrap();
    }

    /// What the last command printed so far.
    fn printed(&self) -> String {
        std::fs::read_to_string(self.note("printed")).unwrap_or_default()
    }

    /// A file of the last command's own: one in the background goes on writing to it.
    fn note(&self, what: &str) -> PathBuf {
        self.notes.path().join(format!("{what}-{}", self.performed))
    }

    /// A text of the page with this shell's ports and ids.
    fn here(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (page, here)| text.replace(page.as_str(), here))
    }

    /// The page's incidents have other ids here; later commands name them.
    fn learn(&mut self, shown: &str, printed: &str) {
        for (page, here) in incidents(shown).into_iter().zip(incidents(printed)) {
            if !self.names.iter().any(|(known, _)| *known == page) {
                self.names.push((page, here));
            }
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.bash), Signal::KILL);
        let _ = self.bash.wait();
    }
}

/// The ids of incidents in a text, each once.
fn incidents(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c));
    let mut ids: Vec<String> = Vec::new();
    for id in words.filter(|word| word.starts_with("inc_")) {
        if !ids.iter().any(|known| known == id) {
            ids.push(id.to_owned());
        }
    }
    ids
}

/// Whether a page shows what was printed. `…` stands for anything in a line, and alone in a line for any lines.
pub(super) fn fits(shown: &str, printed: &str) -> bool {
    // How long ago depends on the machine.
    let shown = without_names(&masked(&shown.replace("just now", "…")));
    let printed = without_names(&masked(printed));
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    lines_fit(&shown, &printed)
}

/// A text without who ran a command where: `user@host`.
fn without_names(text: &str) -> String {
    let known = |word: &str| if word.contains('@') { "[worker]".to_owned() } else { word.to_owned() };
    let line = |line: &str| line.split(' ').map(known).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn lines_fit(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&"…", rest)) => (0..=printed.len()).any(|skipped| lines_fit(rest, &printed[skipped..])),
        Some((line, rest)) => {
            printed.split_first().is_some_and(|(first, after)| line_fits(line, first) && lines_fit(rest, after))
        }
    }
}

fn line_fits(shown: &str, printed: &str) -> bool {
    let Some((start, rest)) = shown.split_once('…') else { return shown == printed };
    let Some(printed) = printed.strip_prefix(start) else { return false };
    let ends = printed.char_indices().map(|(at, _)| at).chain([printed.len()]);
    ends.into_iter().any(|at| line_fits(rest, &printed[at..]))
}
