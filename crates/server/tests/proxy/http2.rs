//! HTTP/2 in frames, for clients that no library would be.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// The setting of how many bytes of a stream may be sent before more are asked for.
const INITIAL_WINDOW_SIZE: u16 = 4;

/// How long the end of a connection is waited for: far more than a loaded machine needs.
const PATIENCE: Duration = Duration::from_mins(3);

/// A client's connection.
pub(crate) struct Http2 {
    stream: TcpStream,
    authority: String,
    unread: Vec<u8>,
    /// Bytes of bodies that came.
    pub(crate) body_bytes: usize,
    /// Frames with the head of an answer.
    pub(crate) heads: usize,
}

impl Http2 {
    /// Begins to speak HTTP/2; `window` is how many bytes of each answer it takes unasked.
    pub(crate) fn connect(at: SocketAddr, window: u32) -> Self {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        let authority = format!("localhost:{}", at.port());
        let mut client = Self { stream, authority, unread: Vec::new(), body_bytes: 0, heads: 0 };
        let setting = [&INITIAL_WINDOW_SIZE.to_be_bytes()[..], &window.to_be_bytes()[..]].concat();
        client.send(SETTINGS, 0, 0, &setting);
        client
    }

    /// Asks for a path, on a stream with an odd number.
    pub(crate) fn get(&mut self, stream: u32, path: &str) {
        // `:method GET`, `:scheme http`, then `:path` and `:authority` with a literal value each.
        let mut block = vec![0x82, 0x86];
        for (name, value) in [(0x04, path), (0x01, self.authority.as_str())] {
            block.push(name);
            block.push(u8::try_from(value.len()).unwrap());
            block.extend(value.as_bytes());
        }
        // Whether the connection is still there, the answer tells.
        self.try_send(HEADERS, END_STREAM | END_HEADERS, stream, &block);
    }

    /// Posts a body of two bytes, with trailers after it; each is a name and a value.
    pub(crate) fn post(&mut self, stream: u32, path: &str, headers: &[(&str, &str)], trailers: &[(&str, &str)]) {
        let authority = self.authority.clone();
        let pseudo = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", authority.as_str())];
        self.send(HEADERS, END_HEADERS, stream, &literal(pseudo.iter().chain(headers)));
        self.send(DATA, 0, stream, b"{}");
        self.send(HEADERS, END_STREAM | END_HEADERS, stream, &literal(trailers));
    }

    /// Asks for a path, one time after the other, until the server ends the connection; says how often it was answered.
    pub(crate) fn ask_until_closed(&mut self, path: &str) -> usize {
        let began = Instant::now();
        for stream in (1..).step_by(2) {
            let heads = self.heads;
            self.get(stream, path);
            while self.heads == heads {
                if !self.step() {
                    return heads;
                }
                assert!(began.elapsed() < PATIENCE, "the server keeps the connection");
            }
        }
        self.heads
    }

    /// Answers and asks PINGs, and takes no more than its window says, until the server ends the connection.
    pub(crate) fn until_closed(&mut self) {
        let began = Instant::now();
        while self.step() {
            assert!(began.elapsed() < PATIENCE, "the server keeps the connection");
        }
    }

    /// The same, until so many heads of answers have come.
    pub(crate) fn until_answered(&mut self, heads: usize) {
        let began = Instant::now();
        while self.heads < heads {
            assert!(self.step(), "the server ended the connection");
            assert!(began.elapsed() < PATIENCE, "no answer");
        }
    }

    /// Whether the connection goes on.
    fn step(&mut self) -> bool {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => return false,
            Ok(count) => self.unread.extend_from_slice(&buffer[..count]),
            Err(cause) if matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return self.try_send(PING, 0, 0, b"8 bytes.");
            }
            Err(_) => return false,
        }
        while let Some((kind, flags, payload)) = self.frame() {
            match kind {
                PING if flags & ACK == 0 => drop(self.try_send(PING, ACK, 0, &payload)),
                SETTINGS if flags & ACK == 0 => drop(self.try_send(SETTINGS, ACK, 0, b"")),
                HEADERS => self.heads += 1,
                DATA => self.body_bytes += payload.len(),
                _ => {}
            }
        }
        true
    }

    fn frame(&mut self) -> Option<(u8, u8, Vec<u8>)> {
        let head = self.unread.get(..9)?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let (kind, flags) = (head[3], head[4]);
        let payload = self.unread.get(9..9 + length)?.to_vec();
        self.unread.drain(..9 + length);
        Some((kind, flags, payload))
    }

    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        assert!(self.try_send(kind, flags, stream, payload), "the server ended the connection");
    }

    fn try_send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let frame = [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat();
        self.stream.write_all(&frame).is_ok()
    }
}

/// Header fields as HPACK writes them without a table: a new name and its value each.
fn literal<'a>(fields: impl IntoIterator<Item = &'a (&'a str, &'a str)>) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    fields.into_iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect()
}
