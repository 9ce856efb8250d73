//! Counts what really happened. It lives in a process of its own, so that no crash can take its memory.
//!
//! `DO key` acts and answers `OK n`, n being how often it has acted for the key; `COUNT key` tells;
//! `DEDUP key` acts only for a new key, as a provider with keys does; `VOID key` refuses the key from
//! now on, or tells that it took hold; `EFFECTS id` counts over every key of an operation.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Default)]
struct Effects {
    done: HashMap<String, u64>,
    requests: HashMap<String, u64>,
    voided: HashSet<String>,
}

fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("LISTENING {}", listener.local_addr()?);
    let effects = Arc::new(Mutex::new(Effects::default()));
    for stream in listener.incoming() {
        let effects = Arc::clone(&effects);
        std::thread::spawn(move || stream.and_then(|stream| serve(&stream, &effects)));
    }
    Ok(())
}

fn serve(stream: &TcpStream, effects: &Mutex<Effects>) -> std::io::Result<()> {
    let mut line = String::new();
    while BufReader::new(stream).read_line(&mut line)? > 0 {
        let answer = answer(line.trim(), &mut effects.lock().unwrap_or_else(PoisonError::into_inner));
        writeln!(&*stream, "{answer}")?;
        line.clear();
    }
    Ok(())
}

fn answer(line: &str, effects: &mut Effects) -> String {
    let (verb, id) = line.split_once(' ').unwrap_or((line, ""));
    let done = effects.done.get(id).copied().unwrap_or(0);
    match verb {
        "DO" | "DEDUP" if effects.voided.contains(id) => "VOIDED".to_owned(),
        "DO" | "DEDUP" => {
            *effects.requests.entry(id.to_owned()).or_default() += 1;
            if verb == "DO" || done == 0 {
                *effects.done.entry(id.to_owned()).or_default() += 1;
            }
            format!("OK {}", effects.done.get(id).copied().unwrap_or(0))
        }
        "COUNT" => done.to_string(),
        "EFFECTS" => {
            let of_operation = |key: &str| key == id || key.strip_prefix(id).is_some_and(|rest| rest.starts_with('~'));
            effects.done.iter().filter(|(key, _)| of_operation(key)).map(|(_, count)| count).sum::<u64>().to_string()
        }
        "REQUESTS" => effects.requests.get(id).copied().unwrap_or(0).to_string(),
        "VOID" if done == 0 => {
            effects.voided.insert(id.to_owned());
            "VOIDED".to_owned()
        }
        "VOID" => "DONE".to_owned(),
        _ => "ERROR".to_owned(),
    }
}
