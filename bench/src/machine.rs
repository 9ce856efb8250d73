//! Whether the machine is quiet enough for a ratio to mean something.

use std::time::Duration;

/// What others may take of the cores; a run beside more than that says little.
const TAKEN_MAX: f64 = 0.15;
/// How long it is looked at.
const LOOK_FOR: Duration = Duration::from_secs(2);
/// How often, while it is busy: what a benchmark wrote is on its way to the disk for some seconds after its end.
const LOOKS: usize = 5;
/// The flag that takes figures from a busy machine all the same.
const BUSY: &str = "--busy";
/// The code of a run that is worth trying again later.
const EX_TEMPFAIL: i32 = 75;

/// Ends the run on a busy machine, unless it was told to go on or only shows that everything runs.
pub fn must_be_quiet() {
    if std::env::args().any(|arg| arg == BUSY || arg == "--smoke") {
        return;
    }
    let mut taken = look();
    for _ in 1..LOOKS {
        if taken > TAKEN_MAX {
            taken = look();
        }
    }
    if taken > TAKEN_MAX {
        eprintln!(
            "the machine is busy: others take {:.0} % of its cores, more than {:.0} %; no ratio is printed. Run it again \
             when nothing else runs, or with {BUSY}",
            taken * 100.0,
            TAKEN_MAX * 100.0
        );
        std::process::exit(EX_TEMPFAIL);
    }
}

/// The share of the cores that is taken.
fn look() -> f64 {
    let before = Ticks::read();
    std::thread::sleep(LOOK_FOR);
    Ticks::read().taken_since(&before)
}

/// CPU time that a process has used so far, by its number or `self`.
pub fn cpu_time(process: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("Linux");
    let fields = stat.rsplit(')').next().unwrap_or_default();
    // User and system time, in hundredths of a second.
    let ticks: u64 = fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// Megabytes that a process had in memory at most, by its number.
pub fn memory_peak(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux");
    line.trim().split(' ').next().and_then(|kilobytes| kilobytes.parse::<u64>().ok()).expect("a number") / 1024
}

/// The cores' time so far, in hundredths of a second.
struct Ticks {
    idle: u64,
    all: u64,
}

impl Ticks {
    fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/stat").expect("Linux"))
    }

    /// The first line: user, nice, system, idle, waiting for the disk, interrupts, and what the host took.
    fn parse(stat: &str) -> Self {
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
        Self { idle: ticks.iter().skip(3).take(2).sum(), all: ticks.iter().sum() }
    }

    /// The share of the cores that was not idle.
    fn taken_since(&self, before: &Self) -> f64 {
        let (all, idle) = (self.all.saturating_sub(before.all), self.idle.saturating_sub(before.idle));
        if all == 0 { 0.0 } else { 1.0 - idle as f64 / all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_idle_is_taken() {
        let before = Ticks::parse("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3");
        let after = Ticks::parse("cpu  130 0 60 840 60 0 0 10 0 0\n");
        // 100 ticks passed: 40 idle, 10 waiting for the disk, the rest taken, the host's share too.
        assert!((after.taken_since(&before) - 0.5).abs() < 1e-9);
        assert!(before.taken_since(&before).abs() < 1e-9);
    }
}
