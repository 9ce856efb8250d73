//! The page of all benchmarks and its plots, from the records of their runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::catalog::{Curves, Entry, Shown};
use super::plot::{Line, Plot, figure};
use super::record::{Machine, Record};
use crate::args::Size;

/// The folder of the plots, beside the page.
pub(super) const PLOTS: &str = "benchmarks";

/// A page and its plots by file name.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) page: String,
    pub(super) plots: Vec<(String, String)>,
}

impl Report {
    /// Of runs of one size on one machine.
    pub(super) fn of(size: Size, runs: &[(&Entry, Record)]) -> Result<Self, String> {
        let mut page = "# Benchmarks\n\n".to_owned();
        let mut plots = Vec::new();
        if let Some(warning) = warning(size) {
            let _ = writeln!(page, "> **{warning}**\n");
        }
        page.push_str(
            "`cargo xtask bench report` runs every benchmark and writes this page: edit the benchmarks, not the page. \
             Us and the peer run in turns in one run, each in a process of its own; a figure is the median of the \
             rounds. An operation is a claim and a record, both durable.\n\n",
        );
        let machine = the_machine(runs)?;
        let Machine { cores, cpu, memory, kernel, rustc } = machine;
        let _ = writeln!(page, "| machine | |\n|---|---|\n| cores | {cores} × {cpu} |\n| memory | {memory} |");
        let _ = writeln!(page, "| kernel | {kernel} |\n| compiler | {rustc} |\n| versions | {} |\n", versions(runs));
        page.push_str("| benchmark | compared | with | ours | peer | ratio | run |\n|---|---|---|---|---|---|---|\n");
        for (entry, record) in runs {
            let Record { ratio, ours, peer, revision, .. } = record;
            let (command, compared, with) = (command(entry), entry.ours, entry.peer);
            let day = day(record.at_unix_seconds);
            let _ =
                writeln!(page, "| {command} | {compared} | {with} | {ours} | {peer} | {ratio} | {day}, {revision} |");
        }
        for (entry, record) in runs {
            let Some(curves) = &entry.curves else { continue };
            let _ = writeln!(page, "\n## {}\n", curves.title);
            if curves.shown == Shown::Plotted {
                let file = format!("{}.svg", entry.run(size).kept_as());
                let _ = writeln!(page, "![{}, by {}]({PLOTS}/{file})\n", curves.up, curves.across);
                plots.push((file, plot(curves, record, size)));
            }
            page.push_str(&table(curves, record));
        }
        Ok(Self { page, plots })
    }
}

/// What must be said of figures that are not a measurement.
fn warning(size: Size) -> Option<&'static str> {
    match size {
        Size::Measured => None,
        Size::Busy => Some("Measured beside other work on the machine: not a measurement to quote."),
        Size::Smoke => Some("From a smoke run, which only shows that the benchmarks run: the figures mean nothing."),
    }
}

/// The one machine and compiler of all runs.
fn the_machine<'a>(runs: &'a [(&Entry, Record)]) -> Result<&'a Machine, String> {
    let (_, first) = runs.first().ok_or("there are no runs to report")?;
    match runs.iter().find(|(_, record)| record.machine != first.machine) {
        None => Ok(&first.machine),
        Some((entry, _)) => Err(format!(
            "the runs are not of one machine and compiler; run {} again, or all of them with `cargo xtask bench report`",
            command(entry)
        )),
    }
}

/// Each version once, also where runs differ.
fn versions(runs: &[(&Entry, Record)]) -> String {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, version) in runs.iter().flat_map(|(_, record)| &record.versions) {
        let known = versions.entry(name).or_default();
        if !known.contains(&version.as_str()) {
            known.push(version);
        }
    }
    // What lies in the tree itself is told by the revision.
    versions.retain(|name, _| !name.starts_with("onefold"));
    let shown: Vec<String> =
        versions.iter().map(|(name, versions)| format!("{name} {}", versions.join(", "))).collect();
    shown.join("; ")
}

fn command(entry: &Entry) -> String {
    let store = entry.store.map(|store| format!(" --store {}", store.name())).unwrap_or_default();
    format!("`{}{store}`", entry.name)
}

