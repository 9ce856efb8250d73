//! Counts what really happened. It lives in a process of its own, so that no crash can take its memory.
//!
//! `DO key` acts and answers `OK n`, n being how often it has acted for the key; `COUNT key` tells;
//! `DEDUP key` acts only for a new key, as a provider with keys does; `VOID key` refuses the key from
//! now on, or tells that it took hold; `EFFECTS id` counts over every key of an operation.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

use onefold::testing::CountingProvider;

fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("LISTENING {}", listener.local_addr()?);
    let provider = CountingProvider::default();
    for stream in listener.incoming() {
        let provider = provider.clone();
        std::thread::spawn(move || stream.and_then(|stream| serve(&stream, &provider)));
    }
    Ok(())
}

fn serve(stream: &TcpStream, provider: &CountingProvider) -> std::io::Result<()> {
    let mut line = String::new();
    while BufReader::new(stream).read_line(&mut line)? > 0 {
        let answer = answer(line.trim(), provider);
        writeln!(&*stream, "{answer}")?;
        line.clear();
    }
    Ok(())
}

fn answer(line: &str, provider: &CountingProvider) -> String {
    let (verb, id) = line.split_once(' ').unwrap_or((line, ""));
    match verb {
        "DO" | "DEDUP" if provider.is_voided(id) => "VOIDED".to_owned(),
        "DO" => format!("OK {}", provider.act(id)),
        "DEDUP" => provider.act_by_key(id).map_or_else(|_| "VOIDED".to_owned(), |effects| format!("OK {effects}")),
        "COUNT" => provider.effects(id).to_string(),
        "EFFECTS" => provider.effects_of_operation(id).to_string(),
        "REQUESTS" => provider.requests(id).to_string(),
        "VOID" => if provider.void(id).is_ok() { "VOIDED" } else { "DONE" }.to_owned(),
        _ => "ERROR".to_owned(),
    }
}
