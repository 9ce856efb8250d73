//! The port: events of lanes in, an answer for each out, within their time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onefold_core::error::{EVENT_TOO_LARGE, Result};
use onefold_core::outbox::{DestinationTemplate, RelayName};
use onefold_core::port::{BoxFuture, Delivery, OutgoingEvent, Publication, Publisher, RefusedRetry};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::check;
use crate::client::{Client, Times, until};
use crate::fault::{ClientState, Fault, TopicsOf, unavailable};
use crate::lane::{Lane, LaneProducers};
use crate::page::{Judgement, Page};
use crate::record::{bytes_min, partition, record};
use crate::send::{Sending, WaveEnd, send_wave};
use crate::settings::KafkaSettings;
use crate::topic::TopicFacts;

const NOT_FENCED: &str = "a relay that was paused in the middle of a page may write that page again after its lease; \
                          consumers see repeated events behind newer ones";

/// A Kafka cluster to publish to.
#[derive(Debug, Clone)]
pub struct Kafka {
    settings: Arc<KafkaSettings>,
}

impl Kafka {
    /// A cluster with these settings. Connections are opened by the first check or delivery, and again where they break.
    pub fn connect(settings: KafkaSettings) -> Result<Self> {
        settings.check()?;
        Ok(Self { settings: Arc::new(settings) })
    }

    /// A publisher to the topic that the template names for each event. It has connections of its own.
    pub fn topic(&self, template: DestinationTemplate) -> KafkaPublisher {
        let owner = template.fixed().unwrap_or("topics").to_owned();
        KafkaPublisher { inner: Arc::new(Inner::new(Arc::clone(&self.settings), template, owner)) }
    }
}

/// The topics of one relay.
pub struct KafkaPublisher {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Arc<KafkaSettings>,
    template: DestinationTemplate,
    /// The middle part of each `transactional.id`.
    owner: String,
    /// The client, while there is one. Only the holder of this lock sends: two at once could close each other's batches.
    turn: Mutex<Option<Arc<Client>>>,
    lanes: LaneProducers,
    /// Whether every record is fenced, as far as the check found out.
    fenced: AtomicBool,
}

impl KafkaPublisher {
    /// The same for the relay with this name.
    ///
    /// On compacted topics each lane has the `transactional.id` `<client_id>-<relay>-<lane>`. Without a name the topic
    /// takes its place, and two relays to one topic would fence each other.
    #[must_use]
    pub fn for_relay(self, relay: &RelayName) -> Self {
        let Inner { settings, template, .. } = &*self.inner;
        Self { inner: Arc::new(Inner::new(Arc::clone(settings), template.clone(), relay.as_str().to_owned())) }
    }

    /// Closes every connection; a later delivery opens new ones. Ends within a few seconds.
    pub async fn close(&self) {
        let mut turn = self.inner.turn.lock().await;
        self.inner.discard(&mut turn).await;
    }
}

impl Publisher for KafkaPublisher {
    fn target(&self) -> String {
        format!("kafka {}", self.inner.template)
    }

    fn destination(&self) -> Option<DestinationTemplate> {
        Some(self.inner.template.clone())
    }

    fn unfenced(&self) -> Option<&'static str> {
        (!self.inner.fenced.load(Ordering::Relaxed)).then_some(NOT_FENCED)
    }

    fn check(&self, lease_for: Duration, within: Duration) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            check::times(lease_for, within)?;
            let deadline = Instant::now() + within;
            let asked = until(deadline, self.inner.ask(within)).await;
            let fault = match asked.unwrap_or_else(|| Err(Fault::late("connecting"))) {
                Ok(facts) => {
                    self.inner.fenced.store(facts.is_some_and(|facts| facts.compacted), Ordering::Relaxed);
                    return Ok(());
                }
                Err(fault) => fault,
            };
            Err(check::refused(&fault, &self.target()))
        })
    }

    fn publish(&self, deliveries: Vec<Delivery>) -> BoxFuture<'_, Vec<Vec<Publication>>> {
        Box::pin(Arc::clone(&self.inner).publish(deliveries))
    }

    fn leave(&self, lane: u16) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // A page that is on its way puts its producer back before it ends.
            let _turn = self.inner.turn.lock().await;
            self.inner.lanes.leave(lane).await;
        })
    }
}

