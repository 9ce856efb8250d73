//! Who a service runs as.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The account that Debian's packages make for PostgreSQL.
const NAME: &str = "postgres";

/// An account of this machine that root starts servers under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    user: u32,
    group: u32,
}

impl Account {
    /// None where we are not root: then servers run as we do.
    pub(super) fn for_servers() -> Result<Option<Self>, String> {
        if !is_root() {
            return Ok(None);
        }
        let id = |flag| number(&[flag, NAME]).ok_or_else(|| format!("root has no account `{NAME}` to start it under"));
        Ok(Some(Self { user: id("-u")?, group: id("-g")? }))
    }

    /// The command will run under this account.
    pub(super) fn take_on(self, command: &mut Command) {
        command.uid(self.user).gid(self.group).env("HOME", "/").env("USER", NAME).env("LOGNAME", NAME);
    }

    /// Gives the account a file or folder.
    pub(super) fn own(self, path: &Path) -> Result<(), String> {
        chown(path, Some(self.user), Some(self.group)).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Whether every folder on the way lets the account pass: asked of the system, which knows.
    pub(super) fn reaches(self, folder: &Path) -> bool {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "cd \"$1\"", "sh"]).arg(folder).current_dir("/").stderr(Stdio::null());
        self.take_on(&mut command);
        command.status().is_ok_and(|status| status.success())
    }
}

pub(super) fn is_root() -> bool {
    number(&["-u"]) == Some(0)
}

fn number(args: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(args).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
