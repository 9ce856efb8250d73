//! Zeebe: one broker with its gateway, and a clock that tests may set.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::address::Address;
use super::obtain::{Download, Missing};
use super::process::Marker;
use super::recipe::{Place, Recipe};
use super::site::Site;
use super::{http, java, maven};

/// The folder of the downloads with its distribution.
const NAME: &str = "zeebe-8.6.0";
const COORDINATES: &str = "io.camunda:camunda-zeebe:8.6.0:tar.gz";
const DISTRIBUTION: Download = Download { what: "Zeebe 8.6.0 with mvn (299 MB)", fetch };
const JAVA: u32 = 21;

/// The variable with the address of the health probes and of the clock.
pub(super) const MANAGEMENT: &str = "ONEFOLD_TEST_ZEEBE_MANAGEMENT";
pub(super) const READINESS: &str = "/actuator/health/readiness";

/// Small, since tests hold few instances; the free space is what a developer's disk still has.
const SETTINGS: [(&str, &str); 9] = [
    ("JAVA_TOOL_OPTIONS", "-Xms64m -Xmx256m -XX:+UseSerialGC -XX:MaxDirectMemorySize=256m"),
    ("ZEEBE_BROKER_DATA_LOGSEGMENTSIZE", "16MB"),
    ("ZEEBE_BROKER_DATA_DISK_FREESPACE_PROCESSING", "512MB"),
    ("ZEEBE_BROKER_DATA_DISK_FREESPACE_REPLICATION", "256MB"),
    ("ZEEBE_CLOCK_CONTROLLED", "true"),
    ("ZEEBE_BROKER_NETWORK_HOST", "127.0.0.1"),
    ("ZEEBE_BROKER_GATEWAY_NETWORK_HOST", "127.0.0.1"),
    ("SERVER_ADDRESS", "127.0.0.1"),
    ("MANAGEMENT_SERVER_ADDRESS", "127.0.0.1"),
];

pub(super) struct Zeebe;

impl Recipe for Zeebe {
    fn missing(&self, site: &Site) -> Vec<Missing> {
        let mut missing = java::missing(site, JAVA);
        if !distribution(site).is_dir() {
            missing.extend(maven::missing());
            missing.push(Missing::Download(DISTRIBUTION));
        }
        missing
    }

    /// Clients, management, REST, commands, other brokers.
    fn ports(&self) -> usize {
        5
    }

    fn marker(&self, folder: &Path) -> Marker {
        Marker { program: "java", argument: argument(folder) }
    }

    fn command(&self, place: &Place<'_>) -> Result<Command, String> {
        let home = java::of_version(place.site, JAVA).ok_or("Java is gone")?;
        let mut command = place.run(&distribution(place.site).join("bin").join("broker"));
        command.arg(argument(&place.folder)).env("JAVA_HOME", home).envs(SETTINGS);
        command.env("ZEEBE_BROKER_DATA_DIRECTORY", place.folder.join("data")).envs(addresses(&place.ports));
        Ok(command)
    }

    fn answers(&self, ports: &[u16]) -> Result<(), String> {
        ready(&Address::local(ports[1]))
    }

    fn environment(&self, ports: &[u16]) -> Vec<(&'static str, String)> {
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        vec![("ONEFOLD_TEST_ZEEBE", url(ports[0])), (MANAGEMENT, url(ports[1]))]
    }

    fn environment_given(&self, variable: &'static str, address: &str) -> Vec<(&'static str, String)> {
        let management = std::env::var(MANAGEMENT).ok().map(|management| (MANAGEMENT, management));
        [(variable, address.to_owned())].into_iter().chain(management).collect()
    }
}

/// An error while the broker takes no commands.
pub(super) fn ready(management: &Address) -> Result<(), String> {
    match http::status(management, READINESS)? {
        200 => Ok(()),
        status => Err(format!("{READINESS} answers {status}")),
    }
}

fn fetch(site: &Site, who: &str) -> Result<(), String> {
    maven::archive(site, who, NAME, COORDINATES)
}

fn distribution(site: &Site) -> PathBuf {
    site.downloads().join(NAME).join("camunda-zeebe-8.6.0")
}

/// It means nothing to the broker; we know its process by it.
fn argument(folder: &Path) -> String {
    format!("--onefold.services={}", folder.display())
}

fn addresses(ports: &[u16]) -> Vec<(&'static str, String)> {
    let mut variables: Vec<(&str, String)> = [
        "ZEEBE_BROKER_GATEWAY_NETWORK_PORT",
        "MANAGEMENT_SERVER_PORT",
        "SERVER_PORT",
        "ZEEBE_BROKER_NETWORK_COMMANDAPI_PORT",
        "ZEEBE_BROKER_NETWORK_INTERNALAPI_PORT",
    ]
    .into_iter()
    .zip(ports.iter().map(u16::to_string))
    .collect();
    variables
        .extend(ports.last().map(|port| ("ZEEBE_BROKER_CLUSTER_INITIALCONTACTPOINTS", format!("127.0.0.1:{port}"))));
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_has_its_variable_and_the_broker_contacts_itself() {
        let variables = addresses(&[1, 2, 3, 4, 5]);
        assert_eq!(variables.len(), Zeebe.ports() + 1);
        assert!(variables.contains(&("MANAGEMENT_SERVER_PORT", "2".to_owned())));
        assert!(variables.contains(&("ZEEBE_BROKER_CLUSTER_INITIALCONTACTPOINTS", "127.0.0.1:5".to_owned())));
    }

    #[test]
    fn it_serves_loopback_only() {
        let hosts: Vec<_> =
            SETTINGS.iter().filter(|(name, _)| name.ends_with("HOST") || name.ends_with("ADDRESS")).collect();
        assert!(hosts.len() == 4 && hosts.iter().all(|(_, host)| *host == "127.0.0.1"), "{hosts:?}");
    }
}
