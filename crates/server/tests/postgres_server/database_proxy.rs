//! A proxy in front of the database. Shut, it refuses every connection and cuts the ones it has.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The proxy. Dropped, it stays as it is until the test's process ends.
pub(crate) struct DatabaseProxy {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    shut: bool,
    inside: Vec<TcpStream>,
}

impl DatabaseProxy {
    /// An open proxy before this `HOST:PORT`.
    pub(crate) fn before(host: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, state) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(State::default())));
        let watched = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let mut state = watched.lock().unwrap();
                if state.shut {
                    continue;
                }
                let server = TcpStream::connect(&host).unwrap();
                for stream in [&client, &server] {
                    state.inside.push(stream.try_clone().unwrap());
                }
                let (back_from, back_to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || carry(client, server));
                std::thread::spawn(move || carry(back_from, back_to));
            }
        });
        Self { address, state }
    }

    pub(crate) fn shut(&self) {
        let mut state = self.state.lock().unwrap();
        state.shut = true;
        for stream in state.inside.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().shut = false;
    }
}

/// Carries bytes one way until either end is gone.
fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
