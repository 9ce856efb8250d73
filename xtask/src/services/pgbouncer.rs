//! PgBouncer in front of PostgreSQL, pooling by transaction: what a session keeps is gone after each commit.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::address::Address;
use super::obtain::Missing;
use super::process::Marker;
use super::program;
use super::recipe::{Place, Recipe};
use super::site::Site;
use super::{http, postgres};

const USERS: &str = "\"postgres\" \"\"\n";

pub(super) struct PgBouncer;

impl Recipe for PgBouncer {
    fn missing(&self, _: &Site) -> Vec<Missing> {
        if program::find("pgbouncer").is_some() { Vec::new() } else { vec![Missing::Package("pgbouncer")] }
    }

    fn ports(&self) -> usize {
        1
    }

    fn marker(&self, folder: &Path) -> Marker {
        Marker { program: "pgbouncer", argument: settings_file(folder).display().to_string() }
    }

    fn command(&self, place: &Place<'_>) -> Result<Command, String> {
        let program = program::find("pgbouncer").ok_or("its program is gone")?;
        let settings = settings_file(&place.folder);
        write(place, &settings, &settings_of(place)?)?;
        write(place, &users_file(&place.folder), USERS)?;
        let mut command = place.run(&program);
        command.arg(settings);
        Ok(command)
    }

    /// By a statement that goes through to PostgreSQL, where there is a client to send it.
    fn answers(&self, ports: &[u16]) -> Result<(), String> {
        let Some(programs) = postgres::programs() else { return http::accepts(&Address::local(ports[0])) };
        let mut command = Command::new(programs.join("psql"));
        command.args(["-X", "-w", "-h", "127.0.0.1", "-U", "postgres", "-d", "postgres", "-p", &ports[0].to_string()]);
        program::output(command.args(["-c", "SELECT 1"]).env("PGCONNECT_TIMEOUT", "3")).map(drop)
    }

    fn environment(&self, ports: &[u16]) -> Vec<(&'static str, String)> {
        vec![("ONEFOLD_TEST_PGBOUNCER", format!("postgres://postgres@127.0.0.1:{}/postgres", ports[0]))]
    }

    fn refuses_root(&self) -> bool {
        true
    }

    /// PostgreSQL may have moved to another port, or be one that the environment names.
    fn outdated(&self, place: &Place<'_>) -> bool {
        let written = std::fs::read_to_string(settings_file(&place.folder));
        settings_of(place).is_ok_and(|now| written.ok() != Some(now))
    }
}

fn settings_file(folder: &Path) -> PathBuf {
    folder.join("pgbouncer.ini")
}

fn users_file(folder: &Path) -> PathBuf {
    folder.join("users.txt")
}

fn settings_of(place: &Place<'_>) -> Result<String, String> {
    let postgres = place.postgres.as_ref().ok_or("it is not known where PostgreSQL is")?;
    Ok(settings(postgres, place.ports[0], &users_file(&place.folder)))
}

/// It logs to standard error: a log file of its own, left by another account, would end it without a word.
fn settings(postgres: &Address, port: u16, users: &Path) -> String {
    let Address { host, port: upstream, user, password } = postgres;
    // Of a PostgreSQL that the environment names: a login means that it does not trust everybody.
    let login = match (user, password) {
        (Some(user), Some(password)) => format!(" user={user} password={password}"),
        _ => String::new(),
    };
    format!(
        "[databases]
* = host={host} port={upstream}{login}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {}
admin_users = postgres
pool_mode = transaction
max_client_conn = 500
default_pool_size = 20
ignore_startup_parameters = extra_float_digits
",
        users.display()
    )
}

fn write(place: &Place<'_>, file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    place.account.map_or(Ok(()), |account| account.own(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_pools_by_transaction_on_loopback_in_front_of_postgres() {
        let text = settings(&Address::local(20_001), 20_002, Path::new("bouncer/users.txt"));
        for line in [
            "* = host=127.0.0.1 port=20001",
            "listen_addr = 127.0.0.1",
            "listen_port = 20002",
            "pool_mode = transaction",
            "auth_file = bouncer/users.txt",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn a_login_of_the_given_postgres_is_used() {
        let address = Address::parse("postgres://app:secret@127.0.0.1:5432/app", 5432).unwrap();
        assert!(
            settings(&address, 1, Path::new("u")).contains("* = host=127.0.0.1 port=5432 user=app password=secret\n")
        );
    }
}
