//! Brokers of a test's own, to kill, or with other settings; gone when the test ends.

use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lapin::{Connection, ConnectionProperties};
use tempfile::TempDir;

/// No start may take longer.
const PATIENCE: Duration = Duration::from_mins(3);

/// Ports that differ: none is given twice while all of them are held.
fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    let held = [(); COUNT].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port is free"));
    held.map(|listener| listener.local_addr().expect("it has an address").port())
}

/// A broker with its data.
pub(crate) struct Broker {
    ports: [u16; 3],
    folder: TempDir,
    child: Option<Child>,
}

impl Broker {
    /// One with these further settings, answering.
    pub(crate) async fn start(settings: &str) -> Self {
        let broker = Self { ports: free_ports(), folder: tempfile::tempdir().expect("a folder"), child: None };
        let text = format!(
            "listeners.tcp.1 = 127.0.0.1:{}\ndisk_free_limit.absolute = 100MB\nlog.console = true\nlog.file = false\n{settings}\n",
            broker.ports[0]
        );
        let write = |name: &str, text: &str| std::fs::write(broker.path().join(name), text).expect("it is written");
        write("rabbitmq.conf", &text);
        write("enabled_plugins", "[].");
        std::fs::create_dir(broker.path().join("home")).expect("a folder");
        let mut broker = broker;
        broker.restart().await;
        broker
    }

    pub(crate) fn url(&self) -> String {
        format!("amqp://127.0.0.1:{}", self.ports[0])
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Ends it as a crash would: the script that started it, and all that this has started.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let group = format!("kill -s KILL -- -{}", child.id());
            Command::new("/bin/sh").args(["-c", &group]).status().expect("a shell runs");
            child.wait().expect("it ends");
        }
    }

    /// Starts it again, with what it had written.
    pub(crate) async fn restart(&mut self) {
        self.kill();
        let server = std::env::var("ONEFOLD_TEST_RABBITMQ_SERVER").expect("`cargo xtask test` sets it");
        let log = std::fs::File::create(self.path().join("log")).expect("a log");
        let within = |name: &str| self.path().join(name).display().to_string();
        let [clients, nodes, names] = self.ports.map(|port| port.to_string());
        let mut command = Command::new(server);
        command.process_group(0).stdin(Stdio::null()).stdout(log).stderr(Stdio::null()).envs([
            ("HOME", within("home")),
            ("RABBITMQ_NODENAME", format!("t{clients}@localhost")),
            ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".to_owned()),
            ("RABBITMQ_NODE_PORT", clients),
            ("RABBITMQ_DIST_PORT", nodes),
            ("ERL_EPMD_PORT", names),
            ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
            ("RABBITMQ_MNESIA_BASE", within("data")),
            ("RABBITMQ_LOG_BASE", within("logs")),
            ("RABBITMQ_PID_FILE", within("pid")),
            ("RABBITMQ_CONFIG_FILE", within("rabbitmq.conf")),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", within("enabled_plugins")),
            ("RABBITMQ_CONF_ENV_FILE", "/dev/null".to_owned()),
            (
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "+S 2:2 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}".to_owned(),
            ),
        ]);
        self.child = Some(command.spawn().expect("the script runs"));
        let begun = Instant::now();
        // One that does not know us answers too.
        while let Err(error) = Connection::connect(&self.url(), ConnectionProperties::default()).await
            && !error.is_amqp_error()
        {
            let log = std::fs::read_to_string(self.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "the broker does not answer: {log}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
        // The name server of Erlang outlives its nodes, and stays until it has noticed that they are gone.
        let port = self.ports[2].to_string();
        let begun = Instant::now();
        while let Ok(said) = Command::new("epmd").args(["-port", &port, "-kill"]).output()
            && String::from_utf8_lossy(&said.stdout).contains("not allowed")
            && begun.elapsed() < PATIENCE
        {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