fn plot(curves: &Curves, record: &Record, size: Size) -> String {
    let line = |&(series, label): &(&str, &'static str)| Line { label, points: series_of(record, series) };
    let title = match size {
        Size::Measured => curves.title.to_owned(),
        Size::Busy => format!("{} (busy machine: not to quote)", curves.title),
        Size::Smoke => format!("{} (smoke run: not a measurement)", curves.title),
    };
    let lines = curves.series.iter().map(line).collect();
    Plot { title: &title, across: curves.across, up: curves.up, lines }.svg()
}

fn series_of(record: &Record, series: &str) -> Vec<(f64, f64)> {
    record.points.iter().filter(|point| point.series == series).map(|point| (point.x, point.y)).collect()
}

/// The points in figures: a row for each value across, a column for each series that has points.
fn table(curves: &Curves, record: &Record) -> String {
    let mut across: Vec<f64> = record.points.iter().map(|point| point.x).collect();
    across.sort_by(f64::total_cmp);
    across.dedup();
    let columns: Vec<_> = curves
        .series
        .iter()
        .map(|(series, label)| (label, series_of(record, series)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let heads: Vec<&str> = columns.iter().map(|(label, _)| **label).collect();
    let (heads, rule) = (heads.join(" | "), "---|".repeat(columns.len()));
    let mut table = format!("{}:\n\n| {} | {heads} |\n|---|{rule}\n", capital(curves.up), curves.across);
    for x in across {
        let _ = write!(table, "| {} |", figure(x));
        for (_, points) in &columns {
            let here = points.iter().find(|(at, _)| at.total_cmp(&x).is_eq());
            let _ = write!(table, " {} |", here.map_or_else(|| "–".to_owned(), |(_, y)| figure(*y)));
        }
        table.push('\n');
    }
    table
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The day of a moment, in UTC: 2026-11-17.
fn day(unix_seconds: u64) -> String {
    // Years begin in March, so that a leap day is a year's last day; an era is the 400 years after which days repeat.
    let days = unix_seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::super::catalog::ENTRIES;
    use super::super::figures::Point;
    use super::*;

    fn record() -> Record {
        let text = str::to_owned;
        let point = |series: &str, x, y| Point { series: text(series), x, y };
        Record {
            at_unix_seconds: 1_700_000_000,
            ratio: text("13.50"),
            ours: text("25200/s"),
            peer: text("1860/s"),
            machine: Machine {
                cores: text("2"),
                cpu: text("a CPU"),
                memory: text("4 kB"),
                kernel: text("6.1"),
                rustc: text("rustc 1.95.0"),
            },
            revision: text("012345678"),
            versions: [("tokio", "1.54.0"), ("onefold", "0.1.0")]
                .map(|(name, version)| (text(name), text(version)))
                .into(),
            points: vec![
                point("ours", 1.0, 900.0),
                point("ours", 64.0, 25_200.0),
                point("one-commit-per-step", 64.0, 1_860.0),
            ],
        }
    }

    fn report(size: Size) -> Report {
        let runs: Vec<_> = ENTRIES.iter().map(|entry| (entry, record())).collect();
        Report::of(size, &runs).unwrap()
    }

    #[test]
    fn the_page_says_what_is_compared_with_what() {
        let Report { page, plots } = report(Size::Measured);
        for entry in &ENTRIES {
            assert!(page.contains(entry.ours) && page.contains(entry.peer), "{page}");
        }
        assert!(page.contains("| 25200/s | 1860/s | 13.50 | 2023-11-14, 012345678 |"), "{page}");
        assert!(page.contains("2 × a CPU") && page.contains("tokio 1.54.0") && !page.contains("onefold 0.1"), "{page}");
        let files: Vec<&str> = plots.iter().map(|(file, _)| file.as_str()).collect();
        assert_eq!(files, ["ledger-sqlite.svg", "ledger-postgres.svg", "growth.svg", "growth-postgres.svg"]);
        for file in files {
            assert!(page.contains(&format!("({PLOTS}/{file})")), "{file}");
        }
    }

    #[test]
    fn points_are_also_in_a_table() {
        let curves = ENTRIES[0].curves.as_ref().unwrap();
        let table = table(curves, &record());
        assert!(table.contains("| callers at once | Onefold | one commit per step |\n|---|---|---|\n"), "{table}");
        assert!(table.ends_with("| 1 | 900 | – |\n| 64 | 25,200 | 1,860 |\n"), "{table}");
    }

    #[test]
    fn only_a_measurement_stands_without_a_warning() {
        assert!(!report(Size::Measured).page.contains("**"));
        for (size, says) in [(Size::Smoke, "the figures mean nothing"), (Size::Busy, "not a measurement to quote")] {
            let Report { page, plots } = report(size);
            assert!(page.contains(says), "{page}");
            assert!(plots.iter().all(|(_, svg)| svg.contains("run: not") || svg.contains("machine: not")));
        }
    }

    #[test]
    fn runs_of_two_machines_are_not_on_one_page() {
        let mut other = record();
        other.machine.cores = "64".to_owned();
        let wrong = Report::of(Size::Measured, &[(&ENTRIES[0], record()), (&ENTRIES[4], other)]).unwrap_err();
        assert!(wrong.contains("`growth --store postgres`"), "{wrong}");
        assert!(Report::of(Size::Measured, &[]).is_err());
    }

    #[test]
    fn a_moment_has_its_day() {
        let days = [0, 951_782_399, 951_782_400, 1_709_164_800, 1_735_689_599].map(day);
        assert_eq!(days, ["1970-01-01", "2000-02-28", "2000-02-29", "2024-02-29", "2024-12-31"]);
    }
}
