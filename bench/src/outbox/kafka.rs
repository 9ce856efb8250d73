//! Kafka: topics, how far they are, our publisher with a count, and the same client producing alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use krafka::admin::{AdminClient, CreateTopicsOptions, ListOffsetsOptions, NewTopic, OffsetSpec, TopicPartition};
use krafka::producer::{Acks, Producer};
use krafka::Record;
use onefold::outbox::{BoxFuture, Delivery, DestinationTemplate, KafkaPublisher, Publication, Publisher};
use tokio::sync::Notify;

use super::{AGGREGATES, FILLING};

/// Every topic of the benchmark has so many.
pub const PARTITIONS: i32 = 3;
/// How often a topic's end is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The broker, as `cargo xtask bench` tells it.
pub fn broker() -> String {
    std::env::var("ONEFOLD_TEST_KAFKA").expect("run `cargo xtask bench NAME`, which starts Kafka")
}

/// A topic that a side writes to.
pub struct Topic {
    admin: AdminClient,
    name: String,
}

impl Topic {
    /// A topic of a name that no earlier run had.
    pub async fn make(name: &str) -> Self {
        let admin = krafka::Kafka::builder(broker()).connect().await.expect("the broker answers").admin();
        let name = format!("{name}-{}", uuid::Uuid::new_v4().simple());
        let topic = NewTopic::new(&name, PARTITIONS, 1).expect("a topic");
        let made = admin.create_topics([topic], CreateTopicsOptions::default()).await.expect("the broker answers");
        made.into_values().for_each(|made| made.expect("the topic is made"));
        Self { admin, name }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records in all of its partitions.
    pub async fn records(&self) -> usize {
        let ends =
            (0..PARTITIONS).map(|partition| (TopicPartition::new(self.name.as_str(), partition), OffsetSpec::Latest));
        let ends = self.admin.list_offsets(ends, ListOffsetsOptions::default()).await.expect("the broker answers");
        ends.into_values().map(|end| usize::try_from(end.expect("an end").offset).unwrap_or(0)).sum()
    }

    /// Waits until it has this many.
    pub async fn reached(&self, records: usize) {
        while self.records().await < records {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The topic as a relay names it.
    pub fn template(&self) -> DestinationTemplate {
        DestinationTemplate::parse(&self.name).expect("a topic")
    }
}

/// Our publisher, and how many events were acknowledged to it.
pub struct CountedPublisher {
    kafka: KafkaPublisher,
    count: AtomicUsize,
    grew: Notify,
}

impl CountedPublisher {
    /// None so far.
    pub fn new(kafka: KafkaPublisher) -> Self {
        Self { kafka, count: AtomicUsize::new(0), grew: Notify::new() }
    }

    /// How many were acknowledged.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Ready once so many were.
    pub async fn reached(&self, count: usize) {
        loop {
            let grew = self.grew.notified();
            if self.count() >= count {
                return;
            }
            grew.await;
        }
    }
}

impl Publisher for CountedPublisher {
    fn target(&self) -> String {
        self.kafka.target()
    }

    fn destination(&self) -> Option<DestinationTemplate> {
        self.kafka.destination()
    }

    fn unfenced(&self) -> Option<&'static str> {
        self.kafka.unfenced()
    }

    fn check(&self, lease_for: Duration, within: Duration) -> BoxFuture<'_, onefold::Result<()>> {
        self.kafka.check(lease_for, within)
    }

    fn publish(&self, deliveries: Vec<Delivery>) -> BoxFuture<'_, Vec<Vec<Publication>>> {
        Box::pin(async move {
            let answers = self.kafka.publish(deliveries).await;
            let published = |answer: &&Publication| matches!(answer, Publication::Published { .. });
            self.count.fetch_add(answers.iter().flatten().filter(published).count(), Ordering::AcqRel);
            self.grew.notify_waiters();
            answers
        })
    }

    fn leave(&self, lane: u16) -> BoxFuture<'_, ()> {
        self.kafka.leave(lane)
    }
}

/// The client alone: it has the events in memory, and only sends.
pub struct ClientAlone {
    producer: Producer,
    topic: Topic,
}

impl ClientAlone {
    /// Idempotent, acknowledged by all replicas, with the client's own batches.
    pub async fn open() -> Self {
        let topic = Topic::make("bench-client").await;
        let kafka = krafka::Kafka::builder(broker()).connect().await.expect("the broker answers");
        let producer = kafka.producer().acks(Acks::All).idempotent(true).linger(Duration::from_millis(5));
        let producer = producer.batch_size(128 * 1024).buffer_memory(64 * 1024 * 1024);
        Self { producer: producer.build().await.expect("a producer"), topic }
    }

    /// Sends so many, and waits for every acknowledgement.
    pub async fn send(&self, events: usize) -> Duration {
        let records: Vec<Record> = (0..events).map(|number| record(self.topic.name(), number)).collect();
        let began = Instant::now();
        let mut sent = Vec::with_capacity(events);
        for record in records {
            sent.push(self.producer.enqueue(record).await.expect("taken"));
        }
        for handle in sent {
            drop(handle.await.expect("acknowledged"));
        }
        began.elapsed()
    }
}

/// What our relay makes of an event: the same key, payload and headers.
fn record(topic: &str, number: usize) -> Record {
    let case = format!("case-{}", number % AGGREGATES);
    let headers = [
        ("content-type", "application/json"),
        ("ce_specversion", "1.0"),
        ("ce_type", "case.submitted"),
        ("ce_source", "/default/case"),
        ("ce_time", "2026-11-18T10:15:00.123456Z"),
        ("ce_dataschema", "/events/case.submitted/1"),
        ("ce_tenant", "default"),
    ];
    let mut record = Record::new(topic, format!("{{\"caseId\":\"{case}\",\"text\":\"{FILLING}\"}}"))
        .header("ce_id", uuid::Uuid::new_v4().to_string())
        .header("ce_subject", case.clone())
        .header("ce_sequence", format!("{number:020}"))
        .key(case);
    for (name, value) in headers {
        record = record.header(name, value);
    }
    record
}

/// Our publisher to a topic.
pub fn publisher(topic: &Topic) -> Arc<CountedPublisher> {
    let kafka = onefold::outbox::Kafka::connect(onefold::outbox::KafkaSettings::new([broker()])).expect("settings");
    Arc::new(CountedPublisher::new(kafka.topic(topic.template())))
}
