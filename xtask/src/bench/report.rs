//! `cargo xtask bench report`: every benchmark one after the other, and the page of what they showed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::catalog::{ENTRIES, Entry, untold};
use super::page::{PLOTS, Report};
use super::record::{self, Record};
use crate::args::{ReportSource, Size};
use crate::services::{Install, Session};

/// The page's name in its folder.
const PAGE: &str = "benchmarks.md";

/// Runs what is to be run, and writes page and plots.
pub(crate) fn command(root: &Path, source: ReportSource, size: Size, install: Install) -> Result<ExitCode, String> {
    let names = super::names(root)?;
    let untold = untold(&names);
    if !untold.is_empty() {
        return Err(format!("xtask/src/bench/catalog.rs does not say what is compared in {}", untold.join(", ")));
    }
    match source {
        ReportSource::Runs => run_all(root, size, install)?,
        ReportSource::Kept => {}
    }
    let report = Report::of(size, &kept(root, size)?)?;
    let page = write(&folder(root, size)?, &report)?;
    println!("{}", page.display());
    Ok(ExitCode::SUCCESS)
}

/// All of them, also when one fails: what the others found is kept.
fn run_all(root: &Path, size: Size, install: Install) -> Result<(), String> {
    let services = Session::default();
    let mut failed = Vec::new();
    for entry in &ENTRIES {
        let run = entry.run(size);
        if let Err(why) = super::run(root, &run, &services, install) {
            eprintln!("error: {}: {why}", run.kept_as());
            failed.push(run.kept_as());
        }
    }
    services.close()?;
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "no report, because these failed: {}; run each with `cargo xtask bench NAME`, then `cargo xtask bench report --kept`",
        failed.join(", ")
    ))
}

fn kept(root: &Path, size: Size) -> Result<Vec<(&'static Entry, Record)>, String> {
    let (mut runs, mut missing) = (Vec::new(), Vec::new());
    for entry in &ENTRIES {
        let name = entry.run(size).kept_as();
        match record::last(root, &name, size)? {
            Some(record) => runs.push((entry, record)),
            None => missing.push(name),
        }
    }
    if missing.is_empty() { Ok(runs) } else { Err(format!("no run was kept of {}", missing.join(", "))) }
}

/// Only a measurement is documentation.
fn folder(root: &Path, size: Size) -> Result<PathBuf, String> {
    match size {
        Size::Measured => Ok(root.join("docs")),
        Size::Busy => Ok(record::folder(root)?.join("report.busy")),
        Size::Smoke => Ok(record::folder(root)?.join("report.smoke")),
    }
}

/// Writes the plots, then the page that links to them.
fn write(folder: &Path, report: &Report) -> Result<PathBuf, String> {
    let plots = folder.join(PLOTS);
    std::fs::create_dir_all(&plots).map_err(|error| format!("{}: {error}", plots.display()))?;
    let page = folder.join(PAGE);
    let plots = report.plots.iter().map(|(file, svg)| (plots.join(file), svg));
    for (file, text) in plots.chain([(page.clone(), &report.page)]) {
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_measurement_is_written_into_the_documentation() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(folder(root, Size::Measured), Ok(root.join("docs")));
        for size in [Size::Busy, Size::Smoke] {
            assert!(!folder(root, size).unwrap().starts_with(root.join("docs")));
        }
    }

    #[test]
    fn the_plots_are_where_the_page_looks_for_them() {
        let folder = std::env::temp_dir().join(format!("onefold-report-{}", std::process::id()));
        let report = Report { page: "page".to_owned(), plots: vec![("a.svg".to_owned(), "<svg/>".to_owned())] };
        let page = write(&folder, &report).unwrap();
        assert_eq!(std::fs::read_to_string(page).unwrap(), "page");
        assert_eq!(std::fs::read_to_string(folder.join("benchmarks/a.svg")).unwrap(), "<svg/>");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
