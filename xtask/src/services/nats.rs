//! NATS with JetStream, whose streams are files.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::address::Address;
use super::obtain::Missing;
use super::process::Marker;
use super::recipe::{Place, Recipe};
use super::site::Site;
use super::{http, program};

const SERVER: &str = "nats-server";

pub(super) struct Nats;

impl Recipe for Nats {
    fn missing(&self, _: &Site) -> Vec<Missing> {
        if program::find(SERVER).is_some() { Vec::new() } else { vec![Missing::Package(SERVER)] }
    }

    /// Clients, and its probes.
    fn ports(&self) -> usize {
        2
    }

    fn marker(&self, folder: &Path) -> Marker {
        Marker { program: SERVER, argument: settings_file(folder).display().to_string() }
    }

    fn command(&self, place: &Place<'_>) -> Result<Command, String> {
        let program = program::find(SERVER).ok_or("its program is gone")?;
        let file = settings_file(&place.folder);
        let text = settings(place.ports[0], place.ports[1], &place.folder.join("data"));
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut command = place.run(&program);
        command.arg("-c").arg(file);
        Ok(command)
    }

    fn answers(&self, ports: &[u16]) -> Result<(), String> {
        match http::status(&Address::local(ports[1]), "/healthz")? {
            200 => Ok(()),
            status => Err(format!("/healthz answers {status}")),
        }
    }

    fn environment(&self, ports: &[u16]) -> Vec<(&'static str, String)> {
        vec![("ONEFOLD_TEST_NATS", format!("nats://127.0.0.1:{}", ports[0]))]
    }

    /// Tests that kill servers, or need other settings, start their own.
    fn installed(&self, _: &Site) -> Vec<(&'static str, String)> {
        let program = program::find(SERVER).map(|program| ("ONEFOLD_TEST_NATS_SERVER", program.display().to_string()));
        program.into_iter().collect()
    }
}

fn settings_file(folder: &Path) -> PathBuf {
    folder.join("nats.conf")
}

fn settings(clients: u16, probes: u16, data: &Path) -> String {
    format!(
        "server_name: onefold
host: 127.0.0.1
port: {clients}
http: 127.0.0.1:{probes}
jetstream {{ store_dir: \"{}\", max_mem: 64MB, max_file: 1GB }}
",
        data.display()
    )
}

/// Publishes a message to a subject and gets it back.
pub(super) fn publish_and_receive(url: &str, subject: &str, message: &str) -> Result<(), String> {
    let Address { host, port, .. } = Address::parse(url, 4222)?;
    let told = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect((host.as_str(), port)).map_err(told)?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(told)?;
    let length = message.len();
    let words = format!("CONNECT {{\"verbose\":false}}\r\nSUB {subject} 1\r\nPUB {subject} {length}\r\n{message}\r\n");
    stream.write_all(words.as_bytes()).map_err(told)?;
    // It says who it is, and pings, before the message comes.
    for line in BufReader::new(stream).lines().take(20) {
        if line.map_err(told)? == message {
            return Ok(());
        }
    }
    Err(format!("`{message}` was not received"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_serves_loopback_and_keeps_streams_in_files() {
        let text = settings(20_006, 20_007, Path::new("nats/data"));
        for line in ["host: 127.0.0.1", "port: 20006", "http: 127.0.0.1:20007"] {
            assert!(text.lines().any(|written| written == line), "{line}");
        }
        assert!(text.contains("store_dir: \"nats/data\""), "{text}");
    }
}
