//! Brokers of a test's own, to kill, to cut off, or with other settings; gone when the test ends.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use krafka::admin::{DescribeTopicsOptions, PartitionDescription};
use tempfile::TempDir;

/// No start may take longer.
const PATIENCE: Duration = Duration::from_mins(2);
const CLUSTER: &str = "b25lZm9sZC1zZXJ2aWNlcw";
const LOGGING: &str = r#"<Configuration status="WARN">
  <Appenders><Console name="log" target="SYSTEM_ERR"><PatternLayout pattern="%d %p %c{1} %m%n"/></Console></Appenders>
  <Loggers><Root level="INFO"><AppenderRef ref="log"/></Root></Loggers>
</Configuration>
"#;

fn installed(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is set by `cargo xtask test`"))
}

pub(crate) fn free_port() -> u16 {
    free_ports::<1>()[0]
}

/// Ports that differ: none is given twice while all of them are held.
fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    let held = [(); COUNT].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port is free"));
    held.map(|listener| listener.local_addr().expect("it has an address").port())
}

/// What is not as usual.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// How clients talk to it: `PLAINTEXT`, `SSL`, `SASL_SSL`.
    pub(crate) protocol: &'static str,
    /// The port that clients are told, where it is not the broker's own.
    pub(crate) told: Option<u16>,
    /// Further settings.
    pub(crate) settings: Vec<String>,
    /// Further arguments of the first formatting.
    pub(crate) format: Vec<String>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { protocol: "PLAINTEXT", told: None, settings: Vec::new(), format: Vec::new() }
    }
}

#[derive(Debug, Clone, Copy)]
struct Ports {
    /// For the tests' own eyes, and between brokers.
    direct: u16,
    clients: u16,
    controller: u16,
}

/// One or more brokers, all of them controllers too.
pub(crate) struct Brokers {
    ports: Vec<Ports>,
    children: Vec<Option<Child>>,
    folder: TempDir,
}

impl Brokers {
    /// One, answering.
    pub(crate) async fn one(setup: &Setup) -> Self {
        Self::start(1, setup).await
    }

