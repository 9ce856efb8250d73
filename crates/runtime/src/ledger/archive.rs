//! An archive in a folder: a file a slice, whole or not there.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use onefold_core::archive::{ArchiveRecord, Deletion};
use onefold_core::error::{ARCHIVE_DAMAGED, REQUEST_INVALID, STORE_UNAVAILABLE};
use onefold_core::ledger::Digest;
use onefold_core::port::Archive;
use onefold_core::{Error, Result, Timestamp};

/// What the files of an archive end in.
const EXTENSION: &str = "jsonl";
/// What a file ends in while it is written.
const UNFINISHED: &str = "unfinished";
/// Bytes a line may have: a result, its base64 and its escapes, with room to spare.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// An archive of JSON lines in a folder, readable by its owner alone.
///
/// What one slice of a prune deletes is one file, named by the time that its newest operation was completed at and by
/// what it holds. It has its name only after all of it is on the disk.
pub struct FileArchive {
    folder: PathBuf,
}

impl FileArchive {
    /// An archive in this folder, which is made if it is not there.
    pub fn new(folder: &Path) -> Result<Self> {
        let made = std::fs::create_dir_all(folder).and_then(|()| match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => sync(parent),
            Some(_) | None => Ok(()),
        });
        made.map_err(|cause| failed(folder, cause))?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn write(&self, name: &str, lines: &str) -> std::io::Result<()> {
        let unfinished = self.folder.join(format!(".{name}.{UNFINISHED}"));
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(lines.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&unfinished, self.folder.join(name))?;
        sync(&self.folder)
    }
}

fn sync(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

fn failed(path: &Path, cause: std::io::Error) -> Error {
    Error::new(STORE_UNAVAILABLE, format!("the archive {} cannot be written: {cause}", path.display()))
        .hint("nothing was deleted; give the folder disk space and write permission")
        .caused_by(cause)
}

impl Archive for FileArchive {
    fn keep(&self, deletion: &Deletion) -> Result<()> {
        if deletion.is_empty() {
            return Ok(());
        }
        let mut lines = String::new();
        for record in deletion.records() {
            lines.push_str(&record.to_line()?);
            lines.push('\n');
        }
        // The same slice again, after a prune that was interrupted, is the same file.
        let Digest([a, b, c, d, ..]) = Digest::of(lines.as_bytes());
        let entries = deletion.operations.iter().map(|history| &history.entry).chain(&deletion.results);
        let newest = entries.filter_map(|entry| entry.completed_at).max().unwrap_or_default();
        let name = format!("{}-{a:02x}{b:02x}{c:02x}{d:02x}.{EXTENSION}", stamp(newest));
        self.write(&name, &lines).map_err(|cause| failed(&self.folder, cause))
    }
}

/// A time to the second, as a file's name has it: `20261116T144500Z`.
fn stamp(at: Timestamp) -> String {
    let digits: String = at.to_string().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').collect();
    let whole = digits.split('.').next().unwrap_or_default();
    format!("{}Z", whole.trim_end_matches('Z'))
}

/// A line of an archive that is not what was written.
#[derive(Debug, Clone)]
pub struct DamagedLine {
    /// The file.
    pub file: PathBuf,
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// What an archive holds.
#[derive(Debug, Clone, Default)]
pub struct ArchiveReading {
    /// Its records, file by file; a prune that was interrupted may have written one twice.
    pub records: Vec<ArchiveRecord>,
    /// Lines that are not what was written.
    pub damaged: Vec<DamagedLine>,
    /// Files that an interrupted prune began: what they hold was not deleted.
    pub unfinished: Vec<PathBuf>,
}

/// Reads an archive, or one of its files, and keeps the records that are wanted.
pub fn read_archive(path: &Path, wanted: impl Fn(&ArchiveRecord) -> bool) -> Result<ArchiveReading> {
    let unreadable = |cause: std::io::Error| {
        Error::new(REQUEST_INVALID, format!("{} cannot be read: {cause}", path.display()))
            .hint("name the folder that `prune --archive` wrote to, or one of its files")
            .caused_by(cause)
    };
    let mut reading = ArchiveReading::default();
    let files = if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        let listed: std::io::Result<Vec<_>> =
            std::fs::read_dir(path).and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
        let mut files = listed.map_err(unreadable)?;
        files.sort();
        files
    } else {
        vec![path.to_owned()]
    };
    for file in files {
        match file.extension().and_then(std::ffi::OsStr::to_str) {
            Some(UNFINISHED) => reading.unfinished.push(file),
            Some(EXTENSION) => read_file(&file, &wanted, &mut reading).map_err(unreadable)?,
            _ if file == path => read_file(&file, &wanted, &mut reading).map_err(unreadable)?,
            _ => {}
        }
    }
    Ok(reading)
}

fn read_file(
    file: &Path,
    wanted: &impl Fn(&ArchiveRecord) -> bool,
    reading: &mut ArchiveReading,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(File::open(file)?);
    for number in 1.. {
        let mut line = Vec::new();
        if std::io::Read::take(&mut lines, LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let text = std::str::from_utf8(&line).ok().and_then(|line| line.strip_suffix('\n'));
        let parsed = text.map_or_else(
            || Err(Error::new(ARCHIVE_DAMAGED, "the line is damaged: it has no end, or is not text")),
            ArchiveRecord::parse,
        );
        match parsed {
            Ok(record) if wanted(&record) => reading.records.push(record),
            Ok(_) => {}
            Err(error) => {
                let why = error.detail().to_owned();
                reading.damaged.push(DamagedLine { file: file.to_owned(), line: number, why });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_a_time_that_sorts() {
        assert_eq!(stamp(Timestamp::parse("2026-11-16T14:45:00.123456Z").unwrap()), "20261116T144500Z");
        assert_eq!(stamp(Timestamp::parse("2026-11-16T14:45:00Z").unwrap()), "20261116T144500Z");
    }
}
