//! A real receiver of webhooks, which checks signatures and answers as it is told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;

use crate::fixture::until;

pub(crate) const SECRET: &str = "a secret that only both of us know";

/// A message as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedMessage {
    pub(crate) id: String,
    seconds: String,
    signature: String,
    pub(crate) body: String,
    head: Vec<String>,
    /// What it was answered with.
    status: u16,
}

impl ReceivedMessage {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.iter().find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn signed(&self) -> bool {
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(format!("{}.{}.{}", self.id, self.seconds, self.body).as_bytes());
        self.signature == format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }

    pub(crate) fn operations(&self) -> Vec<String> {
        let body = self.json();
        let incidents = body["data"]["incidents"].as_array().unwrap().clone();
        incidents.iter().map(|one| one["operationId"].as_str().unwrap().to_owned()).collect()
    }
}

/// A real receiver on a port of its own, which answers with this status.
pub(crate) struct Receiver {
    heard: Arc<Mutex<Vec<ReceivedMessage>>>,
    status: Arc<Mutex<u16>>,
    stopping: Arc<Mutex<bool>>,
    pub(crate) at: SocketAddr,
    serving: Option<JoinHandle<()>>,
}

impl Receiver {
    pub(crate) fn start(at: SocketAddr, status: u16) -> Self {
        let mut bound = TcpListener::bind(at);
        until("the receiver's port is free", || {
            if bound.is_err() {
                bound = TcpListener::bind(at);
            }
            bound.is_ok()
        });
        let listener = bound.unwrap();
        let at = listener.local_addr().unwrap();
        let (heard, status) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(status)));
        let stopping = Arc::new(Mutex::new(false));
        let (into, answer, stop) = (Arc::clone(&heard), Arc::clone(&status), Arc::clone(&stopping));
        let serving = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if *stop.lock().unwrap() {
                    return;
                }
                if let Some(message) = receive(&stream, *answer.lock().unwrap()) {
                    into.lock().unwrap().push(message);
                }
            }
        });
        Self { heard, status, stopping, at, serving: Some(serving) }
    }

    pub(crate) fn answer_with(&self, status: u16) {
        *self.status.lock().unwrap() = status;
    }

    pub(crate) fn heard(&self) -> Vec<ReceivedMessage> {
        self.heard.lock().unwrap().clone()
    }

    /// Those that it said yes to.
    pub(crate) fn taken(&self) -> Vec<ReceivedMessage> {
        self.heard().into_iter().filter(|message| message.status == 204).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        *self.stopping.lock().unwrap() = true;
        let _ = TcpStream::connect(self.at);
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

/// One request on a connection that ends with its answer.
fn receive(mut stream: &TcpStream, status: u16) -> Option<ReceivedMessage> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let header = |name: &str| {
        lines.iter().find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let mut body = vec![0; header("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let message = ReceivedMessage {
        id: header("webhook-id")?,
        seconds: header("webhook-timestamp")?,
        signature: header("webhook-signature")?,
        body: String::from_utf8(body).ok()?,
        head: lines.clone(),
        status,
    };
    let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).ok()?;
    Some(message)
}

/// Has the server of this folder tell the receiver there.
pub(crate) fn declare(folder: &Path, at: SocketAddr, more: &str) {
    let config = format!("[notify]\nwebhook = \"http://{at}/hook\"\nsecret_file = \"hook.secret\"\n{more}");
    std::fs::write(folder.join("onefold.toml"), config).unwrap();
    std::fs::write(folder.join("hook.secret"), format!("{SECRET}\n")).unwrap();
}

/// A port of one's own, whichever is free.
pub(crate) fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}
