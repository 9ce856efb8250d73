//! What a benchmark's figures hold for: the machine, the toolchain, the versions.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::args::Size;
use crate::cargo;

/// Recorded even where they are not a direct dependency of the benchmarks.
const ALWAYS: [&str; 4] = ["libsqlite3-sys", "rusqlite", "sqlx", "tokio"];

/// Writes `target/bench/NAME.json`. A smoke run and one on a busy machine have files of their own, so that they never
/// replace a measurement.
pub(crate) fn keep(root: &Path, name: &str, size: Size, fields: &[(String, String)]) -> Result<(), String> {
    let folder = cargo::target_folder(root)?.join("bench");
    let file = folder.join(match size {
        Size::Measured => format!("{name}.json"),
        Size::Busy => format!("{name}.busy.json"),
        Size::Smoke => format!("{name}.smoke.json"),
    });
    let record = json!({
        "name": name,
        "smoke": size == Size::Smoke,
        "busy": size == Size::Busy,
        "at_unix_seconds": SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        "result": fields.iter().map(|(key, value)| (key.clone(), number_or_text(value))).collect::<BTreeMap<_, _>>(),
        "machine": machine(),
        "rustc": first_line(Command::new("rustc").arg("--version").current_dir(root)),
        "revision": first_line(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root)),
        "changed_since_revision": changed(root),
        "crates": crates(root)?,
    });
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&file, format!("{record:#}\n")))
        .map_err(|error| format!("{}: {error}", file.display()))
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

fn crates(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let metadata = cargo::metadata(root, "bench/Cargo.toml")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let dependencies = packages.flat_map(|package| package["dependencies"].as_array().into_iter().flatten());
    let mut wanted: Vec<&str> = dependencies.filter_map(|dependency| dependency["name"].as_str()).collect();
    wanted.extend(ALWAYS);
    let lock = root.join("bench/Cargo.lock");
    let lock = std::fs::read_to_string(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    Ok(versions(&lock, &wanted))
}

/// Versions from a lock file, whose form cargo fixes: `version` follows `name`.
fn versions(lock: &str, wanted: &[&str]) -> BTreeMap<String, String> {
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
        let versions = versions(LOCK, &["tokio", "hashbrown", "absent"]);
        let versions: Vec<_> = versions.iter().map(|(name, version)| (name.as_str(), version.as_str())).collect();
        assert_eq!(versions, [("hashbrown", "0.15.0, 0.16.0"), ("tokio", "1.54.0")]);
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
