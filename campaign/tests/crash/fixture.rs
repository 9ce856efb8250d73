//! The processes of a test: a provider that counts, and workers that are killed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use onefold_campaign::wire::ask;
use rustix::process::{Pid, Signal, kill_process};

/// Far longer than anything takes; only a hang reaches it.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// A provider in its own process.
pub(crate) struct Provider {
    child: Child,
    pub(crate) address: String,
}

impl Provider {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_provider")).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("LISTENING ").unwrap().to_owned();
        Self { child, address }
    }

    /// How often the effect of an operation really happened.
    pub(crate) fn effects(&self, id: &str) -> u64 {
        ask(&self.address, &format!("EFFECTS {id}")).unwrap().parse().unwrap()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A worker process that performs through the library.
pub(crate) struct Worker {
    child: Child,
    orders: ChildStdin,
    lines: Receiver<String>,
    /// What it has said so far.
    pub(crate) said: Vec<String>,
}

impl Worker {
    /// Starts a worker and waits until it has settled what an earlier life left behind.
    pub(crate) fn start(db: &std::path::Path, provider: &Provider, options: &[(&str, &str)]) -> Self {
        let mut worker = Self::spawn(db, provider, options);
        worker.hear("STARTED").expect("the worker starts");
        worker
    }

    pub(crate) fn spawn(db: &std::path::Path, provider: &Provider, options: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_worker"));
        command.arg("--db").arg(db).args(["--provider", &provider.address]);
        for (name, value) in options {
            command.args([name, value]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (heard, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| heard.send(line)));
        let orders = child.stdin.take().unwrap();
        Self { child, orders, lines, said: Vec::new() }
    }

    /// Gives an order; a dead worker does not hear it.
    pub(crate) fn order(&mut self, line: &str) {
        let _ = writeln!(self.orders, "{line}");
    }

    /// The next line that begins so; none when the worker died.
    pub(crate) fn hear(&mut self, start: &str) -> Option<String> {
        if let Some(at) = self.said.iter().position(|line| line.starts_with(start)) {
            return Some(self.said.remove(at));
        }
        loop {
            let line = self.next_line()?;
            if line.starts_with(start) {
                return Some(line);
            }
            self.said.push(line);
        }
    }

    /// The next line, whatever it is.
    pub(crate) fn next_line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the worker hangs; it said {:?}", self.said),
        }
    }

    /// Order and answer in one.
    pub(crate) fn ask(&mut self, order: &str) -> Option<String> {
        self.order(order);
        let mut words = order.split(' ');
        let verb = match words.next().unwrap() {
            "PERFORM" => "DONE",
            verb => verb,
        };
        self.hear(&format!("{verb} {}", words.next().unwrap()))
    }

    /// Asks until the answer is as wanted: tests wait for a state, never for a time.
    pub(crate) fn ask_until(&mut self, order: &str, wanted: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let answer = self.ask(order).expect("the worker lives");
            if wanted(&answer) {
                return answer;
            }
            assert!(began.elapsed() < PATIENCE, "{order} stays at {answer}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for a death that a fault brings about; true if it was by SIGKILL.
    pub(crate) fn died_by_kill(mut self) -> bool {
        use std::os::unix::process::ExitStatusExt as _;
        while self.next_line().is_some() {}
        self.child.wait().unwrap().signal() == Some(9)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Small seeded chance; the seed is printed with every use.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn seeded(name: &str) -> Self {
        let seed = std::env::var("ONEFOLD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_115);
        println!("{name}: seed {seed} (set ONEFOLD_SEED to change it)");
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
