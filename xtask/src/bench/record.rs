//! What a benchmark's figures hold for: the machine, the toolchain, the versions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::figures::{Figures, Point};
use super::{MANIFEST, PEER_MANIFEST};
use crate::args::Size;
use crate::cargo;

/// Recorded even where they are not a direct dependency of the benchmarks.
const ALWAYS: [&str; 4] = ["libsqlite3-sys", "rusqlite", "sqlx", "tokio"];
/// Names the peers that come from npm.
const NODE_PACKAGE: &str = "bench/restate/package.json";

/// What the report reads of a run that was kept.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) at_unix_seconds: u64,
    pub(super) ratio: String,
    pub(super) ours: String,
    pub(super) peer: String,
    /// As `machine` found it, and the toolchain.
    pub(super) machine: Machine,
    /// The revision, with a mark where the tree had changes.
    pub(super) revision: String,
    pub(super) versions: BTreeMap<String, String>,
    pub(super) points: Vec<Point>,
}

/// What must be the same for runs that stand on one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) cores: String,
    pub(super) cpu: String,
    pub(super) memory: String,
    pub(super) kernel: String,
    pub(super) rustc: String,
}

/// Where benchmarks leave what they found.
pub(super) fn folder(root: &Path) -> Result<PathBuf, String> {
    Ok(cargo::target_folder(root)?.join("bench"))
}

/// `NAME.json`. A smoke run and one on a busy machine have files of their own, so that they never replace a measurement.
fn file_name(name: &str, size: Size) -> String {
    match size {
        Size::Measured => format!("{name}.json"),
        Size::Busy => format!("{name}.busy.json"),
        Size::Smoke => format!("{name}.smoke.json"),
    }
}

/// Writes the figures beside what they hold for.
pub(super) fn keep(root: &Path, name: &str, size: Size, figures: &Figures) -> Result<(), String> {
    let folder = folder(root)?;
    let file = folder.join(file_name(name, size));
    let mut versions = versions(root)?;
    versions.extend(figures.versions.iter().cloned());
    let points: Vec<Value> =
        figures.points.iter().map(|point| json!({ "series": point.series, "x": point.x, "y": point.y })).collect();
    let record = json!({
        "name": name,
        "smoke": size == Size::Smoke,
        "busy": size == Size::Busy,
        "at_unix_seconds": SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        "result": figures.result.iter().map(|(key, value)| (key.clone(), number_or_text(value))).collect::<BTreeMap<_, _>>(),
        "points": points,
        "machine": machine(),
        "rustc": first_line(Command::new("rustc").arg("--version").current_dir(root)),
        "revision": first_line(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root)),
        "changed_since_revision": changed(root),
        "versions": versions,
    });
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&file, format!("{record:#}\n")))
        .map_err(|error| format!("{}: {error}", file.display()))
}

/// The last run of this size that was kept; none where there was none.
pub(super) fn last(root: &Path, name: &str, size: Size) -> Result<Option<Record>, String> {
    let file = folder(root)?.join(file_name(name, size));
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", file.display())),
    };
    let wrong = |why: &str| format!("{}: {why}", file.display());
    let value: Value = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
    if value["smoke"] != json!(size == Size::Smoke) || value["busy"] != json!(size == Size::Busy) {
        return Err(wrong("the run was of another size than the name of its file says"));
    }
    parsed(&value).map(Some).ok_or_else(|| wrong("it is not the record of a run; run the benchmark again"))
}

fn parsed(value: &Value) -> Option<Record> {
    let machine = &value["machine"];
    let revision = value["revision"].as_str().map_or("unknown", |revision| revision.get(..9).unwrap_or(revision));
    let mark = if value["changed_since_revision"] == json!(true) { " with changes" } else { "" };
    let point = |point: &Value| {
        Some(Point { series: point["series"].as_str()?.to_owned(), x: point["x"].as_f64()?, y: point["y"].as_f64()? })
    };
    Some(Record {
        at_unix_seconds: value["at_unix_seconds"].as_u64()?,
        ratio: value["result"]["ratio"].as_f64().map(|ratio| format!("{ratio:.2}"))?,
        ours: shown(&value["result"]["ours"]),
        peer: shown(&value["result"]["peer"]),
        machine: Machine {
            cores: shown(&machine["cores"]),
            cpu: shown(&machine["cpu"]),
            memory: shown(&machine["memory"]),
            kernel: shown(&machine["kernel"]),
            rustc: shown(&value["rustc"]),
        },
        revision: format!("{revision}{mark}"),
        versions: value["versions"].as_object()?.iter().map(|(name, version)| (name.clone(), shown(version))).collect(),
        points: value["points"].as_array()?.iter().map(point).collect::<Option<_>>()?,
    })
}

/// Text without its quotes; what could not be found out is unknown.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "unknown".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn number_or_text(value: &str) -> Value {
    value.parse::<f64>().ok().filter(|number| number.is_finite()).map_or_else(|| json!(value), |number| json!(number))
}

