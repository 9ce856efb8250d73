//! RabbitMQ: one node, with the Erlang name server that it needs.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::address::Address;
use super::obtain::Missing;
use super::process::Marker;
use super::recipe::{Place, Recipe};
use super::site::Site;

/// Debian's own scripts; those on the path are wrappers that change user and folder.
const PROGRAMS: &str = "/usr/lib/rabbitmq/bin";

/// Ends the name server with the node: it is started by it, and would stay.
const SUPERVISE: &str = r#"server="$1"
"$server" &
node=$!
trap 'kill -TERM "$node"' TERM INT
wait "$node"
wait "$node"
status=$?
epmd -port "$ERL_EPMD_PORT" -kill >/dev/null 2>&1
exit "$status"
"#;

pub(super) struct RabbitMq;

impl Recipe for RabbitMq {
    fn missing(&self, _: &Site) -> Vec<Missing> {
        if server().is_file() { Vec::new() } else { vec![Missing::Package("rabbitmq-server")] }
    }

    /// Clients, other nodes, the name server.
    fn ports(&self) -> usize {
        3
    }

    fn marker(&self, folder: &Path) -> Marker {
        Marker { program: "sh", argument: script(folder).display().to_string() }
    }

    fn command(&self, place: &Place<'_>) -> Result<Command, String> {
        let home = place.folder.join("home");
        std::fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
        write(&script(&place.folder), SUPERVISE)?;
        write(&place.folder.join("rabbitmq.conf"), &settings(place.ports[0]))?;
        write(&place.folder.join("enabled_plugins"), "[].")?;
        let mut command = place.run(Path::new("/bin/sh"));
        command.arg(script(&place.folder)).arg(server()).envs(variables(&place.folder, &place.ports));
        Ok(command)
    }

    fn answers(&self, ports: &[u16]) -> Result<(), String> {
        greet(&Address::local(ports[0]))
    }

    fn environment(&self, ports: &[u16]) -> Vec<(&'static str, String)> {
        vec![("ONEFOLD_TEST_RABBITMQ", format!("amqp://127.0.0.1:{}", ports[0]))]
    }

    /// Tests that kill brokers, or need other settings, start their own.
    fn installed(&self, _: &Site) -> Vec<(&'static str, String)> {
        let there = server().is_file().then(|| ("ONEFOLD_TEST_RABBITMQ_SERVER", server().display().to_string()));
        there.into_iter().collect()
    }
}

fn server() -> PathBuf {
    Path::new(PROGRAMS).join("rabbitmq-server")
}

fn script(folder: &Path) -> PathBuf {
    folder.join("supervise.sh")
}

fn variables(folder: &Path, ports: &[u16]) -> Vec<(&'static str, String)> {
    let within = |name: &str| folder.join(name).display().to_string();
    vec![
        ("HOME", within("home")),
        ("RABBITMQ_NODENAME", format!("onefold-{}@localhost", ports[0])),
        ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".to_owned()),
        ("RABBITMQ_NODE_PORT", ports[0].to_string()),
        ("RABBITMQ_DIST_PORT", ports[1].to_string()),
        ("ERL_EPMD_PORT", ports[2].to_string()),
        ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
        ("RABBITMQ_MNESIA_BASE", within("data")),
        ("RABBITMQ_LOG_BASE", within("log")),
        ("RABBITMQ_PID_FILE", within("pid")),
        ("RABBITMQ_CONFIG_FILE", within("rabbitmq.conf")),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", within("enabled_plugins")),
        ("RABBITMQ_CONF_ENV_FILE", "/dev/null".to_owned()),
        (
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
            "+S 2:2 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}".to_owned(),
        ),
    ]
}

fn settings(port: u16) -> String {
    format!(
        "listeners.tcp.1 = 127.0.0.1:{port}
disk_free_limit.absolute = 200MB
vm_memory_high_watermark.absolute = 512MB
log.console = true
log.file = false
"
    )
}

/// Says what a client says first; a broker that serves answers with a frame.
pub(super) fn greet(address: &Address) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect((address.host.as_str(), address.port)).map_err(told)?;
    stream.set_read_timeout(Some(Duration::from_secs(3))).map_err(told)?;
    stream.write_all(b"AMQP\x00\x00\x09\x01").map_err(told)?;
    let mut frame = [0; 1];
    stream.read_exact(&mut frame).map_err(told)?;
    if frame == [1] { Ok(()) } else { Err("it does not speak AMQP 0-9-1".to_owned()) }
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_serves_loopback_and_keeps_to_its_folder() {
        assert!(settings(20_008).lines().any(|line| line == "listeners.tcp.1 = 127.0.0.1:20008"));
        let variables = variables(Path::new("rabbitmq"), &[20_008, 20_009, 20_010]);
        let of = |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str());
        assert_eq!(of("ERL_EPMD_ADDRESS"), Some("127.0.0.1"));
        assert_eq!(of("ERL_EPMD_PORT"), Some("20010"));
        for folder in ["HOME", "RABBITMQ_MNESIA_BASE", "RABBITMQ_LOG_BASE", "RABBITMQ_PID_FILE"] {
            assert!(of(folder).is_some_and(|path| path.starts_with("rabbitmq/")), "{folder}");
        }
    }
}
