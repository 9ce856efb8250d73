//! `onefold gateway try` against a running gateway.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::fixture::Workdir;

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A service that is not idempotent: each POST is a charge with a number of its own, and GET tells how many there were.
#[derive(Clone, Default)]
struct Charging {
    charges: Arc<AtomicUsize>,
    /// What it answers instead of 201.
    status: Option<u16>,
    /// Bytes of its answers' padding.
    padding: usize,
    events: bool,
}

/// A request as a small server reads it.
struct Asked {
    method: String,
    key: Option<String>,
    body: Vec<u8>,
}

/// The next request of a connection; none at its end.
fn asked(reader: &mut impl BufRead) -> std::io::Result<Option<Asked>> {
    let (mut length, mut key, mut method, mut line) = (0, None, String::new(), String::new());
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if method.is_empty() {
            line.split(' ').next().unwrap().clone_into(&mut method);
        }
        if let Some((name, value)) = line.split_once(':') {
            match name.to_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "idempotency-key" => key = Some(value.trim().to_owned()),
                _ => {}
            }
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Asked { method, key, body }))
}

fn answer(stream: &TcpStream, status: u16, more: &str, body: &str) -> std::io::Result<()> {
    let mut stream = stream;
    stream.write_all(format!("HTTP/1.1 {status} -\r\ncontent-length: {}\r\n{more}\r\n{body}", body.len()).as_bytes())
}

/// Serves connections until the test's process ends; its port.
fn served(serve: impl Fn(&TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || drop(serve(&stream.unwrap())));
        }
    });
    port
}

impl Charging {
    fn serve(&self) -> u16 {
        let charging = self.clone();
        served(move |stream| {
            let mut reader = BufReader::new(stream);
            while let Some(asked) = asked(&mut reader)? {
                charging.answer(stream, &asked)?;
            }
            Ok(())
        })
    }

    fn answer(&self, stream: &TcpStream, asked: &Asked) -> std::io::Result<()> {
        if asked.method == "GET" {
            return answer(stream, 200, "", &format!("{{\"charges\": {}}}", self.count()));
        }
        if let Some(status) = self.status {
            return answer(stream, status, "", "no");
        }
        let number = self.charges.fetch_add(1, Ordering::SeqCst) + 1;
        let media = if self.events { "text/event-stream" } else { "application/json" };
        let body = format!("{{\"charge\":{number}}}{}", " ".repeat(self.padding));
        answer(stream, 201, &format!("content-type: {media}\r\n"), &body)
    }

    fn count(&self) -> usize {
        self.charges.load(Ordering::SeqCst)
    }
}

fn route(gateway: u16, upstream: &str, more: &str) -> String {
    format!(
        "gateway_listen = \"127.0.0.1:{gateway}\"\n\n[[route]]\nname = \"charge\"\nmatch = \"POST /charges\"\n\
         upstream = \"{upstream}\"\nclass = \"external-command\"\ncaller = \"anonymous\"\n{more}\n"
    )
}

/// A gateway before this service, which replays to everyone unless `more` says otherwise.
fn dir(charging: &Charging, more: &str) -> (Workdir, String) {
    let upstream = format!("http://127.0.0.1:{}", charging.serve());
    (Workdir::with_config(&route(free_port(), &upstream, more)), format!("{upstream}/#/charges"))
}

