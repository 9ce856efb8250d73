//! Output as it is recorded: each stream by itself, byte for byte, up to a limit.

use std::borrow::Cow;
use std::io::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Bytes of each stream that are kept.
pub(super) const STREAM_BYTES_MAX: usize = 1024 * 1024;
/// Bytes a result may have: two streams in base64, and their frame.
pub(super) const RESULT_BYTES_MAX: usize = 3 * 1024 * 1024;

/// What a command wrote, and how it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommandOutput {
    pub(super) code: u8,
    pub(super) stdout: Stream,
    pub(super) stderr: Stream,
}

/// One stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stream {
    bytes: Vec<u8>,
    /// How many there were in all.
    total: u64,
}

impl Stream {
    /// Keeps what fits.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        let room = STREAM_BYTES_MAX - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.total += bytes.len() as u64;
    }

    fn to_json(&self) -> Value {
        json!({ "base64": STANDARD.encode(&self.bytes), "bytes": self.total })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let bytes = STANDARD.decode(value["base64"].as_str()?).ok()?;
        Some(Self { bytes, total: value["bytes"].as_u64()? })
    }
}

impl CommandOutput {
    /// The result as it is recorded.
    pub(super) fn to_json(&self, code: u8) -> Value {
        json!({ "exitCode": code, "stdout": self.stdout.to_json(), "stderr": self.stderr.to_json() })
    }

    /// A recorded result, unless it is something else's.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        Some(Self {
            code: u8::try_from(value["exitCode"].as_u64()?).ok()?,
            stdout: Stream::from_json(&value["stdout"])?,
            stderr: Stream::from_json(&value["stderr"])?,
        })
    }

    /// Writes each stream to where it came from; one that was cut ends with a line that says so.
    pub(super) fn replay(&self) -> io::Result<()> {
        io::stdout().write_all(&self.stdout.shown())?;
        io::stdout().flush()?;
        io::stderr().write_all(&self.stderr.shown())
    }

    /// Whether there was more than what is kept.
    pub(super) fn is_cut(&self) -> bool {
        self.stdout.is_cut() || self.stderr.is_cut()
    }
}

impl Stream {
    fn is_cut(&self) -> bool {
        self.total > self.bytes.len() as u64
    }

    /// What is kept, as it is shown again: a cut stream ends after its last whole line, and then says what is missing.
    fn shown(&self) -> Cow<'_, [u8]> {
        if !self.is_cut() {
            return Cow::Borrowed(&self.bytes);
        }
        let mut shown = match self.bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => self.bytes[..=end].to_vec(),
            None => [&self.bytes[..], b"\n"].concat(),
        };
        let missing = self.total - shown.len().min(self.bytes.len()) as u64;
        let last = format!("[onefold: the last {missing} of {} bytes were not kept]\n", self.total);
        shown.extend_from_slice(last.as_bytes());
        Cow::Owned(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_read_back_byte_for_byte() {
        let mut kept = CommandOutput { code: 3, ..CommandOutput::default() };
        kept.stdout.keep(&[0, 255, b'\n', b'"', 0xC3]);
        kept.stderr.keep(b"");
        assert_eq!(CommandOutput::from_json(&kept.to_json(3)), Some(kept));
    }

    #[test]
    fn a_long_stream_is_cut_and_says_so() {
        let mut kept = CommandOutput::default();
        for _ in 0..3 {
            kept.stderr.keep(&vec![b'x'; STREAM_BYTES_MAX / 2]);
        }
        assert!(kept.is_cut());
        assert_eq!(kept.stderr.bytes.len(), STREAM_BYTES_MAX);
        assert!(kept.to_json(0).to_string().len() < RESULT_BYTES_MAX);
    }

    #[test]
    fn a_cut_stream_ends_after_a_whole_line_and_says_what_is_missing() {
        let mut stream = Stream::default();
        stream.keep(b"one\ntwo\nthr");
        assert_eq!(stream.shown(), &b"one\ntwo\nthr"[..]);
        stream.total = 20;
        assert_eq!(stream.shown(), &b"one\ntwo\n[onefold: the last 12 of 20 bytes were not kept]\n"[..]);
        let mut binary = Stream::default();
        binary.keep(&[0, 1, 2]);
        binary.total = 9;
        assert_eq!(binary.shown(), &b"\x00\x01\x02\n[onefold: the last 6 of 9 bytes were not kept]\n"[..]);
    }

    #[test]
    fn what_another_boundary_recorded_is_not_taken_for_output() {
        assert_eq!(CommandOutput::from_json(&json!({ "id": "NTC-1" })), None);
        assert_eq!(CommandOutput::from_json(&Value::Null), None);
    }
}
