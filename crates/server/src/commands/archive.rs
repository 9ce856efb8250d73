//! `onefold archive`: reads what `prune --archive` wrote.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use onefold_core::archive::ArchiveRecord;
use onefold_core::error::OPERATION_NOT_FOUND;
use onefold_core::ledger::StoredResult;
use onefold_core::{Error, Result, Timestamp};
use onefold_runtime::{ArchiveReading, read_archive};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::table::{count, print_json, say, say_line, short_time, table};

/// What of the archive.
#[derive(Debug, clap::Args)]
pub(crate) struct ArchiveArgs {
    #[command(subcommand)]
    verb: ArchiveVerb,
}

#[derive(Debug, Subcommand)]
enum ArchiveVerb {
    /// Show what an archive holds
    #[command(
        after_help = "A line that was cut or changed is told, and the command ends with 65.\nA prune that was interrupted may have written an operation twice.\n\nExamples:\n  onefold archive show ./archive\n  onefold archive show ./archive CASE-7:NOTICE\n  onefold archive show ./archive --json"
    )]
    Show {
        /// The folder that `prune --archive` wrote to, or one of its files
        #[arg(value_name = "FOLDER|FILE")]
        path: PathBuf,
        /// Only what belongs to the operation with this id
        id: Option<String>,
    },
}

pub(crate) fn archive(args: ArchiveArgs, as_json: bool) -> Result<ExitCode> {
    let ArchiveVerb::Show { path, id } = args.verb;
    let wanted =
        |record: &ArchiveRecord| id.as_ref().is_none_or(|id| record.key().is_some_and(|key| key.id.as_str() == id));
    let read = read_archive(&path, wanted)?;
    if as_json {
        print_json(&shown(&read)?);
    } else {
        show(&read);
    }
    if !read.damaged.is_empty() {
        return Ok(Exit::BadData.into());
    }
    match id {
        Some(id) if read.records.is_empty() => {
            Err(Error::new(OPERATION_NOT_FOUND, format!("{} holds no operation {id:?}", path.display())))
        }
        Some(_) | None => Ok(ExitCode::SUCCESS),
    }
}

fn shown(read: &ArchiveReading) -> Result<Value> {
    let records =
        read.records.iter().map(|record| Ok(json!({ "record": record.name(), "content": record.content()? })));
    let damaged = read.damaged.iter().map(|line| json!({ "file": line.file, "line": line.line, "why": line.why }));
    Ok(json!({
        "records": records.collect::<Result<Vec<_>>>()?,
        "damaged": damaged.collect::<Vec<_>>(),
        "unfinished": read.unfinished,
    }))
}

fn show(read: &ArchiveReading) {
    if read.records.is_empty() {
        say_line!("nothing is archived here");
    } else {
        say!("{}", table(["record", "kind", "operation", "at", "what"], read.records.iter().map(row)));
    }
    for line in &read.damaged {
        eprintln!("{}:{}: {}", line.file.display(), line.line, line.why);
    }
    for file in &read.unfinished {
        eprintln!("{}: left by a prune that was interrupted; what it holds was not deleted", file.display());
    }
}

fn row(record: &ArchiveRecord) -> [String; 5] {
    let (kind, id) = record.key().map_or_else(Default::default, |key| (key.kind.to_string(), key.id.to_string()));
    let (at, what) = match record {
        ArchiveRecord::Operation(entry) => {
            (entry.completed_at, format!("{}{}", entry.status, size(entry.result.as_ref())))
        }
        ArchiveRecord::Attempt(attempt) => {
            (Some(attempt.ended_at), format!("fence {} {}, {}", attempt.fence, attempt.ending, attempt.worker))
        }
        ArchiveRecord::Note(_, note) => (Some(note.at), format!("{}: {}", note.who, note.what)),
        ArchiveRecord::Incident(incident) => (incident.closed_at, format!("{} {}", incident.id, incident.error_code)),
        ArchiveRecord::Result(_, result) => (None, format!("dropped{}", size(Some(result)))),
    };
    let at = at.map_or_else(String::new, |at: Timestamp| short_time(&at.to_string()));
    [record.name().to_owned(), kind, id, at, what]
}

/// How large a result is; its content is for `--json`.
fn size(result: Option<&StoredResult>) -> String {
    match result {
        Some(StoredResult::Kept { bytes, content_type }) => {
            format!(", {} of {content_type}", count(bytes.len() as u64, "byte", "bytes"))
        }
        Some(StoredResult::Digest { bytes, .. }) => {
            format!(", {} not kept", count(*bytes, "byte", "bytes"))
        }
        Some(StoredResult::Damaged { bytes, .. }) => {
            format!(", {} that are not the recorded ones", count(bytes.len() as u64, "byte", "bytes"))
        }
        None => String::new(),
    }
}
