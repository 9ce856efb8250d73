//! No client keeps a connection for ever, and none cancels a call by losing its own.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use crate::client::{ask, ask_one, charge, connect};
use crate::fixture::{Server, Workdir};
use crate::http2::Http2;
use crate::upstream::{AfterAnswer, Upstream};

const SMALL: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const GET: &str = "GET /charges HTTP/1.1\r\nhost: shop\r\n\r\n";
/// More than the sockets between two processes hold.
const LARGE_BYTES: usize = 64 * 1024 * 1024;
/// What a client that takes everything says of its window.
const WIDE: u32 = 65_535;

/// A server whose listeners both have these limits.
fn serve(upstream: &Upstream, limits: &str, more: &str) -> (Workdir, Server) {
    let dir = Workdir::with_config(&format!("{limits}\n[gateway]\n{limits}\n{}", upstream.guarded(more)));
    let server = dir.serve(&["--gateway-listen", "127.0.0.1:0"]);
    (dir, server)
}

/// The API and the gateway, each with a path that is answered to anyone.
fn listeners(server: &Server) -> [(SocketAddr, &'static str); 2] {
    [(server.address, "/health"), (server.gateway.unwrap(), "/charges")]
}

/// An answer of this many bytes to everything but what follows.
fn large() -> Upstream {
    Upstream::start(|seen| {
        if seen.line().contains("following") {
            return (SMALL.to_vec(), AfterAnswer::Keep);
        }
        let mut bytes = format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE_BYTES}\r\n\r\n").into_bytes();
        bytes.resize(bytes.len() + LARGE_BYTES, b'x');
        (bytes, AfterAnswer::Close)
    })
}

