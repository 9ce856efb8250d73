//! `onefold gateway try` against a running gateway.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::stage::Stage;

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A service that is not idempotent: each POST is a charge with a number of its own.
fn charging(charges: &Arc<AtomicUsize>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let charges = Arc::clone(charges);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let charges = Arc::clone(&charges);
            std::thread::spawn(move || drop(charge(&stream.unwrap(), &charges)));
        }
    });
    port
}

fn charge(stream: &TcpStream, charges: &AtomicUsize) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut length, mut line) = (0, String::new());
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(given) = line.to_lowercase().strip_prefix("content-length:") {
                length = given.trim().parse().unwrap();
            }
        }
        reader.read_exact(&mut vec![0; length])?;
        let body = format!("{{\"charge\":{}}}", charges.fetch_add(1, Ordering::SeqCst) + 1);
        let head = format!("content-type: application/json\r\ncontent-length: {}", body.len());
        (&*stream).write_all(format!("HTTP/1.1 201 Created\r\n{head}\r\n\r\n{body}").as_bytes())?;
    }
}

fn route(gateway: u16, upstream: &str, more: &str) -> String {
    format!(
        "gateway_listen = \"127.0.0.1:{gateway}\"\n\n[[route]]\nname = \"charge\"\nmatch = \"POST /charges\"\n\
         upstream = \"{upstream}\"\nclass = \"external-command\"\ncaller = \"anonymous\"\n{more}\n"
    )
}

#[test]
fn a_trial_shows_that_each_key_is_performed_once() {
    let charges = Arc::new(AtomicUsize::new(0));
    let upstream = format!("http://127.0.0.1:{}", charging(&charges));
    let stage = Stage::with_config(&route(free_port(), &upstream, "anonymous_replay = true"));
    let _server = stage.serve(&[]);
    let shown = stage.run(&["gateway", "try", "charge", "--body", "{\"amount\": 1}"]).done();
    assert!(shown.contains("performed once, replayed 7 times"), "{shown}");
    assert!(shown.contains("The promises held"), "{shown}");
    assert_eq!(charges.load(Ordering::SeqCst), 3, "{shown}");
    let json = stage.run(&["gateway", "try", "charge", "--json"]).json();
    assert_eq!(json["held"], true, "{json}");
    let steps: Vec<&str> =
        json["steps"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["once", "again", "8 at once", "cut, then again", "another body"]);
    assert_eq!(charges.load(Ordering::SeqCst), 6);
}

#[test]
fn an_answer_that_is_kept_back_is_no_broken_promise() {
    let charges = Arc::new(AtomicUsize::new(0));
    let upstream = format!("http://127.0.0.1:{}", charging(&charges));
    let stage = Stage::with_config(&route(free_port(), &upstream, ""));
    let _server = stage.serve(&[]);
    let shown = stage.run(&["gateway", "try", "charge"]).done();
    assert!(shown.contains("not performed; the stored answer is not for this caller"), "{shown}");
    assert_eq!(charges.load(Ordering::SeqCst), 3, "{shown}");
}

#[test]
fn promises_that_were_not_seen_to_hold_end_with_one() {
    let stage = Stage::with_config(&route(free_port(), &format!("http://127.0.0.1:{}", free_port()), ""));
    let _server = stage.serve(&[]);
    let ran = stage.run(&["gateway", "try", "charge"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out(), ran.err());
    assert!(ran.out().contains("UPSTREAM_UNREACHABLE"), "{}", ran.out());
}

#[test]
fn what_cannot_be_tried_is_said_with_the_next_step() {
    let stage = Stage::with_config(&route(free_port(), "https://api.example", ""));
    let rows = [
        (vec!["charge"], Some(65), "--yes"),
        (vec!["charge", "--yes"], Some(69), "onefold serve"),
        (vec!["chrage"], Some(65), "did you mean `charge`?"),
        (vec!["charge", "--yes", "--header", "no colon"], Some(65), "--header 'Name: value'"),
        (vec!["charge", "--yes", "--url", "https://127.0.0.1"], Some(65), "http://127.0.0.1:7080"),
    ];
    for (words, code, hint) in rows {
        let ran = stage.run(&[&["gateway", "try"], words.as_slice()].concat());
        assert_eq!(ran.code, code, "{words:?}: {}{}", ran.out(), ran.err());
        assert!(ran.err().contains(hint), "{words:?}: {}", ran.err());
    }
}