    /// So many, all of them answering.
    pub(crate) async fn start(count: usize, setup: &Setup) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("log4j2.xml"), LOGGING).expect("the folder can be written to");
        let ports = (0..count).map(|_| {
            let [direct, clients, controller] = free_ports();
            Ports { direct, clients, controller }
        });
        let mut brokers = Self { ports: ports.collect(), children: (0..count).map(|_| None).collect(), folder };
        for at in 0..count {
            std::fs::write(brokers.file(at), brokers.settings(at, setup)).expect("the folder can be written to");
            let mut format = brokers.java(&["kafka.tools.StorageTool", "format", "-t", CLUSTER]);
            format.args(&setup.format).arg("-c").arg(brokers.file(at));
            let output = format.output().expect("java runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            brokers.spawn(at);
        }
        for at in 0..count {
            brokers.wait(at).await;
        }
        brokers
    }

    /// Where clients find the first one.
    pub(crate) fn clients(&self) -> String {
        self.clients_of(0)
    }

    /// Where clients find this one.
    pub(crate) fn clients_of(&self, at: usize) -> String {
        format!("127.0.0.1:{}", self.ports[at].clients)
    }

    pub(crate) fn client_port(&self) -> u16 {
        self.ports[0].clients
    }

    /// Where this one is, past everything that a test put in between.
    pub(crate) fn direct(&self, at: usize) -> String {
        format!("127.0.0.1:{}", self.ports[at].direct)
    }

    /// Ends one as a crash would.
    pub(crate) fn kill(&mut self, at: usize) {
        if let Some(mut child) = self.children[at].take() {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }

    /// Starts one again that was killed, with what it had written.
    pub(crate) async fn restart(&mut self, at: usize) {
        self.spawn(at);
        self.wait(at).await;
    }

    /// Waits until every broker has all of a topic.
    pub(crate) async fn until_in_sync(&self, topic: &str) {
        let count = self.ports.len();
        self.until(topic, |partition| partition.isr.len() == count).await;
    }

    /// Waits until none of a topic's partitions is led by this one.
    pub(crate) async fn until_led_by_others(&self, topic: &str, at: usize) {
        let this = i32::try_from(at).expect("a small number");
        self.until(topic, |partition| partition.leader.is_some_and(|leader| leader != this)).await;
    }

    async fn until(&self, topic: &str, holds: impl Fn(&PartitionDescription) -> bool) {
        let begun = Instant::now();
        let admin = krafka::Kafka::builder(self.direct(0)).connect().await.expect("a broker answers").admin();
        loop {
            let described = admin.describe_topics([topic], DescribeTopicsOptions::default()).await.expect("an answer");
            let partitions = &described[topic].as_ref().expect("the topic is there").partitions;
            if partitions.iter().all(&holds) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{partitions:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn spawn(&mut self, at: usize) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.log(at)).expect("a log");
        let mut command = self.java(&["kafka.Kafka"]);
        command.arg(self.file(at)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.children[at] = Some(command.spawn().expect("java runs"));
    }

    async fn wait(&mut self, at: usize) {
        let begun = Instant::now();
        while krafka::Kafka::builder(self.direct(at)).connect().await.is_err() {
            let ended =
                self.children[at].as_mut().is_none_or(|child| child.try_wait().is_ok_and(|code| code.is_some()));
            let log = std::fs::read_to_string(self.log(at)).unwrap_or_default();
            assert!(!ended && begun.elapsed() < PATIENCE, "the broker does not answer: {log}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// With the first compiler alone it starts in half the time.
    fn java(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(installed("ONEFOLD_TEST_KAFKA_JAVA"));
        command.args(["-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"]);
        command.arg(format!("-Dlog4j2.configurationFile={}", self.folder.path().join("log4j2.xml").display()));
        command.arg("-cp").arg(Path::new(&installed("ONEFOLD_TEST_KAFKA_JARS")).join("*")).args(arguments);
        command
    }

    fn file(&self, at: usize) -> PathBuf {
        self.folder.path().join(format!("{at}.properties"))
    }

    fn log(&self, at: usize) -> PathBuf {
        self.folder.path().join(format!("{at}.log"))
    }

    fn settings(&self, at: usize, setup: &Setup) -> String {
        let Ports { direct, clients, controller } = self.ports[at];
        let voters: Vec<String> =
            self.ports.iter().enumerate().map(|(at, ports)| format!("{at}@127.0.0.1:{}", ports.controller)).collect();
        let replicas = self.ports.len().min(3);
        let data = self.folder.path().join(format!("data-{at}"));
        let mut lines = vec![
            "process.roles=broker,controller".to_owned(),
            format!("node.id={at}"),
            format!("controller.quorum.voters={}", voters.join(",")),
            format!(
                "listeners=DIRECT://127.0.0.1:{direct},CLIENTS://127.0.0.1:{clients},CONTROLLER://127.0.0.1:{controller}"
            ),
            format!(
                "advertised.listeners=DIRECT://127.0.0.1:{direct},CLIENTS://127.0.0.1:{}",
                setup.told.unwrap_or(clients)
            ),
            "controller.listener.names=CONTROLLER".to_owned(),
            "inter.broker.listener.name=DIRECT".to_owned(),
            format!("listener.security.protocol.map=DIRECT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENTS:{}", setup.protocol),
            format!("log.dirs={}", data.display()),
            "num.partitions=3".to_owned(),
            "log.cleaner.dedupe.buffer.size=16777216".to_owned(),
            format!("default.replication.factor={replicas}"),
            format!("offsets.topic.replication.factor={replicas}"),
            "offsets.topic.num.partitions=1".to_owned(),
            format!("transaction.state.log.replication.factor={replicas}"),
            "transaction.state.log.min.isr=1".to_owned(),
            "transaction.state.log.num.partitions=1".to_owned(),
            "broker.session.timeout.ms=3000".to_owned(),
            "broker.heartbeat.interval.ms=500".to_owned(),
        ];
        lines.extend(setup.settings.iter().cloned());
        lines.join("\n")
    }
}

impl Drop for Brokers {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
