//! Kafka: one node that is broker and controller.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::obtain::{Download, Missing};
use super::process::Marker;
use super::progress::say;
use super::recipe::{Place, Recipe};
use super::site::Site;
use super::{java, maven, program};

/// The folder of the downloads with its jars.
const NAME: &str = "kafka-4.3.1";
/// Without the binding of its logger it logs nothing at all.
const COORDINATES: [&str; 2] =
    ["org.apache.kafka:kafka_2.13:4.3.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"];
const JARS: Download = Download { what: "Kafka 4.3.1 with mvn (44 MB)", fetch };
const JAVA: u32 = 17;

/// Sixteen bytes in base64url; it need not differ from other clusters, which this one never meets.
const CLUSTER: &str = "b25lZm9sZC1zZXJ2aWNlcw";

/// To standard error, which is its log.
const LOGGING: &str = r#"<Configuration status="WARN">
  <Appenders>
    <Console name="log" target="SYSTEM_ERR"><PatternLayout pattern="%d %p %c{1} %m%n"/></Console>
  </Appenders>
  <Loggers><Root level="INFO"><AppenderRef ref="log"/></Root></Loggers>
</Configuration>
"#;

pub(super) struct Kafka;

impl Recipe for Kafka {
    fn missing(&self, site: &Site) -> Vec<Missing> {
        let mut missing = Vec::new();
        if program::find("kcat").is_none() {
            missing.push(Missing::Package("kcat"));
        }
        if program::find("java").is_none() {
            missing.push(Missing::Package("openjdk-17-jre-headless"));
        } else {
            missing.extend(java::missing(site, JAVA));
        }
        if !jars(site).is_dir() {
            missing.extend(maven::missing());
            missing.push(Missing::Download(JARS));
        }
        missing
    }

    fn ports(&self) -> usize {
        2
    }

    fn marker(&self, folder: &Path) -> Marker {
        Marker { program: "java", argument: settings_file(folder).display().to_string() }
    }

    fn command(&self, place: &Place<'_>) -> Result<Command, String> {
        let file = settings_file(&place.folder);
        write(&file, &settings(place.ports[0], place.ports[1], &place.folder.join("data")))?;
        write(&logging_file(&place.folder), LOGGING)?;
        let mut format = java(place)?;
        format.args(["kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", CLUSTER, "-c"]).arg(&file);
        say("kafka", "formatting its data folder where that is new");
        program::run("kafka", "formatting", &mut format, &place.site.log("kafka-format"))?;
        let mut command = java(place)?;
        command.arg("kafka.Kafka").arg(file);
        Ok(command)
    }

    fn answers(&self, ports: &[u16]) -> Result<(), String> {
        let mut command = Command::new("kcat");
        program::output(command.args(["-b", &format!("127.0.0.1:{}", ports[0]), "-L", "-m", "2"])).map(drop)
    }

    fn environment(&self, ports: &[u16]) -> Vec<(&'static str, String)> {
        vec![("ONEFOLD_TEST_KAFKA", format!("127.0.0.1:{}", ports[0]))]
    }

    /// Tests that kill brokers, or need several, start their own.
    fn installed(&self, site: &Site) -> Vec<(&'static str, String)> {
        let java = java::of_version(site, JAVA).map(|home| ("ONEFOLD_TEST_KAFKA_JAVA", home.join("bin").join("java")));
        let jars = Some(("ONEFOLD_TEST_KAFKA_JARS", jars(site))).filter(|(_, folder)| folder.is_dir());
        java.into_iter().chain(jars).map(|(name, path)| (name, path.display().to_string())).collect()
    }
}

fn fetch(site: &Site, who: &str) -> Result<(), String> {
    maven::jars(site, who, NAME, &COORDINATES)
}

fn jars(site: &Site) -> PathBuf {
    site.downloads().join(NAME).join("lib")
}

fn java(place: &Place<'_>) -> Result<Command, String> {
    let home = java::of_version(place.site, JAVA).ok_or("Java is gone")?;
    let mut command = place.run(&home.join("bin").join("java"));
    command.args(["-Xmx256m", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true"]);
    command.arg(format!("-Dlog4j2.configurationFile={}", logging_file(&place.folder).display()));
    command.arg("-cp").arg(jars(place.site).join("*"));
    Ok(command)
}

fn settings_file(folder: &Path) -> PathBuf {
    folder.join("server.properties")
}

fn logging_file(folder: &Path) -> PathBuf {
    folder.join("log4j2.xml")
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Every internal topic has one replica, since there is one node; the cleaner's buffer fits the small heap.
fn settings(clients: u16, controller: u16, data: &Path) -> String {
    format!(
        "process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{clients},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{clients}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={}
num.partitions=3
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=16777216
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=5
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
",
        data.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_serves_clients_and_itself_on_loopback() {
        let text = settings(20_004, 20_005, Path::new("kafka/data"));
        for line in [
            "listeners=PLAINTEXT://127.0.0.1:20004,CONTROLLER://127.0.0.1:20005",
            "controller.quorum.voters=1@127.0.0.1:20005",
            "advertised.listeners=PLAINTEXT://127.0.0.1:20004",
            "log.dirs=kafka/data",
        ] {
            assert!(text.lines().any(|written| written == line), "{line}");
        }
    }
}
