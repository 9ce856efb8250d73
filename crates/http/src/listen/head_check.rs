//! Refuses an HTTP/1.1 head that gives its body two lengths.
//!
//! The server below takes the chunks, drops `Content-Length` without a word and closes the connection after its answer.
//! That is safe and allowed (RFC 9112, 6.1), but a sender of both is mistaken or malicious. So the bytes are watched
//! on their way: a head with both is made unreadable at its last byte, and is answered with 400 like any other.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A line that is longer is refused below.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// A client's connection, watched.
pub(super) struct HeadCheck<I> {
    io: I,
    watch: Watch,
}

impl<I> HeadCheck<I> {
    pub(super) fn new(io: I) -> Self {
        Self { io, watch: Watch { at: HeadPosition::Start, line: Vec::new(), head: Head::default() } }
    }
}

/// Follows one message after the other.
struct Watch {
    at: HeadPosition,
    /// What was read of the line that is being read.
    line: Vec<u8>,
    head: Head,
}

/// Where in a message the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadPosition {
    Start,
    Header,
    /// So many bytes of the body are left.
    Body(u64),
    ChunkSize,
    /// So many bytes of a chunk are left.
    Chunk(u64),
    ChunkEnd,
    Trailer,
    /// It is something else, or malformed: the reader decides.
    Unwatched,
}

/// What a head says about its body.
#[derive(Debug, Clone, Copy, Default)]
struct Head {
    length: Option<u64>,
    coded: bool,
    upgrades: bool,
}

impl Watch {
    /// Follows these bytes; the last one of a head that contradicts itself is made unreadable.
    fn follow(&mut self, bytes: &mut [u8]) {
        let mut next = 0;
        while next < bytes.len() {
            match self.at {
                HeadPosition::Unwatched => return,
                HeadPosition::Body(left) | HeadPosition::Chunk(left) => {
                    let here = u64::try_from(bytes.len() - next).unwrap_or(u64::MAX).min(left);
                    next += usize::try_from(here).unwrap_or(usize::MAX);
                    self.at = match (self.at, left - here) {
                        (HeadPosition::Chunk(_), 0) => HeadPosition::ChunkEnd,
                        (HeadPosition::Chunk(_), left) => HeadPosition::Chunk(left),
                        (_, 0) => HeadPosition::Start,
                        (_, left) => HeadPosition::Body(left),
                    };
                }
                HeadPosition::Start
                | HeadPosition::Header
                | HeadPosition::ChunkSize
                | HeadPosition::ChunkEnd
                | HeadPosition::Trailer => {
                    let rest = &bytes[next..];
                    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                        self.line.extend_from_slice(rest);
                        if self.line.len() > LINE_BYTES_MAX {
                            self.at = HeadPosition::Unwatched;
                        }
                        return;
                    };
                    // Most lines are here as a whole.
                    let mut begun = std::mem::take(&mut self.line);
                    let line = if begun.is_empty() {
                        &rest[..end]
                    } else {
                        begun.extend_from_slice(&rest[..end]);
                        &begun
                    };
                    self.at = if line.len() > LINE_BYTES_MAX {
                        HeadPosition::Unwatched
                    } else {
                        self.ended(line.strip_suffix(b"\r").unwrap_or(line))
                    };
                    next += end + 1;
                    if self.at == HeadPosition::Unwatched && self.head.contradicts() {
                        bytes[next - 1] = 0;
                    }
                }
            }
        }
    }

    /// Where the byte after this line is.
    fn ended(&mut self, line: &[u8]) -> HeadPosition {
        match self.at {
            // Empty lines before a message are passed over; one ends the trailers.
            HeadPosition::Start | HeadPosition::Trailer if line.is_empty() => HeadPosition::Start,
            HeadPosition::Start if line.starts_with(b"PRI ") => HeadPosition::Unwatched,
            HeadPosition::Start => {
                self.head = Head::default();
                HeadPosition::Header
            }
            HeadPosition::Header if line.is_empty() => self.head.body(),
            HeadPosition::Header => self.head.read(line),
            HeadPosition::ChunkSize => match size(line) {
                None => HeadPosition::Unwatched,
                Some(0) => HeadPosition::Trailer,
                Some(bytes) => HeadPosition::Chunk(bytes),
            },
            HeadPosition::ChunkEnd if line.is_empty() => HeadPosition::ChunkSize,
            HeadPosition::Trailer => HeadPosition::Trailer,
            HeadPosition::ChunkEnd | HeadPosition::Body(_) | HeadPosition::Chunk(_) | HeadPosition::Unwatched => {
                HeadPosition::Unwatched
            }
        }
    }
}

impl Head {
    fn contradicts(self) -> bool {
        self.coded && self.length.is_some()
    }

    /// Where the byte after the head is.
    fn body(self) -> HeadPosition {
        match (self.coded, self.length) {
            (true, Some(_)) => HeadPosition::Unwatched,
            _ if self.upgrades => HeadPosition::Unwatched,
            (true, None) => HeadPosition::ChunkSize,
            (false, None | Some(0)) => HeadPosition::Start,
            (false, Some(length)) => HeadPosition::Body(length),
        }
    }

    fn read(&mut self, line: &[u8]) -> HeadPosition {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = (line[..colon].trim_ascii(), line.get(colon + 1..).unwrap_or_default().trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            // A length that is none is refused below.
            self.length = Some(decimal(value).unwrap_or(0));
        }
        self.coded |= name.eq_ignore_ascii_case(b"transfer-encoding");
        self.upgrades |= name.eq_ignore_ascii_case(b"upgrade");
        HeadPosition::Header
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii();
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

impl<I: AsyncRead + Unpin> AsyncRead for HeadCheck<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(context, buffer);
        if matches!(polled, Poll::Ready(Ok(()))) {
            self.watch.follow(&mut buffer.filled_mut()[before..]);
        }
        polled
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for HeadCheck<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the first byte was made unreadable, with the text in pieces of this size.
    fn stopped(text: &str, piece: usize) -> Option<usize> {
        let mut watch = HeadCheck::new(()).watch;
        let mut bytes = text.as_bytes().to_vec();
        for piece in bytes.chunks_mut(piece) {
            watch.follow(piece);
        }
        bytes.iter().position(|byte| *byte == 0)
    }

    const BOTH: &str = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n";

    #[test]
    fn a_head_with_two_lengths_is_stopped_wherever_it_stands() {
        let before = [
            "",
            "\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST / HTTP/1.1\nContent-Length: 5\n\nab\n\nc",
            "POST / HTTP/1.1\r\nTRANSFER-ENCODING: chunked\r\n\r\n3;x=y\r\na\r\n\r\n0\r\nX-Sum: 1\r\n\r\n",
        ];
        for before in before {
            let text = format!("{before}{BOTH}0\r\n\r\n");
            for piece in [1, 2, 7, 4096] {
                assert_eq!(stopped(&text, piece), Some(before.len() + BOTH.len() - 1), "{before:?} {piece}");
            }
        }
    }

    #[test]
    fn everything_else_passes_as_it_is() {
        let rows = [
            "POST / HTTP/1.1\r\nContent-Length: 66\r\n\r\n".to_owned() + BOTH,
            format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n42\r\n{BOTH}\r\n0\r\n\r\n"),
            format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{BOTH}"),
            format!("GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n{BOTH}"),
            format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n{BOTH}"),
        ];
        for text in rows {
            assert_eq!(stopped(&text, 1), None, "{text:?}");
            assert_eq!(stopped(&text, 4096), None, "{text:?}");
        }
    }
}