#[test]
fn a_trial_shows_that_each_key_is_performed_once() {
    let charging = Charging::default();
    let (dir, effects) = dir(&charging, "anonymous_replay = true");
    let _server = dir.serve(&[]);
    let shown = dir.run(&["gateway", "try", "charge", "--body", "{\"amount\": 1}", "--effects", &effects]).done();
    assert!(shown.contains("performed once, replayed 7 times"), "{shown}");
    assert!(shown.contains("The promises held, and the upstream counted one effect a key"), "{shown}");
    let before = charging.count();
    let json = dir.run(&["gateway", "try", "charge", "--json", "--effects", &effects]).json();
    assert_eq!(
        (&json["held"], &json["verdict"], &json["effectsCounted"]),
        (&true.into(), &"held".into(), &true.into())
    );
    let steps = json["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(names, ["once", "again", "8 at once", "cut, then again", "another body"]);
    let counted: Vec<u64> = steps.iter().map(|step| step["effects"].as_u64().unwrap()).collect();
    assert_eq!((counted[0], counted[1], counted[2], counted[4]), (1, 0, 1, 0), "{json}");
    assert_eq!(counted[3], steps[3]["requests"].as_u64().unwrap() / 2, "one effect for each key that was cut: {json}");
    assert_eq!(counted.iter().sum::<u64>(), (charging.count() - before) as u64);
}

#[test]
fn effects_that_were_not_counted_are_not_claimed() {
    let charging = Charging::default();
    let (dir, _) = dir(&charging, "anonymous_replay = true\nfingerprint = { fields = [\"/amount\"] }");
    let _server = dir.serve(&[]);
    // Where chosen fields are compared, another body differs in one of them.
    let ran = dir.run(&["gateway", "try", "charge", "--body", "{\"amount\": 1}", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out()).unwrap();
    assert_eq!((&json["effectsCounted"], &json["steps"][0]["effects"]), (&false.into(), &serde_json::Value::Null));
    assert_eq!(json["steps"][4]["verdict"], "held", "{json}");
    assert_ne!(json["verdict"], "broken", "{json}");
    assert_eq!(ran.code, Some(if json["held"] == true { 0 } else { 79 }), "{json}");
    let ran = dir.run(&["gateway", "try", "charge", "--body", "{\"amount\": 1}"]);
    assert!(!ran.out().contains("counted one effect"), "{}", ran.out());
    assert!(ran.out().contains("--effects"), "{}", ran.out());
}

#[test]
fn an_answer_that_is_kept_back_is_not_a_broken_promise_and_is_named() {
    let rows = [
        (Charging::default(), "", "anonymous_replay"),
        (
            Charging { padding: 100, ..Charging::default() },
            "anonymous_replay = true\nanswer_bytes_max = 64",
            "answer_bytes_max",
        ),
        (Charging { events: true, ..Charging::default() }, "anonymous_replay = true", "events"),
    ];
    for (charging, more, words) in rows {
        let (dir, effects) = dir(&charging, more);
        let _server = dir.serve(&[]);
        let shown = dir.run(&["gateway", "try", "charge", "--effects", &effects]).done();
        let again = shown.lines().find(|line| line.starts_with("again")).unwrap();
        assert!(again.contains("held: not performed") && again.contains(words), "{shown}");
    }
}

#[test]
fn a_request_that_takes_no_hold_shows_nothing() {
    for status in [404, 401, 429, 402] {
        let (dir, effects) = dir(&Charging { status: Some(status), ..Charging::default() }, "anonymous_replay = true");
        let _server = dir.serve(&[]);
        for more in [&[][..], &["--effects", &effects]] {
            let ran = dir.run(&[&["gateway", "try", "charge"], more].concat());
            assert_eq!(ran.code, Some(79), "{}{}", ran.out(), ran.err());
            assert!(ran.out().contains("Nothing was shown"), "{}", ran.out());
            assert!(ran.out().contains(&format!("the upstream answered {status}")), "{}", ran.out());
        }
    }
    let dir = Workdir::with_config(&route(free_port(), &format!("http://127.0.0.1:{}", free_port()), ""));
    let _server = dir.serve(&[]);
    let ran = dir.run(&["gateway", "try", "charge"]);
    assert_eq!(ran.code, Some(79), "{}{}", ran.out(), ran.err());
    assert!(ran.out().contains("UPSTREAM_UNREACHABLE"), "{}", ran.out());
}

/// A front of its own making, which does everything right but for what it is told to do wrong.
#[derive(Default)]
struct KeyedFront {
    charges: AtomicUsize,
    known: Mutex<HashMap<String, Known>>,
    /// How long a request waits before it begins; one whose caller has gone by then never does.
    begins_after: Duration,
    /// Whether the key of a request is forgotten whose caller has gone when it ends.
    forgets: bool,
}

#[derive(Clone)]
enum Known {
    AtWork,
    Done(Vec<u8>, String),
}

/// Whether nobody reads the answer any more.
fn gone(stream: &TcpStream) -> std::io::Result<bool> {
    stream.set_nonblocking(true)?;
    let gone = matches!(stream.peek(&mut [0]), Ok(0));
    stream.set_nonblocking(false)?;
    Ok(gone)
}

impl KeyedFront {
    fn serve(self) -> u16 {
        served(move |stream| {
            let asked = asked(&mut BufReader::new(stream))?;
            asked.map_or(Ok(()), |asked| self.answer(stream, &asked))
        })
    }

    fn answer(&self, stream: &TcpStream, asked: &Asked) -> std::io::Result<()> {
        let Some(key) = asked.key.clone().filter(|_| asked.method == "POST") else {
            return answer(stream, 200, "", &self.charges.load(Ordering::SeqCst).to_string());
        };
        let problem = |status, code: &str| {
            let body = format!("{{\"code\": \"{code}\"}}");
            answer(stream, status, "content-type: application/problem+json\r\n", &body)
        };
        std::thread::sleep(self.begins_after);
        if gone(stream)? {
            return Ok(());
        }
        let known = self.known.lock().unwrap().get(&key).cloned();
        match known {
            Some(Known::AtWork) => problem(409, "OPERATION_IN_FLIGHT"),
            Some(Known::Done(body, _)) if body != asked.body => problem(422, "IDEMPOTENCY_KEY_REUSED"),
            Some(Known::Done(_, said)) => answer(stream, 201, "idempotent-replayed: true\r\n", &said),
            None => {
                // Two at the same moment: the second is told to wait.
                if self.known.lock().unwrap().insert(key.clone(), Known::AtWork).is_some() {
                    return problem(409, "OPERATION_IN_FLIGHT");
                }
                let said = format!("{{\"charge\":{}}}", self.charges.fetch_add(1, Ordering::SeqCst) + 1);
                std::thread::sleep(Duration::from_millis(400));
                let forgotten = self.forgets && gone(stream)?;
                let mut known = self.known.lock().unwrap();
                if forgotten {
                    known.remove(&key);
                    return Ok(());
                }
                known.insert(key, Known::Done(asked.body.clone(), said.clone()));
                drop(known);
                answer(stream, 201, "", &said)
            }
        }
    }
}

#[test]
fn a_front_that_forgets_a_cut_request_does_not_pass() {
    let url = format!("http://127.0.0.1:{}", KeyedFront { forgets: true, ..KeyedFront::default() }.serve());
    let dir = Workdir::with_config(&route(free_port(), &url, "anonymous_replay = true"));
    let trial = ["gateway", "try", "charge", "--url", &url, "--json"];
    let ran = dir.run(&[&trial[..], &["--effects", &url]].concat());
    let json: serde_json::Value = serde_json::from_str(&ran.out()).unwrap();
    assert_eq!((ran.code, &json["verdict"]), (Some(1), &"broken".into()), "{json}");
    assert_eq!(json["steps"][3]["verdict"], "broken", "{json}");
    for step in [0, 1, 2, 4] {
        assert_eq!(json["steps"][step]["verdict"], "held", "only the cut shows it: {json}");
    }
    // Without a count it cannot be told from a request that had not begun, and that is said.
    let ran = dir.run(&trial);
    let json: serde_json::Value = serde_json::from_str(&ran.out()).unwrap();
    assert_eq!((ran.code, &json["verdict"]), (Some(79), &"not shown".into()), "{json}");
    assert!(json["steps"][3]["shows"].as_str().unwrap().contains("forgotten"), "{json}");
}

#[test]
fn a_request_that_had_not_begun_when_it_was_cut_is_followed_by_others_until_one_shows_something() {
    // A cut at half of the time comes before anything begins.
    let front = KeyedFront { begins_after: Duration::from_secs(1), ..KeyedFront::default() };
    let url = format!("http://127.0.0.1:{}", front.serve());
    let dir = Workdir::with_config(&route(free_port(), &url, "anonymous_replay = true"));
    let json = dir.run(&["gateway", "try", "charge", "--url", &url, "--json", "--effects", &url]).json();
    assert_eq!((&json["verdict"], &json["steps"][3]["verdict"]), (&"held".into(), &"held".into()), "{json}");
    assert!(json["steps"][3]["requests"].as_u64().unwrap() > 2, "the first cut showed nothing: {json}");
}

#[test]
fn what_cannot_be_tried_is_said_with_the_next_step() {
    let dir = Workdir::with_config(&route(free_port(), "https://api.example", ""));
    let rows = [
        (vec!["charge"], Some(65), "--yes"),
        (vec!["charge", "--yes"], Some(69), "onefold serve"),
        (vec!["chrage"], Some(65), "did you mean `charge`?"),
        (vec!["charge", "--yes", "--header", "no colon"], Some(65), "--header 'Name: value'"),
        (vec!["charge", "--yes", "--url", "https://127.0.0.1"], Some(65), "http://127.0.0.1:7080"),
        (vec!["charge", "--yes", "--effects", "/count"], Some(65), "http://127.0.0.1:8181/count"),
    ];
    for (words, code, hint) in rows {
        let ran = dir.run(&[&["gateway", "try"], words.as_slice()].concat());
        assert_eq!(ran.code, code, "{words:?}: {}{}", ran.out(), ran.err());
        assert!(ran.err().contains(hint), "{words:?}: {}", ran.err());
    }
}
