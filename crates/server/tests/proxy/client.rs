//! A client that believes what HTTP/1.1 says and nothing else: each answer has one end.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Behind the chunks, if there were any.
    pub(crate) trailers: Vec<u8>,
}

impl Answer {
    /// The values of a header.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.all(name).first().copied()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A guarded request.
pub(crate) fn charge(key: &str) -> String {
    format!("POST /charges HTTP/1.1\r\nhost: shop\r\nidempotency-key: {key}\r\ncontent-length: 2\r\n\r\n{{}}")
}

/// Opens a connection whose reads do not wait for ever.
pub(crate) fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(3))).unwrap();
    stream
}

/// Sends these requests in one write on one connection, the last of which says so, and reads every answer that comes.
pub(crate) fn ask(at: SocketAddr, requests: &[&str]) -> Vec<Answer> {
    let mut stream = connect(at);
    let (last, before) = requests.split_last().unwrap();
    let sent = before.concat() + &last.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    // Who refuses the first may have closed before the last is sent.
    let _ = stream.write_all(sent.as_bytes());
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    let methods = requests.iter().map(|request| request.split(' ').next().unwrap_or_default().to_owned());
    answers(&bytes, methods.collect())
}

/// Sends one request and reads its answer.
pub(crate) fn ask_one(at: SocketAddr, request: &str) -> Answer {
    let mut answers = ask(at, &[request]);
    assert_eq!(answers.len(), 1, "{request:?}: {answers:?}");
    answers.remove(0)
}

/// Takes the bytes of a connection apart, each answer ending where its own head says.
fn answers(mut bytes: &[u8], methods: Vec<String>) -> Vec<Answer> {
    let mut found = Vec::new();
    let mut methods = methods.into_iter();
    while !bytes.is_empty() {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no head: {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status: u16 = status.unwrap_or_else(|| panic!("no status: {head}"));
        bytes = &bytes[end + 4..];
        let answer = Answer { status, head, body: Vec::new(), trailers: Vec::new() };
        let (lengths, codings) = (answer.all("content-length"), answer.all("transfer-encoding"));
        assert!(lengths.len() + codings.len() <= 1, "an answer has one end: {}", answer.head);
        let bodiless = methods.next().as_deref() == Some("HEAD") || matches!(status, 204 | 304);
        let (body, trailers) = match (lengths.first(), codings.first()) {
            _ if bodiless => (Vec::new(), Vec::new()),
            (Some(length), _) => {
                let (body, rest) = bytes.split_at(length.parse().unwrap());
                bytes = rest;
                (body.to_vec(), Vec::new())
            }
            (None, Some(_)) => chunks(&mut bytes),
            (None, None) => (std::mem::take(&mut bytes).to_vec(), Vec::new()),
        };
        found.push(Answer { body, trailers, ..answer });
    }
    found
}

/// A chunked body, and what comes behind it.
fn chunks(bytes: &mut &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut body, mut trailers) = (Vec::new(), Vec::new());
    loop {
        let line = bytes.windows(2).position(|two| two == b"\r\n").expect("a chunk has a size");
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..line]).unwrap(), 16).unwrap();
        *bytes = &bytes[line + 2..];
        if size == 0 {
            // Trailers, then an empty line.
            while let Some(line) = bytes.windows(2).position(|two| two == b"\r\n") {
                trailers.extend_from_slice(&bytes[..line]);
                *bytes = &bytes[line + 2..];
                if line == 0 {
                    break;
                }
            }
            return (body, trailers);
        }
        body.extend_from_slice(&bytes[..size]);
        *bytes = &bytes[size + 2..];
    }
}
