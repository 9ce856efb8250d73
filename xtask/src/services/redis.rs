//! Redis with its append-only file, synced every second.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::obtain::Missing;
use super::process::Marker;
use super::program;
use super::recipe::{Place, Recipe};
use super::site::Site;

pub(super) struct Redis;

impl Recipe for Redis {
    fn missing(&self, _: &Site) -> Vec<Missing> {
        let there = ["redis-server", "redis-cli"].iter().all(|name| program::find(name).is_some());
        if there { Vec::new() } else { vec![Missing::Package("redis-server")] }
    }

    fn ports(&self) -> usize {
        1
    }

    fn marker(&self, folder: &Path) -> Marker {
        Marker { program: "redis-server", argument: settings_file(folder).display().to_string() }
    }

    fn command(&self, place: &Place<'_>) -> Result<Command, String> {
        let program = program::find("redis-server").ok_or("its program is gone")?;
        let file = settings_file(&place.folder);
        std::fs::write(&file, settings(place.ports[0])).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut command = place.run(&program);
        command.arg(file);
        Ok(command)
    }

    fn answers(&self, ports: &[u16]) -> Result<(), String> {
        let mut command = Command::new("redis-cli");
        let said = program::output(command.args(["-h", "127.0.0.1", "-p", &ports[0].to_string(), "ping"]))?;
        if said.trim() == "PONG" { Ok(()) } else { Err(said) }
    }

    fn environment(&self, ports: &[u16]) -> Vec<(&'static str, String)> {
        vec![("ONEFOLD_TEST_REDIS", format!("redis://127.0.0.1:{}", ports[0]))]
    }
}

fn settings_file(folder: &Path) -> PathBuf {
    folder.join("redis.conf")
}

/// Its data goes to the folder that it is started in. It keeps the title of its process, by which we know it.
fn settings(port: u16) -> String {
    format!(
        "bind 127.0.0.1
port {port}
appendonly yes
appendfsync everysec
save \"\"
set-proc-title no
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_serves_loopback_and_keeps_what_it_is_told() {
        let text = settings(20_003);
        for line in ["bind 127.0.0.1", "port 20003", "appendonly yes", "set-proc-title no"] {
            assert!(text.lines().any(|written| written == line), "{line}");
        }
    }
}
