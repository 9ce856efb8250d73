//! HTTP over a real socket, small enough to send what no client library would.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A request.
#[derive(Clone)]
pub(crate) struct Call {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    chunked: bool,
}

impl Call {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { method: method.into(), path: path.into(), headers: Vec::new(), body: Vec::new(), chunked: false }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: &str, body: &Value) -> Self {
        Self::new("POST", path).body(body.to_string().as_bytes()).header("content-type", "application/json")
    }

    pub(crate) fn body(self, body: &[u8]) -> Self {
        Self { body: body.to_vec(), ..self }
    }

    /// Sends the body in pieces, without saying how long it is.
    pub(crate) fn chunked(self) -> Self {
        Self { chunked: true, ..self }
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// Sets a header, instead of the one before.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.into(), value.into()));
        self
    }

    fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", self.method, self.path);
        if !self.headers.iter().any(|(name, _)| name == "host") {
            let _ = write!(head, "host: {address}\r\n");
        }
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let mut bytes = head.into_bytes();
        if self.chunked {
            bytes.extend(b"transfer-encoding: chunked\r\n\r\n");
            for piece in self.body.chunks(1000) {
                bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
                bytes.extend(piece);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        } else {
            bytes.extend(format!("content-length: {}\r\n\r\n", self.body.len()).into_bytes());
            bytes.extend(&self.body);
        }
        bytes
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Method and path of what it answers.
    asked: (String, String),
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|cause| panic!("{cause}: {} {}", self.status, self.text()))
    }

    /// The body of an answer that must be a success, with the fields that are described.
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        let body = self.json();
        crate::description::describes_success(&self.asked.0, &self.asked.1, &body);
        body
    }

    /// The body of an answer that must be a problem with this code; every problem says what to do next,
    /// and is in the description of what was called.
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        let body = self.json();
        assert_eq!((self.status, body["code"].as_str()), (status, Some(code)), "{body}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{body}");
        for field in ["type", "title", "detail", "next", "owner"] {
            assert!(body[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {body}");
        }
        assert!(body["status"] == status && body["retryable"].is_boolean(), "{body}");
        crate::description::describes(&self.asked.0, &self.asked.1, status, code);
        body
    }
}

/// Sends a request and reads the whole answer.
pub(crate) fn send(address: SocketAddr, call: &Call) -> Answer {
    let bytes = raw(address, &call.bytes(address));
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer to {} {}: {bytes:?}", call.method, call.path));
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    Answer { asked: (call.method.clone(), call.path.clone()), status, head, body: bytes[end + 4..].to_vec() }
}

/// Sends these bytes and reads until the other side ends the connection.
pub(crate) fn raw(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(3))).unwrap();
    // A server that has heard enough answers and ends; what it did not read is not a failure of ours.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        answer.extend_from_slice(&buffer[..count]);
    }
    answer
}
