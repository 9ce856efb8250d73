//! PostgreSQL: durable as in production, with logical decoding, open to everybody on loopback.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::obtain::Missing;
use super::process::Marker;
use super::program;
use super::progress::say;
use super::recipe::{Place, Recipe};
use super::site::Site;

/// The variable with the folder of its programs: tests that kill a server start their own.
pub(super) const PROGRAMS: &str = "ONEFOLD_TEST_POSTGRES_BIN";

/// Where Debian keeps each major version's programs, off the path.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The programs that we start, or that tests do.
const NEEDED: [&str; 5] = ["postgres", "initdb", "pg_ctl", "pg_isready", "psql"];

/// What tests rely on. Without a socket file the path of the folder may be of any length.
const SETTINGS: [&str; 9] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=on",
    "wal_level=logical",
    "max_wal_senders=10",
    "max_replication_slots=10",
    "max_connections=200",
    "max_prepared_transactions=20",
    "log_line_prefix=%m [%p] ",
];

pub(super) struct Postgres;

impl Recipe for Postgres {
    fn missing(&self, _: &Site) -> Vec<Missing> {
        if programs().is_some() { Vec::new() } else { vec![Missing::Package("postgresql")] }
    }

    fn ports(&self) -> usize {
        1
    }

    fn marker(&self, folder: &Path) -> Marker {
        Marker { program: "postgres", argument: folder.join("data").display().to_string() }
    }

    fn command(&self, place: &Place<'_>) -> Result<Command, String> {
        let programs = programs().ok_or("its programs are gone")?;
        let data = place.folder.join("data");
        set_aside_another_version(&programs, &data)?;
        if !data.exists() {
            initialise(place, &programs, &data)?;
        }
        let mut command = place.run(&programs.join("postgres"));
        command.arg("-D").arg(data).args(["-c", &format!("port={}", place.ports[0])]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        Ok(command)
    }

    fn answers(&self, ports: &[u16]) -> Result<(), String> {
        let programs = programs().ok_or("its programs are gone")?;
        let mut command = Command::new(programs.join("pg_isready"));
        command.args(["-h", "127.0.0.1", "-U", "postgres", "-d", "postgres", "-p", &ports[0].to_string()]);
        program::output(&mut command).map(drop)
    }

    fn environment(&self, ports: &[u16]) -> Vec<(&'static str, String)> {
        let url = format!("postgres://postgres@127.0.0.1:{}/postgres", ports[0]);
        self.environment_given("ONEFOLD_TEST_POSTGRES", &url)
    }

    fn environment_given(&self, variable: &'static str, address: &str) -> Vec<(&'static str, String)> {
        let mut variables = vec![(variable, address.to_owned())];
        variables.extend(programs().map(|folder| (PROGRAMS, folder.display().to_string())));
        variables
    }

    /// Fast: ends the sessions of clients instead of waiting for them.
    fn stop_signal(&self) -> &'static str {
        "INT"
    }

    fn refuses_root(&self) -> bool {
        true
    }
}

/// The folder with the server's and the clients' programs: the one that is named, that on the path, or Debian's newest.
pub(super) fn programs() -> Option<PathBuf> {
    let named = std::env::var_os(PROGRAMS).map(PathBuf::from);
    // The path may lead to a link; the clients are beside what it points to.
    let on_path = program::find("postgres").and_then(|file| file.canonicalize().ok());
    let on_path = on_path.and_then(|file| file.parent().map(PathBuf::from));
    let complete = |folder: &PathBuf| NEEDED.iter().all(|name| folder.join(name).is_file());
    named.into_iter().chain(on_path).chain(installed(Path::new(VERSIONS))).find(complete)
}

/// Newest first.
fn installed(versions: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(versions).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable_by(|one, other| other.cmp(one));
    numbers.into_iter().map(|number| versions.join(number.to_string()).join("bin")).collect()
}

/// Made beside its place and moved there once it is whole, so that an interrupted one is never started.
fn initialise(place: &Place<'_>, programs: &Path, data: &Path) -> Result<(), String> {
    let new = place.folder.join("data.new");
    if new.exists() {
        std::fs::remove_dir_all(&new).map_err(|error| format!("{}: {error}", new.display()))?;
    }
    let mut command = place.run(&programs.join("initdb"));
    command.args(["-U", "postgres", "-A", "trust", "--locale=C.UTF-8", "-E", "UTF8", "-D"]).arg(&new);
    say("postgres", &format!("making its data folder {}", data.display()));
    program::run("postgres", "initdb", &mut command, &place.site.log("initdb"))?;
    std::fs::rename(&new, data).map_err(|error| format!("{}: {error}", data.display()))
}

/// A server does not read what another major version wrote; the old data stays beside the new.
fn set_aside_another_version(programs: &Path, data: &Path) -> Result<(), String> {
    let Ok(written_by) = std::fs::read_to_string(data.join("PG_VERSION")) else { return Ok(()) };
    let written_by = written_by.trim();
    let asked = Command::new(programs.join("postgres")).arg("--version").stderr(Stdio::null()).output();
    let said = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if major(&said) == Some(written_by) {
        return Ok(());
    }
    let aside = data.with_file_name(format!("data-{written_by}"));
    say("postgres", &format!("its data is of version {written_by}: moved to {}", aside.display()));
    std::fs::rename(data, &aside).map_err(|error| format!("{}: {error}", aside.display()))
}

/// `postgres (PostgreSQL) 15.18 (Debian …)` is of version 15.
fn major(said: &str) -> Option<&str> {
    said.split_whitespace().nth(2)?.split('.').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_durable_and_only_loopback_is_served() {
        for setting in ["fsync=on", "wal_level=logical", "listen_addresses=127.0.0.1", "max_connections=200"] {
            assert!(SETTINGS.contains(&setting), "{setting}");
        }
    }

    #[test]
    fn the_major_version_is_read_from_what_the_server_says() {
        assert_eq!(major("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"), Some("15"));
        assert_eq!(major("postgres (PostgreSQL) 18beta1"), Some("18beta1"));
        assert_eq!(major(""), None);
    }

    #[test]
    fn a_machine_without_debians_folder_has_no_versions() {
        assert!(installed(Path::new("no/such/folder")).is_empty());
    }

    #[test]
    fn tests_are_told_the_address_with_user_and_database() {
        let variables = Postgres.environment(&[20_001]);
        assert_eq!(variables[0], ("ONEFOLD_TEST_POSTGRES", "postgres://postgres@127.0.0.1:20001/postgres".to_owned()));
    }
}
