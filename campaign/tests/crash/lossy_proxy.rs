//! A proxy between a caller and its server that withholds one request or one answer while a process dies.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use crate::fixture::PATIENCE;

/// What is withheld of a request whose line contains this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withheld {
    /// The request: the server never hears of it.
    Request(&'static str),
    /// The answer: the server has committed, the caller never hears of it.
    Answer(&'static str),
}

/// A proxy in this process, bound but not yet forwarding.
pub(crate) struct LossyProxy {
    pub(crate) address: String,
    listener: TcpListener,
}

/// A proxy that forwards.
pub(crate) struct RunningProxy {
    keep: Arc<Mutex<Option<Withheld>>>,
    kept: Receiver<()>,
}

impl LossyProxy {
    /// Takes an address, so that the server can be told its name before anything is relayed.
    pub(crate) fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { address: listener.local_addr().unwrap().to_string(), listener }
    }

    pub(crate) fn to(self, server: &str) -> RunningProxy {
        let (keep, server) = (Arc::new(Mutex::new(None)), server.to_owned());
        let (tell, kept) = channel();
        let shared = Arc::clone(&keep);
        std::thread::spawn(move || {
            for caller in self.listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&server) else { return };
                Pump::start(&caller, &server, &shared, &tell);
            }
        });
        RunningProxy { keep, kept }
    }
}

impl RunningProxy {
    /// The next request of this sort, or its answer, is kept back.
    pub(crate) fn withhold(&self, keep: Withheld) {
        *self.keep.lock().unwrap() = Some(keep);
    }

    /// Waits until it is kept back.
    pub(crate) fn wait(&self) {
        self.kept.recv_timeout(PATIENCE).expect("nothing came to be kept back");
    }
}

/// One connection.
struct Pump {
    keep: Arc<Mutex<Option<Withheld>>>,
    answer_kept: Arc<AtomicBool>,
    tell: Sender<()>,
}

impl Pump {
    fn start(caller: &TcpStream, server: &TcpStream, keep: &Arc<Mutex<Option<Withheld>>>, tell: &Sender<()>) {
        let answer_kept = Arc::new(AtomicBool::new(false));
        let pump = || Self { keep: Arc::clone(keep), answer_kept: Arc::clone(&answer_kept), tell: tell.clone() };
        let (requests, answers) = (pump(), pump());
        let ends = || (caller.try_clone().unwrap(), server.try_clone().unwrap());
        let (from_caller, to_server) = ends();
        let (to_caller, from_server) = ends();
        std::thread::spawn(move || copy(from_caller, to_server, |bytes| requests.request_passes(bytes)));
        std::thread::spawn(move || copy(from_server, to_caller, |_| answers.answer_passes()));
    }

    fn request_passes(&self, bytes: &[u8]) -> bool {
        let line = String::from_utf8_lossy(bytes);
        let line = line.lines().next().unwrap_or_default();
        let mut keep = self.keep.lock().unwrap();
        match *keep {
            Some(Withheld::Request(mark)) if line.contains(mark) => {
                *keep = None;
                let _ = self.tell.send(());
                false
            }
            Some(Withheld::Answer(mark)) if line.contains(mark) => {
                *keep = None;
                self.answer_kept.store(true, Ordering::SeqCst);
                true
            }
            Some(_) | None => true,
        }
    }

    fn answer_passes(&self) -> bool {
        let kept = self.answer_kept.load(Ordering::SeqCst);
        if kept {
            let _ = self.tell.send(());
        }
        !kept
    }
}

/// Copies until an end closes, or until something does not pass; then the caller waits in vain.
fn copy(mut from: TcpStream, mut to: TcpStream, passes: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !passes(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}