/// Waits until a server that has one place gives it to somebody else.
fn gives_its_place_away(at: SocketAddr, path: &str) {
    let answer = ask_one(at, &format!("GET {path} HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", at.port()));
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn an_idle_http2_connection_is_closed_although_it_answers_pings() {
    let upstream = Upstream::start(|_| (SMALL.to_vec(), AfterAnswer::Keep));
    let (_dir, server) = serve(&upstream, "idle_for = \"300ms\"", "");
    for (at, _) in listeners(&server) {
        Http2::connect(at, WIDE).until_closed();
    }
}

#[test]
fn a_client_with_a_window_of_zero_loses_its_connection() {
    let upstream = Upstream::start(|_| (SMALL.to_vec(), AfterAnswer::Keep));
    // Nothing but the stall may end it while the test waits.
    let (_dir, server) = serve(&upstream, "stalled_for = \"300ms\"\nidle_for = \"1h\"", "");
    for (at, path) in listeners(&server) {
        let mut client = Http2::connect(at, 0);
        client.get(1, path);
        client.until_closed();
        assert_eq!(client.body_bytes, 0, "nothing was taken");
    }
}

#[test]
fn a_client_that_does_not_read_its_answer_loses_its_connection() {
    let upstream = large();
    let (_dir, server) = serve(&upstream, "connections_max = 1\nstalled_for = \"300ms\"", "");
    let at = server.gateway.unwrap();
    let mut held = connect(at);
    held.write_all(GET.as_bytes()).unwrap();
    held.read_exact(&mut [0; 12]).unwrap();
    gives_its_place_away(at, "/charges?following");
}

#[test]
fn a_client_of_the_api_that_reads_nothing_loses_its_connection() {
    let upstream = large();
    let (_dir, server) = serve(&upstream, "connections_max = 1\nstalled_for = \"300ms\"", "");
    let at = server.address;
    let mut held = connect(at);
    // It asks for ever and reads nothing, until the server ends it.
    let request = format!("GET /health HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", at.port()).repeat(100);
    while held.write_all(request.as_bytes()).is_ok() {}
    gives_its_place_away(at, "/health");
}

#[test]
fn an_effect_whose_answer_is_not_read_has_taken_hold_once() {
    let upstream = large();
    let limits = "connections_max = 1\nstalled_for = \"300ms\"";
    let (_dir, server) = serve(&upstream, limits, "deadline = \"2s\"");
    let at = server.gateway.unwrap();
    let mut held = connect(at);
    held.write_all(charge("k-1").as_bytes()).unwrap();
    held.read_exact(&mut [0; 12]).unwrap();
    gives_its_place_away(at, "/charges?following");
    let again = ask_one(at, &charge("k-1"));
    assert_eq!(again.status, 409, "{again:?}");
    assert!(again.text().contains("RESULT_UNAVAILABLE") && again.text().contains("\"completed\":true"), "{again:?}");
    let acted = upstream.seen().into_iter().filter(|seen| seen.line().starts_with("POST")).count();
    assert_eq!(acted, 1);
}

/// An upstream that answers when it is told to.
fn patient() -> (Upstream, Sender<()>) {
    let (go, told) = channel();
    let told = Arc::new(Mutex::new(told));
    let upstream = Upstream::start(move |_| {
        told.lock().unwrap().recv().unwrap();
        (b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok".to_vec(), AfterAnswer::Keep)
    });
    (upstream, go)
}

#[test]
fn a_call_goes_on_when_its_clients_connection_has_been_open_long_enough() {
    let (upstream, go) = patient();
    let (_dir, server) = serve(&upstream, "connection_for = \"2s\"", "wait = \"30s\"");
    let mut held = connect(server.gateway.unwrap());
    held.write_all(charge("k-1").as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = held.read_to_end(&mut answer);
    assert_eq!(String::from_utf8_lossy(&answer), "", "the connection ended without an answer");
    go.send(()).unwrap();
    crate::fixture::until("the same key gets the answer", || {
        // These connections end as early.
        let answers = ask(server.gateway.unwrap(), &[&charge("k-1")]);
        answers.iter().any(|again| again.status == 201 && again.header("idempotent-replayed") == Some("true"))
    });
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn a_busy_connection_is_closed_when_it_has_been_open_long_enough() {
    let upstream = Upstream::start(|_| (SMALL.to_vec(), AfterAnswer::Keep));
    let (_dir, server) = serve(&upstream, "connection_for = \"2s\"", "");
    for (at, path) in listeners(&server) {
        assert!(Http2::connect(at, WIDE).ask_until_closed(path) > 0, "{path}");
        let mut held = connect(at);
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", at.port());
        let (mut buffer, mut answered) = ([0; 4096], 0);
        while held.write_all(request.as_bytes()).is_ok() && held.read(&mut buffer).is_ok_and(|read| read > 0) {
            answered += 1;
        }
        assert!(answered > 0, "{path}");
    }
}

#[test]
fn an_answer_without_an_end_ends_with_its_connection() {
    let endless = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n";
    let upstream = Upstream::start(|_| (endless.to_vec(), AfterAnswer::Keep));
    // Neither idle nor stalled: the client waits for us.
    let (_dir, server) = serve(&upstream, "connection_for = \"2s\"", "");
    let mut client = Http2::connect(server.gateway.unwrap(), WIDE);
    client.get(1, "/charges");
    client.until_closed();
    assert_eq!((client.heads, client.body_bytes), (1, 2));
    let mut held = connect(server.gateway.unwrap());
    held.write_all(GET.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = held.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("2\r\nok\r\n"), "{answer}");
}

#[test]
fn a_silent_web_socket_is_closed() {
    let agreed = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    let upstream = Upstream::start(|_| (agreed.to_vec(), AfterAnswer::Keep));
    let (_dir, server) = serve(&upstream, "idle_for = \"2s\"", "");
    let mut held = connect(server.gateway.unwrap());
    let asked = "GET /charges HTTP/1.1\r\nhost: shop\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    held.write_all(asked.as_bytes()).unwrap();
    let mut answer = String::new();
    held.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
}
