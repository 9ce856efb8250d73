//! Reads topics with another client than ours.

use std::process::Command;

/// A record as it is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedRecord {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) key: String,
    pub(crate) timestamp: i64,
    /// `name=value`, in order.
    pub(crate) headers: Vec<String>,
    pub(crate) value: String,
}

impl LoggedRecord {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|header| header.strip_prefix(name)?.strip_prefix('='))
    }

    pub(crate) fn id(&self) -> &str {
        self.header("ce_id").expect("every record is an event")
    }

    pub(crate) fn position(&self) -> String {
        format!("{}/{}", self.partition, self.offset)
    }
}

/// Everything that readers of committed records see, by partition and offset.
pub(crate) fn committed(broker: &str, topic: &str) -> Vec<LoggedRecord> {
    let mut command = Command::new("kcat");
    command.args(["-b", broker, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-E"]);
    let output = command.args(["-f", "%p\t%o\t%k\t%T\t%h\t%s\n"]).output().expect("`kcat` runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut records: Vec<LoggedRecord> = String::from_utf8_lossy(&output.stdout).lines().map(parse).collect();
    records.sort_by_key(|record| (record.partition, record.offset));
    records
}

fn parse(line: &str) -> LoggedRecord {
    let fields: Vec<&str> = line.splitn(6, '\t').collect();
    let [partition, offset, key, timestamp, headers, value] = fields[..] else { panic!("not a record: {line:?}") };
    LoggedRecord {
        partition: partition.parse().expect("a partition"),
        offset: offset.parse().expect("an offset"),
        key: key.to_owned(),
        timestamp: timestamp.parse().expect("a time"),
        headers: headers.split(',').map(str::to_owned).collect(),
        value: value.to_owned(),
    }
}
