//! One side of a comparison, in a process of its own: allocator, threads and caches of one do not touch another.
//!
//! A benchmark starts itself again, once for each side, and asks it over a pipe: `run CALLERS OPERATIONS PREFIX` is
//! answered with the seconds it took, `note` with a line about what was run since the last note. A side ends when its
//! pipe does.

use std::fmt;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The first argument of a process that is a side.
const SIDE: &str = "--side";
const NOTE: &str = "note";

/// What a side does in one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Callers at once.
    pub callers: usize,
    /// Operations of all callers together.
    pub operations: usize,
    /// What their ids begin with; one word.
    pub prefix: String,
}

impl Slice {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("run ")?.split(' ');
        let mut number = || words.next()?.parse().ok();
        let (callers, operations) = (number()?, number()?);
        let prefix = words.next()?.to_owned();
        words.next().is_none().then_some(Self { callers, operations, prefix })
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} {} {}", self.callers, self.operations, self.prefix)
    }
}

/// What a side's process runs.
pub trait Workload {
    /// One turn; how long what is measured of it took.
    fn run(&mut self, slice: &Slice) -> Duration;

    /// A line about what was run since it was asked last.
    fn note(&mut self) -> String {
        String::new()
    }
}

/// The arguments of the side that this process was started as; none in the process that compares.
pub fn asked() -> Option<Vec<String>> {
    let mut args = std::env::args().skip(1);
    (args.next()? == SIDE).then(|| args.collect())
}

/// Answers until the pipe ends.
pub fn serve(mut workload: impl Workload) {
    let mut answers = std::io::stdout().lock();
    // What is opened before the first turn is not part of it.
    writeln!(answers, "ready").expect("a pipe");
    for line in std::io::stdin().lines() {
        let line = line.expect("a pipe");
        let answer = if line == NOTE {
            workload.note()
        } else {
            let slice = Slice::parse(&line).unwrap_or_else(|| panic!("not a turn: {line}"));
            workload.run(&slice).as_secs_f64().to_string()
        };
        writeln!(answers, "{answer}").expect("a pipe");
    }
}

/// A side that runs, seen from the process that compares.
pub struct Side {
    child: Child,
    // Dropped to end the side.
    questions: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Side {
    /// Starts this program again as the side that these arguments name.
    pub fn start(args: &[&str]) -> Self {
        let program = std::env::current_exe().expect("this program has a name");
        let mut child = Command::new(program)
            .arg(SIDE)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the side starts");
        let questions = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut side = Self { child, questions, answers };
        assert_eq!(side.answer(), "ready", "{args:?}");
        side
    }

    /// One turn; how long it took there.
    pub fn run(&mut self, slice: &Slice) -> Duration {
        self.ask(slice);
        Duration::from_secs_f64(self.answer().parse().expect("seconds"))
    }

    /// What the side says about what it ran since it was asked last.
    pub fn note(&mut self) -> String {
        self.ask(NOTE);
        self.answer()
    }

    /// CPU time it has used so far.
    pub fn cpu_time(&self) -> Duration {
        crate::machine::cpu_time(&self.child.id().to_string())
    }

    /// Megabytes that it had in memory at most.
    pub fn memory_peak(&self) -> u64 {
        crate::machine::memory_peak(&self.child.id().to_string())
    }

    fn ask(&mut self, question: impl fmt::Display) {
        let questions = self.questions.as_mut().expect("a pipe");
        writeln!(questions, "{question}").and_then(|()| questions.flush()).expect("the side runs");
    }

    fn answer(&mut self) -> String {
        self.answers.next().expect("the side ended before it answered").expect("a pipe")
    }
}

impl Drop for Side {
    /// Lets the side close what it has open.
    fn drop(&mut self) {
        self.questions = None;
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_read_as_it_was_asked() {
        let slice = Slice { callers: 64, operations: 4_000, prefix: "r0-64-1".to_owned() };
        assert_eq!(Slice::parse(&slice.to_string()), Some(slice));
    }

    #[test]
    fn what_is_not_a_turn_is_refused() {
        for line in ["", "note", "run", "run 64 4000", "run 64 some a", "run 64 4000 a b"] {
            assert_eq!(Slice::parse(line), None, "{line}");
        }
    }
}