/// What is known of the topics of a page.
type Facts = HashMap<Arc<str>, std::result::Result<TopicFacts, Fault>>;

impl Inner {
    fn new(settings: Arc<KafkaSettings>, template: DestinationTemplate, owner: String) -> Self {
        let (turn, lanes) = (Mutex::new(None), LaneProducers::default());
        Self { settings, template, owner, turn, lanes, fenced: AtomicBool::new(false) }
    }

    async fn publish(self: Arc<Self>, deliveries: Vec<Delivery>) -> Vec<Vec<Publication>> {
        let Some(within) = deliveries.iter().map(|delivery| delivery.within).min() else { return Vec::new() };
        let deadline = Instant::now() + within;
        let nothing = |fault: &Fault| -> Vec<Vec<Publication>> {
            let answer = fault.publication(TopicsOf::Relay);
            deliveries.iter().map(|delivery| vec![answer.clone(); delivery.events.len()]).collect()
        };
        let Some(mut turn) = until(deadline, self.turn.lock()).await else {
            return nothing(&Fault::late("the page before this one"));
        };
        let connected = until(deadline, self.client(&mut turn, within)).await;
        let client = match connected.unwrap_or_else(|| Err(Fault::late("connecting"))) {
            Ok(client) => client,
            Err(fault) => return nothing(&fault),
        };
        let facts = self.facts(&client, &deliveries, deadline).await;
        let asked = facts.values().filter_map(|known| known.as_ref().err()).map(Fault::client).max();
        let (answers, sent) = self.send(&client, &facts, deliveries, deadline).await;
        let state = asked.map_or(sent, |asked| asked.max(sent));
        if state != ClientState::Usable {
            tracing::warn!(topic = %self.template, "no answer from Kafka: the client is replaced");
            self.discard(&mut turn).await;
        }
        answers
    }

    /// The client, connected where there is none.
    async fn client(
        &self,
        turn: &mut Option<Arc<Client>>,
        within: Duration,
    ) -> std::result::Result<Arc<Client>, Fault> {
        if let Some(client) = turn {
            return Ok(Arc::clone(client));
        }
        let client = Client::connect(&self.settings, Times::of(within)).await?;
        *turn = Some(Arc::clone(&client));
        Ok(client)
    }

    /// Asks for the one topic, where there is one.
    async fn ask(&self, within: Duration) -> std::result::Result<Option<TopicFacts>, Fault> {
        let mut turn = self.turn.lock().await;
        let client = self.client(&mut turn, within).await?;
        let Some(topic) = self.template.fixed() else { return Ok(None) };
        client.topics.forget();
        client.topics.facts(&client.driver, topic, within).await.map(Some)
    }

    async fn discard(&self, turn: &mut Option<Arc<Client>>) {
        self.lanes.stop().await;
        if let Some(client) = turn.take() {
            client.driver.producer().close(Duration::ZERO).await;
        }
    }

    async fn facts(&self, client: &Client, deliveries: &[Delivery], deadline: Instant) -> Facts {
        let named: HashSet<&Arc<str>> =
            deliveries.iter().flat_map(|delivery| &delivery.events).map(|event| &event.destination).collect();
        let mut facts = Facts::new();
        for topic in named {
            let within = deadline.saturating_duration_since(Instant::now());
            let asked = until(deadline, client.topics.facts(&client.driver, topic, within)).await;
            let known = asked.unwrap_or_else(|| Err(Fault::late("asking for the topic")));
            facts.insert(Arc::clone(topic), known);
        }
        facts
    }

