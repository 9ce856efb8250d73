//! Tables that people read, and the same as JSON.

use std::fmt;
use std::io::Write as _;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use onefold_core::Error;
use onefold_core::error::OUTPUT_NOT_WRITTEN;

use crate::exit::{Exit, complain};

/// What a shell sees of a program whose reader went away.
const READER_GONE: i32 = 141;

/// Prints a part of a line; the reader may have seen enough.
macro_rules! say {
    ($($text:tt)*) => { $crate::table::write(format_args!($($text)*)) };
}

/// Prints a line; the reader may have seen enough.
macro_rules! say_line {
    ($($text:tt)*) => { $crate::table::write(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use {say, say_line};

/// Writes to stdout; ends quietly when nobody reads it any more, as other tools do, and loudly when it cannot be written.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    match std::io::stdout().write_fmt(text).and_then(|()| std::io::stdout().flush()) {
        Ok(()) => {}
        Err(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(READER_GONE),
        Err(cause) => {
            complain(
                &Error::new(OUTPUT_NOT_WRITTEN, format!("the output cannot be written: {cause}"))
                    .hint("look at where standard output goes; what the command did is done"),
            );
            std::process::exit(Exit::OutputLost as i32);
        }
    }
}

/// A table with this head and these rows.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    table_with_numbers(head, &[], rows)
}

/// The same; numbers are in these columns, and end under each other.
pub(crate) fn table_with_numbers<const N: usize>(
    head: [&str; N],
    numbers: &[usize],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(head);
    for row in rows {
        table.add_row(row);
    }
    for index in numbers {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.to_string();
    lines.lines().map(|line| line.trim_end().strip_prefix(' ').unwrap_or(line.trim_end()).to_owned() + "\n").collect()
}

/// A time as people read it: the day, and the time to the second, UTC.
pub(crate) fn short_time(at: &str) -> String {
    match (at.get(..10), at.get(11..19)) {
        (Some(day), Some(time)) => format!("{day} {time}"),
        _ => at.to_owned(),
    }
}

/// How long ago something was, in words.
pub(crate) fn ago(then: onefold_core::Timestamp, now: onefold_core::Timestamp) -> String {
    match now.since(then).as_secs() {
        0..=1 => "just now".to_owned(),
        seconds => format!("{} ago", age(seconds)),
    }
}

/// How old something is, in words.
pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// One or many of something.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// Prints a value for scripts, with the ledger that it comes from.
pub(crate) fn print_json_of(ledger: &str, mut value: serde_json::Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert("ledger".to_owned(), ledger.into());
    }
    print_json(&value);
}

/// Prints a value for scripts.
pub(crate) fn print_json(value: &serde_json::Value) {
    say_line!("{value:#}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use onefold_core::Timestamp;

    #[test]
    fn columns_stand_under_each_other() {
        let shown = table(["id", "status"], [["A".into(), "COMPLETED".into()], ["LONG-ID".into(), "UNKNOWN".into()]]);
        assert_eq!(shown, "id       status\nA        COMPLETED\nLONG-ID  UNKNOWN\n");
    }

    #[test]
    fn times_are_told_in_words() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let rows = [(0, "just now"), (90, "90 s ago"), (180, "3 min ago"), (9_000, "2 h ago"), (400_000, "4 days ago")];
        for (seconds, words) in rows {
            assert_eq!(ago(at(0), at(seconds)), words);
        }
    }
}