/// What cannot be found out here is null.
fn machine() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    json!({
        "cores": std::thread::available_parallelism().map_or(Value::Null, |cores| json!(cores.get())),
        "cpu": field(&read("/proc/cpuinfo"), "model name"),
        "memory": field(&read("/proc/meminfo"), "MemTotal"),
        "kernel": (!kernel.is_empty()).then(|| kernel.trim()),
    })
}

/// The value of the first `key: value` line.
fn field(text: &str, key: &str) -> Option<String> {
    let value = text.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == key)?.1;
    Some(value.trim().to_owned())
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

fn changed(root: &Path) -> Option<bool> {
    let output = Command::new("git").args(["status", "--porcelain"]).current_dir(root).output().ok()?;
    output.status.success().then_some(!output.stdout.is_empty())
}

/// Versions of what the benchmarks and their peers are built with.
fn versions(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    let metadata = cargo::metadata(root, MANIFEST)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let dependencies = packages.flat_map(|package| package["dependencies"].as_array().into_iter().flatten());
    let mut wanted: Vec<&str> = dependencies.filter_map(|dependency| dependency["name"].as_str()).collect();
    wanted.extend(ALWAYS);
    let mut versions = locked(&read(&MANIFEST.replace(".toml", ".lock"))?, &wanted);
    versions.extend(locked(&read(&PEER_MANIFEST.replace(".toml", ".lock"))?, &["restate-sdk"]));
    let node: Value = serde_json::from_str(&read(NODE_PACKAGE)?).map_err(|error| format!("{NODE_PACKAGE}: {error}"))?;
    let node = node["dependencies"].as_object().into_iter().flatten();
    versions.extend(node.map(|(name, version)| (name.clone(), shown(version))));
    Ok(versions)
}

/// Versions from a lock file, whose form cargo fixes: `version` follows `name`.
fn locked(lock: &str, wanted: &[&str]) -> BTreeMap<String, String> {
    let mut versions: BTreeMap<String, String> = BTreeMap::new();
    let mut package = None;
    for line in lock.lines() {
        if let Some(name) = quoted(line, "name") {
            package = Some(name).filter(|name| wanted.contains(name));
        } else if let (Some(version), Some(name)) = (quoted(line, "version"), package) {
            let known = versions.entry(name.to_owned()).or_default();
            let separator = if known.is_empty() { "" } else { ", " };
            known.push_str(separator);
            known.push_str(version);
            package = None;
        }
    }
    versions
}

fn quoted<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "\
version = 4

[[package]]
name = \"hashbrown\"
version = \"0.15.0\"

[[package]]
name = \"tokio\"
version = \"1.54.0\"
source = \"registry\"

[[package]]
name = \"hashbrown\"
version = \"0.16.0\"
";

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let versions = locked(LOCK, &["tokio", "hashbrown", "absent"]);
        let versions: Vec<_> = versions.iter().map(|(name, version)| (name.as_str(), version.as_str())).collect();
        assert_eq!(versions, [("hashbrown", "0.15.0, 0.16.0"), ("tokio", "1.54.0")]);
    }

    fn record() -> Value {
        json!({
            "at_unix_seconds": 1_700_000_000_u64,
            "result": { "ratio": 13.5, "ours": "25200/s", "peer": "1860/s" },
            "machine": { "cores": 2, "cpu": "a CPU", "memory": "4 kB", "kernel": null },
            "rustc": "rustc 1.95.0",
            "revision": "0123456789abcdef",
            "changed_since_revision": true,
            "versions": { "tokio": "1.54.0" },
            "points": [{ "series": "ours", "x": 64.0, "y": 25_200.0 }],
        })
    }

    #[test]
    fn a_record_is_read_as_it_was_kept() {
        let read = parsed(&record()).unwrap();
        assert_eq!([&*read.ratio, &*read.ours, &*read.peer], ["13.50", "25200/s", "1860/s"]);
        assert_eq!(read.revision, "012345678 with changes");
        assert_eq!([&*read.machine.cores, &*read.machine.kernel], ["2", "unknown"]);
        assert_eq!(read.points, [Point { series: "ours".to_owned(), x: 64.0, y: 25_200.0 }]);
    }

    #[test]
    fn a_record_without_points_is_of_an_older_form() {
        let mut older = record();
        older.as_object_mut().unwrap().remove("points");
        assert!(parsed(&older).is_none());
    }

    #[test]
    fn only_a_measurement_has_the_plain_name() {
        let names = [Size::Measured, Size::Busy, Size::Smoke].map(|size| file_name("api", size));
        assert_eq!(names, ["api.json", "api.busy.json", "api.smoke.json"]);
    }

    #[test]
    fn figures_are_numbers_where_they_can_be() {
        assert_eq!(number_or_text("2.5"), json!(2.5));
        assert_eq!(number_or_text("2.5x"), json!("2.5x"));
        assert_eq!(number_or_text("nan"), json!("nan"));
    }

    #[test]
    fn a_field_is_the_first_line_of_that_name() {
        let text = "MemTotal:       100 kB\nMemFree: 5 kB\n";
        assert_eq!(field(text, "MemTotal").as_deref(), Some("100 kB"));
        assert_eq!(field(text, "SwapTotal"), None);
    }
}
