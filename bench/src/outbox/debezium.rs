//! Debezium Server on a hand-written outbox table: logical replication, its outbox router, the same broker.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;

use super::kafka::broker;
use super::run_sql;

/// Its distribution; `cargo xtask bench relay-kafka` downloads it for a measured run.
const FOLDER: &str = "ONEFOLD_BENCH_DEBEZIUM";
/// The Java that it runs on.
const JAVA: &str = "ONEFOLD_BENCH_JAVA_HOME";
const SLOT: &str = "onefold_bench_debezium";
const READY_WITHIN: Duration = Duration::from_mins(2);

/// The server, running.
pub struct Debezium {
    child: Child,
    pool: PgPool,
}

impl Debezium {
    /// Where it is, if it was downloaded.
    pub fn folder() -> Option<PathBuf> {
        std::env::var_os(FOLDER).map(PathBuf::from)
    }

    /// Starts it on `schema.outbox`; events go to `topic`.
    pub async fn start(
        distribution: &Path,
        folder: &Path,
        url: &str,
        pool: &PgPool,
        schema: &str,
        topic: &str,
    ) -> Self {
        run_sql(
            pool,
            format!(
                "CREATE SCHEMA {schema}; CREATE TABLE {schema}.outbox (id uuid PRIMARY KEY, aggregatetype text NOT NULL, \
                 aggregateid text NOT NULL, type text NOT NULL, payload text NOT NULL)"
            ),
        )
        .await;
        let home = folder.join("debezium");
        copied(distribution, &home);
        let settings = settings(url, schema, topic, &home.join("offsets.dat"));
        std::fs::write(home.join("config/application.properties"), settings).expect("a file");
        let log = std::fs::File::create(folder.join("debezium.log")).expect("a file");
        let child = Command::new("sh")
            .args(["-c", "exec ./run.sh"])
            .current_dir(&home)
            .env("JAVA_HOME", std::env::var_os(JAVA).expect("a Java of 21 or later"))
            .env("JAVA_OPTS", "-Xmx256m --add-opens=java.base/java.lang=ALL-UNNAMED")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn()
            .expect("Debezium starts");
        let debezium = Self { child, pool: pool.clone() };
        debezium.until_streaming().await;
        debezium
    }

    /// Its process.
    pub fn process(&self) -> String {
        self.child.id().to_string()
    }

    /// A row that is written before the slot is read would be lost.
    async fn until_streaming(&self) {
        let began = Instant::now();
        let sql = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = $1 AND active";
        loop {
            let active: i64 = sqlx::query_scalar(sql).bind(SLOT).fetch_one(&self.pool).await.expect("slots");
            if active > 0 {
                return;
            }
            assert!(began.elapsed() < READY_WITHIN, "Debezium does not come up; see debezium.log");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Stops it and drops its slot, which would keep the log for ever.
    pub async fn stop(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let sql =
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1 AND NOT active";
        let began = Instant::now();
        loop {
            let dropped = sqlx::query(sql).bind(SLOT).fetch_all(&self.pool).await.expect("slots");
            if !dropped.is_empty() || began.elapsed() > READY_WITHIN {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Its scripts read and write beside themselves: the libraries are linked, the settings are its own.
fn copied(distribution: &Path, home: &Path) {
    std::fs::create_dir_all(home.join("config")).expect("a folder");
    for entry in std::fs::read_dir(distribution).expect("the distribution").flatten() {
        if entry.file_name() != "config" {
            std::os::unix::fs::symlink(entry.path(), home.join(entry.file_name())).expect("a link");
        }
    }
}

fn settings(url: &str, schema: &str, topic: &str, offsets: &Path) -> String {
    let at: PgConnectOptions = url.parse().expect("an address");
    let (host, port, user) = (at.get_host(), at.get_port(), at.get_username());
    let database = at.get_database().unwrap_or(user);
    let mut text = Vec::new();
    for (key, value) in [
        ("sink.type", "kafka"),
        ("sink.kafka.producer.bootstrap.servers", &broker()),
        ("sink.kafka.producer.key.serializer", "org.apache.kafka.common.serialization.StringSerializer"),
        ("sink.kafka.producer.value.serializer", "org.apache.kafka.common.serialization.StringSerializer"),
        ("sink.kafka.producer.acks", "all"),
        ("sink.kafka.producer.linger.ms", "5"),
        ("sink.kafka.producer.batch.size", "131072"),
        ("format.key", "simplestring"),
        ("format.value", "simplestring"),
        ("format.header", "json"),
        ("format.header.schemas.enable", "false"),
        ("source.connector.class", "io.debezium.connector.postgresql.PostgresConnector"),
        ("source.offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore"),
        ("source.offset.storage.file.filename", &offsets.display().to_string()),
        ("source.offset.flush.interval.ms", "1000"),
        ("source.database.hostname", host),
        ("source.database.port", &port.to_string()),
        ("source.database.user", user),
        ("source.database.password", "none"),
        ("source.database.dbname", database),
        ("source.topic.prefix", "bench"),
        ("source.plugin.name", "pgoutput"),
        ("source.slot.name", SLOT),
        ("source.publication.name", SLOT),
        ("source.publication.autocreate.mode", "filtered"),
        ("source.table.include.list", &format!("{schema}.outbox")),
        ("source.snapshot.mode", "no_data"),
        ("source.tombstones.on.delete", "false"),
        // Larger than its defaults of 2,048 and 8,192, which made it slower.
        ("source.max.batch.size", "8192"),
        ("source.max.queue.size", "32768"),
        ("source.poll.interval.ms", "50"),
        ("transforms", "outbox"),
        ("transforms.outbox.type", "io.debezium.transforms.outbox.EventRouter"),
        ("transforms.outbox.route.topic.replacement", topic),
    ] {
        writeln!(text, "debezium.{key}={value}").expect("memory");
    }
    writeln!(text, "quarkus.http.host=127.0.0.1\nquarkus.http.port=0\nquarkus.log.level=WARN").expect("memory");
    String::from_utf8(text).expect("plain text")
}
