//! Sends what waits in the store, oldest first, and waits longer after each failure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request, Uri, header};
use metrics::counter;
use onefold_config::NotifyDeclaration;
use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::port::{Announcement, AnnouncementQueue as _, BoxFuture, Sink};
use onefold_core::retry::{Jitter, Schedule};
use onefold_core::{Error, Result};
use onefold_http::client::WebhookSecret;
use tokio::task::JoinHandle;

use super::message::body;
use super::pace::Pace;
use crate::api_server::ANNOUNCE_EVERY;
use crate::app::{App, now};
use crate::config::Config;
use crate::part::{DrainStage, Part, PartKinds};
use crate::reconcile_http::{ProviderClient, client};

/// How long a receiver may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Messages that are read at once.
const SLICE: usize = 20;

/// Waits after failures in a row; the last one repeats.
fn backoff() -> Schedule {
    Schedule::seconds(&[1, 2, 5, 15, 60, 300])
}

/// The name of this part.
pub(crate) const NAME: &str = "webhook";

/// Starts telling; whatever is wrong with the declaration is known before.
pub(crate) async fn start(config: &Config, app: &Arc<App>) -> Result<Box<dyn Part>> {
    let every = config.sweep_every.min(ANNOUNCE_EVERY);
    let telling = tokio::spawn(notifier(config, app)?.run(every));
    Ok(Box::new(Webhook { app: Arc::clone(app), every, telling, next: None }))
}

/// What tells as this configuration says; its secret is read.
fn notifier(config: &Config, app: &Arc<App>) -> Result<Notifier> {
    let declared = config.notify.clone().ok_or_else(|| {
        Error::new(onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED, "a part without its declaration")
    })?;
    let webhook = declared.webhook.parse().map_err(|_| {
        let what = format!("messages cannot be sent to {:?}", declared.webhook);
        Error::new(CONFIGURATION_INVALID, what).hint("write https://HOST/PATH")
    })?;
    let secret = WebhookSecret::read(&declared.secret_file, "[notify]")?;
    Ok(Notifier { declared, webhook, secret, client: client()?, app: Arc::clone(app) })
}

/// The part that tells a webhook.
struct Webhook {
    app: Arc<App>,
    every: Duration,
    telling: JoinHandle<()>,
    /// What the next configuration says.
    next: Option<Notifier>,
}

impl Part for Webhook {
    fn name(&self) -> &'static str {
        NAME
    }

    fn stage(&self) -> DrainStage {
        DrainStage::Announcements
    }

    fn prepare(&mut self, next: &Config) -> Result<PartKinds> {
        self.next = Some(notifier(next, &self.app)?);
        Ok(Vec::new())
    }

    fn apply(&mut self) {
        if let Some(next) = self.next.take() {
            // A message that is cut off here is sent again under its id.
            self.telling.abort();
            self.telling = tokio::spawn(next.run(self.every));
        }
    }

    fn stop(self: Box<Self>, _within: Duration) -> BoxFuture<'static, ()> {
        // What was not told is in the store, and is told after the next start.
        self.telling.abort();
        Box::pin(std::future::ready(()))
    }
}

struct Notifier {
    declared: NotifyDeclaration,
    webhook: Uri,
    secret: WebhookSecret,
    client: ProviderClient,
    app: Arc<App>,
}

impl Notifier {
    async fn run(self, every: Duration) {
        let began = Instant::now();
        let mut pace = Pace::new(self.declared.group_for, self.declared.messages_per_minute_max);
        let (backoff, mut failures) = (backoff(), 0_u32);
        loop {
            let wait = match self.round(&mut pace, began.elapsed()).await {
                Ok(()) => {
                    failures = 0;
                    every
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    let jitter = Jitter(u32::try_from(now().as_micros() & 0xffff_ffff).unwrap_or_default());
                    let wait = backoff.wait(failures, None, jitter);
                    tracing::warn!(
                        error_code = error.code().as_str(),
                        detail = error.detail(),
                        failures,
                        next_in_seconds = wait.as_secs(),
                        "incidents could not be told; they are sent again"
                    );
                    wait
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Queues what is new and sends what is queued.
    async fn round(&self, pace: &mut Pace, at: Duration) -> Result<()> {
        let ledger = &self.app.ledger;
        ledger.queue_news(Sink::Webhook, |event, cause| pace.may(event, cause, at)).await?;
        for announcement in ledger.store().queued(Sink::Webhook, SLICE).await? {
            // Another server sends them otherwise; a turn that is lost meanwhile means a message under the same id.
            if !ledger.take_turn(Sink::Webhook).await? {
                return Ok(());
            }
            let sent = self.send(&announcement).await;
            let result = if sent.is_ok() { "delivered" } else { "failed" };
            counter!("onefold_notifications_total", "result" => result).increment(1);
            sent?;
            ledger.store().delivered(Sink::Webhook, announcement.id).await?;
        }
        Ok(())
    }

    async fn send(&self, announcement: &Announcement) -> Result<()> {
        let now = now();
        let body = body(announcement, now).to_string();
        let seconds = now.as_micros() / 1_000_000;
        let signature = self.secret.sign(&announcement.id, seconds, body.as_bytes())?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.webhook.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, concat!("onefold/", env!("CARGO_PKG_VERSION")))
            .header("webhook-id", &*announcement.id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", signature)
            .body(Full::new(Bytes::from(body)))
            .map_err(|cause| {
                Error::new(onefold_core::error::UNEXPECTED, "a message cannot be built").caused_by(cause)
            })?;
        match tokio::time::timeout(ANSWER_WITHIN, self.client.request(request)).await {
            Ok(Ok(response)) if response.status().is_success() => Ok(()),
            Ok(Ok(response)) => Err(unheard(format!("the webhook answered {}", response.status().as_u16()))),
            Ok(Err(_)) => Err(unheard("the webhook cannot be reached".to_owned())),
            Err(_) => Err(unheard(format!("the webhook did not answer within {} s", ANSWER_WITHIN.as_secs()))),
        }
    }
}

fn unheard(what: String) -> Error {
    Error::new(onefold_core::error::DOWNSTREAM_UNAVAILABLE, what)
}
