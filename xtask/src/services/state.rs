//! What is remembered of the services between two commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Service;
use super::progress::say;

/// How long a service is meant to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Somebody asked for it, and will say when it is enough.
    Down,
    /// Suites needed it; the last run that uses it stops it.
    SuitesEnd,
}

/// One service that was started at least once. It may have ended since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) folder: PathBuf,
    pub(super) ports: Vec<u16>,
    pub(super) pid: Option<u32>,
    pub(super) until: Until,
}

/// The state file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) records: BTreeMap<Service, Record>,
}

impl State {
    /// An unreadable file is as good as none: processes are found by their markers too.
    pub(super) fn read(file: &Path) -> Self {
        let Ok(text) = std::fs::read_to_string(file) else { return Self::default() };
        Self::parse(&text).unwrap_or_else(|why| {
            say("services", &format!("{} is damaged ({why}): starting from none", file.display()));
            Self::default()
        })
    }

    /// Replaces the file at once, so that a reader finds the old text or the new.
    pub(super) fn write(&self, file: &Path) -> Result<(), String> {
        let new = file.with_extension("new");
        let written = std::fs::write(&new, self.render()).and_then(|()| std::fs::rename(&new, file));
        written.map_err(|error| format!("{}: {error}", file.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let services = value.as_object().ok_or("it is not an object")?;
        let mut records = BTreeMap::new();
        for (name, value) in services {
            records.insert(Service::named(name)?, record(value).ok_or_else(|| format!("`{name}` is incomplete"))?);
        }
        Ok(Self { records })
    }

    fn render(&self) -> String {
        let mut services = serde_json::Map::new();
        for (service, Record { folder, ports, pid, until }) in &self.records {
            let until = match until {
                Until::Down => "down",
                Until::SuitesEnd => "suites end",
            };
            let value = json!({ "folder": folder, "ports": ports, "pid": pid, "until": until });
            services.insert(service.name().to_owned(), value);
        }
        format!("{:#}\n", Value::Object(services))
    }
}

fn record(value: &Value) -> Option<Record> {
    let port = |port: &Value| u16::try_from(port.as_u64()?).ok();
    Some(Record {
        folder: value["folder"].as_str()?.into(),
        ports: value["ports"].as_array()?.iter().map(port).collect::<Option<_>>()?,
        pid: value["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()),
        until: match value["until"].as_str()? {
            "down" => Until::Down,
            "suites end" => Until::SuitesEnd,
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let postgres =
            Record { folder: "target/services/postgres".into(), ports: vec![20_001], pid: Some(7), until: Until::Down };
        let bouncer = Record { folder: "a \"b\"".into(), ports: vec![20_002], pid: None, until: Until::SuitesEnd };
        State { records: [(Service::Postgres, postgres), (Service::PgBouncer, bouncer)].into() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(State::parse(&state().render()), Ok(state()));
        assert_eq!(State::parse(&State::default().render()), Ok(State::default()));
    }

    #[test]
    fn a_damaged_file_says_what_is_wrong() {
        for text in ["", "[]", r#"{"mysql": {}}"#, r#"{"postgres": {"ports": [70000]}}"#] {
            assert!(State::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_missing_file_is_an_empty_state() {
        assert_eq!(State::read(Path::new("no/such/file")), State::default());
    }
}
