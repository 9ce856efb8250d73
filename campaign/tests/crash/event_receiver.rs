//! A receiver of events: remembers what came, in which order, and refuses what it is told to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// An event as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArrivedEvent {
    pub(crate) id: String,
    pub(crate) aggregate: String,
    pub(crate) sequence: u64,
    /// The replay that sent it.
    pub(crate) replay: Option<String>,
}

/// A receiver on a port of its own.
#[derive(Clone)]
pub(crate) struct EventReceiver {
    taken: Arc<Mutex<Vec<ArrivedEvent>>>,
    /// Numbers of events that are refused once.
    refuse_once: Arc<Mutex<Vec<u64>>>,
    pub(crate) at: SocketAddr,
}

impl EventReceiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Self { taken: Arc::default(), refuse_once: Arc::default(), at: listener.local_addr().unwrap() };
        let serving = receiver.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let serving = serving.clone();
                std::thread::spawn(move || while serving.receive(&stream).is_some() {});
            }
        });
        receiver
    }

    /// Refuses the event with this number, the first time that it comes.
    pub(crate) fn refuse_once(&self, sequence: u64) {
        self.refuse_once.lock().unwrap().push(sequence);
    }

    /// What it took, in that order.
    pub(crate) fn taken(&self) -> Vec<ArrivedEvent> {
        self.taken.lock().unwrap().clone()
    }

    /// One request of a connection.
    fn receive(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_owned());
        }
        let header = |name: &str| {
            head.iter().find_map(|line| {
                let (given, value) = line.split_once(':')?;
                given.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        let mut body = vec![0; header("content-length")?.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        let event = ArrivedEvent {
            id: header("ce-id")?,
            aggregate: header("ce-subject")?,
            sequence: header("ce-sequence")?.parse().ok()?,
            replay: header("onefold-replay"),
        };
        let status = if self.refuses(&event) { 422 } else { 204 };
        if status == 204 {
            self.taken.lock().unwrap().push(event);
        }
        stream.write_all(format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").as_bytes()).ok()
    }

    fn refuses(&self, event: &ArrivedEvent) -> bool {
        let mut refused = self.refuse_once.lock().unwrap();
        let before = refused.len();
        refused.retain(|sequence| *sequence != event.sequence);
        refused.len() < before
    }
}
