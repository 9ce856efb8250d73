//! One kept-alive connection to a server: a request, then its answer, or the news that it was lost.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Far longer than an answer takes; only a hang reaches it.
const ANSWER_WITHIN: Duration = Duration::from_mins(2);

/// A connection.
pub struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
    token: String,
}

/// A status and a body.
#[derive(Debug)]
pub struct JsonResponse {
    /// The status, such as 200.
    pub status: u16,
    /// The body, which is JSON whatever happens.
    pub body: Value,
}

impl Connection {
    /// Connects to `host:port`.
    pub fn open(address: &str, token: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        Ok(Self { stream: BufReader::new(stream), host: address.to_owned(), token: token.to_owned() })
    }

    /// Reads something.
    pub fn get(&mut self, path: &str) -> io::Result<JsonResponse> {
        self.exchange("GET", path, "")
    }

    /// Asks for something to be done. An error says that the answer was lost, and nothing about the rest.
    pub fn post(&mut self, path: &str, body: &Value) -> io::Result<JsonResponse> {
        self.exchange("POST", path, &body.to_string())
    }

    /// Sends a request without waiting for its answer.
    pub fn send(&mut self, method: &str, path: &str, body: &str) -> io::Result<()> {
        let (host, token, length) = (&self.host, &self.token, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes())
    }

    fn exchange(&mut self, method: &str, path: &str, body: &str) -> io::Result<JsonResponse> {
        self.send(method, path, body)?;
        let status = self.line()?.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| torn("no status"))?;
        let mut length = 0;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(count) = line.strip_prefix("content-length:") {
                length = count.trim().parse().map_err(|_| torn("no length"))?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(JsonResponse { status, body: serde_json::from_slice(&body).map_err(|_| torn("no JSON"))? })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

fn torn(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
