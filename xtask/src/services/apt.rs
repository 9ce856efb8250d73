//! Debian's packages.

use std::path::Path;
use std::process::Command;

use super::program;
use super::progress::say;
use super::site::Site;

/// Installs packages by name; the lists are fetched first where there are none, and again where they are too old.
pub(super) fn install(site: &Site, packages: &[&str]) -> Result<(), String> {
    if program::find("apt-get").is_none() {
        return Err(format!("there is no apt-get here: install {} by hand", packages.join(", ")));
    }
    let mut fresh = false;
    if !has_lists(Path::new("/var/lib/apt/lists")) {
        update(site)?;
        fresh = true;
    }
    match install_once(site, packages) {
        Err(why) if !fresh => {
            say("apt-get", &format!("{why}: fetching new lists and trying again"));
            update(site)?;
            install_once(site, packages)
        }
        ended => ended,
    }
}

fn install_once(site: &Site, packages: &[&str]) -> Result<(), String> {
    let doing = format!("installing {}", packages.join(" "));
    say("apt-get", &doing);
    let mut command = apt_get();
    command.args(["install", "-y", "--no-install-recommends"]).args(packages);
    program::run("apt-get", &doing, &mut command, &site.log("apt-get"))
}

fn update(site: &Site) -> Result<(), String> {
    say("apt-get", "fetching the lists of packages");
    program::run("apt-get", "fetching the lists of packages", apt_get().arg("update"), &site.log("apt-get"))
}

/// Waits for another installation that is running, and asks nothing.
fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.args(["-o", "DPkg::Lock::Timeout=300"]).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn has_lists(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_lists_of_packages_has_none() {
        assert!(!has_lists(Path::new("no/such/folder")));
    }
}
