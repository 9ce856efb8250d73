//! What a service is, to those that get it, start it and stop it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::account::Account;
use super::address::Address;
use super::obtain::Missing;
use super::process::Marker;
use super::site::Site;

/// How one service is had, started, recognised and asked.
pub(super) trait Recipe: Sync {
    /// What this machine lacks to start it.
    fn missing(&self, site: &Site) -> Vec<Missing>;
    /// How many ports it listens on; the first is the one that clients use.
    fn ports(&self) -> usize;
    /// What tells its process from every other one.
    fn marker(&self, folder: &Path) -> Marker;
    /// Writes what it reads at its start, and gives the command that runs it in the foreground.
    fn command(&self, place: &Place<'_>) -> Result<Command, String>;
    /// An error while it does not answer its clients.
    fn answers(&self, ports: &[u16]) -> Result<(), String>;
    /// The variables that tell tests where it is.
    fn environment(&self, ports: &[u16]) -> Vec<(&'static str, String)>;

    /// The same for one that already runs at this address.
    fn environment_given(&self, variable: &'static str, address: &str) -> Vec<(&'static str, String)> {
        vec![(variable, address.to_owned())]
    }

    /// The variables that tell tests how to start one of their own, where they may.
    fn installed(&self, _site: &Site) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The signal that makes it close its files and end.
    fn stop_signal(&self) -> &'static str {
        "TERM"
    }

    /// Whether it refuses to run as root.
    fn refuses_root(&self) -> bool {
        false
    }

    /// Whether one that runs was started with other settings than it would be now.
    fn outdated(&self, _place: &Place<'_>) -> bool {
        false
    }
}

/// Where one service runs.
pub(super) struct Place<'a> {
    pub(super) site: &'a Site,
    /// Its own folder, which exists and belongs to the account.
    pub(super) folder: PathBuf,
    pub(super) ports: Vec<u16>,
    /// Who it runs as, where that is not us.
    pub(super) account: Option<Account>,
    /// Where PostgreSQL is, once that is known.
    pub(super) postgres: Option<Address>,
}

impl Place<'_> {
    /// A program in the service's folder, under the service's account.
    pub(super) fn run(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env("LC_ALL", "C.UTF-8");
        if let Some(account) = &self.account {
            account.take_on(&mut command);
        }
        command
    }
}