    /// Sends what goes to compacted topics in a transaction a lane, and everything else together.
    async fn send(
        self: &Arc<Self>,
        client: &Arc<Client>,
        facts: &Facts,
        deliveries: Vec<Delivery>,
        deadline: Instant,
    ) -> (Vec<Vec<Publication>>, ClientState) {
        let topics = if self.template.fixed().is_some() { TopicsOf::Relay } else { TopicsOf::Events };
        let sending = Sending { times: client.times, deadline, topics };
        // What a task that panicked has not answered.
        let lost = |delivery: &Delivery| vec![unavailable("sending it ended early".to_owned()); delivery.events.len()];
        let mut answers: Vec<Vec<Publication>> = deliveries.iter().map(lost).collect();
        let mut together = Page::default();
        let mut lengths = Vec::new();
        let mut in_transactions = JoinSet::new();
        for (at, delivery) in deliveries.into_iter().enumerate() {
            if !is_fenced(&delivery, facts) {
                lengths.push((at, delivery.events.len()));
                fill(&mut together, delivery.events, facts, topics);
                continue;
            }
            let transactional_id = format!("{}-{}-{}", self.settings.client_id, self.owner, delivery.lane);
            let lane = Lane { number: delivery.lane, fence: delivery.fence, transactional_id };
            let mut page = Page::default();
            fill(&mut page, delivery.events, facts, topics);
            in_transactions.spawn(Arc::clone(self).send_lane(at, Arc::clone(client), lane, page, sending));
        }
        let mut state = send_page(client, &mut together, sending).await;
        let mut sent = together.answers().into_iter();
        for (at, length) in lengths {
            answers[at] = sent.by_ref().take(length).collect();
        }
        while let Some(lane) = in_transactions.join_next().await {
            let Ok((at, lane_answers, lane_state)) = lane else { continue };
            answers[at] = lane_answers;
            state = state.max(lane_state);
        }
        (answers, state)
    }

    async fn send_lane(
        self: Arc<Self>,
        at: usize,
        client: Arc<Client>,
        lane: Lane,
        mut page: Page,
        sending: Sending,
    ) -> (usize, Vec<Publication>, ClientState) {
        let state = self.lanes.publish(&client, &lane, &mut page, sending).await;
        // A producer that was fenced is closed already; the connections are as good as before.
        let state = if state == ClientState::ProducerSpent { ClientState::Usable } else { state };
        (at, page.answers(), state)
    }
}

async fn send_page(client: &Client, page: &mut Page, sending: Sending) -> ClientState {
    while !page.is_done() {
        match send_wave(client.driver.producer(), page, sending).await {
            WaveEnd::Acknowledged => {}
            // Perhaps a limit was lowered since it was asked for.
            WaveEnd::Refused => client.topics.forget(),
            WaveEnd::Aborted(fault) | WaveEnd::Failed(fault) => {
                page.end(&fault.publication(sending.topics));
                return fault.client();
            }
        }
    }
    ClientState::Usable
}

fn is_fenced(delivery: &Delivery, facts: &Facts) -> bool {
    let compacted = |facts: &TopicFacts| facts.compacted;
    let known = delivery.events.iter().filter_map(|event| facts.get(&event.destination)?.as_ref().ok());
    known.into_iter().any(compacted)
}

fn fill(page: &mut Page, events: Vec<OutgoingEvent>, facts: &Facts, topics: TopicsOf) {
    for outgoing in events {
        let judgement = judge(&outgoing, facts, topics);
        page.push(outgoing, judgement);
    }
}

/// What can be said of an event before it is sent.
fn judge(outgoing: &OutgoingEvent, facts: &Facts, topics: TopicsOf) -> Judgement {
    let facts = match facts.get(&outgoing.destination) {
        Some(Ok(facts)) => facts,
        Some(Err(fault)) => return Judgement::Answered(fault.publication(topics)),
        None => return Judgement::Answered(unavailable("its topic was not asked for".to_owned())),
    };
    let bytes = bytes_min(outgoing);
    if bytes > facts.batch_bytes_max {
        return Judgement::Answered(Publication::Refused {
            code: EVENT_TOO_LARGE,
            reason: format!("the record has {bytes} bytes, and the topic takes {}", facts.batch_bytes_max),
            retry: RefusedRetry::Never,
        });
    }
    let partition = partition(&outgoing.stored.event.aggregate.id, facts.partitions);
    Judgement::Send {
        place: (Arc::clone(&outgoing.destination), partition),
        bytes: record(outgoing, partition).estimated_size(),
        batch_bytes_max: facts.batch_bytes_max,
    }
}
