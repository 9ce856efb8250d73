//! An upstream that answers with the bytes it was told to, and remembers what it was asked on which connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as the upstream saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Which connection it came on, counted from zero.
    pub(crate) connection: usize,
    /// Request line and headers, names in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(known, _)| *known == name).map(|(_, value)| value.trim()).next()
    }
}

/// What becomes of a connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterAnswer {
    Keep,
    Close,
}

/// The upstream.
#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Upstream {
    /// An upstream that answers a request with what `answer` says. It ends with the test's process.
    pub(crate) fn start(answer: impl Fn(&Seen) -> (Vec<u8>, AfterAnswer) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let upstream = Self { address: listener.local_addr().unwrap(), seen: Arc::default() };
        let (seen, answer) = (Arc::clone(&upstream.seen), Arc::new(answer));
        std::thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream.unwrap(), connection, &seen, &*answer));
            }
        });
        upstream
    }

    /// One that always says yes.
    pub(crate) fn agreeable() -> Self {
        Self::start(|_| (b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok".to_vec(), AfterAnswer::Keep))
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// A guarded route `POST /charges` to this upstream, and what else is declared of it.
    pub(crate) fn guarded(&self, more: &str) -> String {
        format!(
            "[[route]]\nname = \"charge\"\nmatch = \"POST|GET|HEAD /charges\"\nupstream = \"http://{}\"\nclass = \"external-command\"\ncaller = \"anonymous\"\nanonymous_replay = true\n{more}\n",
            self.address
        )
    }
}

fn serve(
    mut stream: TcpStream,
    connection: usize,
    seen: &Mutex<Vec<Seen>>,
    answer: &(dyn Fn(&Seen) -> (Vec<u8>, AfterAnswer) + Send + Sync),
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some((head, body)) = request(&mut reader) {
        let asked = Seen { connection, head, body };
        seen.lock().unwrap().push(asked.clone());
        let (bytes, then) = answer(&asked);
        if stream.write_all(&bytes).is_err() || then == AfterAnswer::Close {
            return;
        }
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        match line.split_once(':').filter(|_| !head.is_empty()) {
            Some((name, value)) => head.extend([&name.to_lowercase(), ":", value, "\n"]),
            None => head.extend([line, "\n"]),
        }
    }
    let has = |line: &str| head.lines().any(|known| known.replace(' ', "") == line);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    if has("transfer-encoding:chunked") {
        // The last chunk, then trailers, then an empty line.
        let mut ends = false;
        while !(ends && body.ends_with(b"\r\n\r\n")) {
            let mut line = Vec::new();
            reader.read_until(b'\n', &mut line).ok().filter(|read| *read > 0)?;
            ends |= line == b"0\r\n";
            body.extend(line);
        }
    }
    Some((head, body))
}
