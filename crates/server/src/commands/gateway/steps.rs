//! What is sent, in which order.

use std::time::Duration;

use onefold_core::Result;
use onefold_core::fingerprint::Mode;

use super::counter::Counter;
use super::judge::{self, AfterCut, Route, Step, Verdict};
use super::other_body::other_body;
use super::wire::{Gateway, Order, SeenAnswer};

/// How many send the same at once.
const AT_ONCE: usize = 8;
/// How often, and how far apart, a key that is still at work is sent again.
const TRIES: u32 = 20;
const APART: Duration = Duration::from_millis(250);
/// When requests are cut, in hundredths of the time that the first answer took: while it is at work, if one can be, and
/// last when its answer is surely there.
const CUTS: [u32; 8] = [50, 70, 30, 85, 60, 40, 95, 400];

/// A route that is tried.
pub(super) struct Trial<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) order: &'a Order,
    pub(super) route: &'a Route,
    /// What of a body the route compares.
    pub(super) compared: &'a Mode,
    pub(super) counter: Option<&'a Counter>,
}

impl Trial<'_> {
    /// Every step; the first two and the last share a key. Nothing more is sent where the first shows nothing.
    pub(super) async fn run(&self) -> Result<Vec<Step>> {
        let key = fresh_key();
        let before = self.effects().await?;
        let first = self.gateway.send(self.order, &key).await;
        let mut steps = vec![judge::once(self.route, first.as_ref()).counted(self.since(before).await?, 1)];
        let Some(first) = first.filter(|_| steps.iter().all(|step| step.verdict == Verdict::Held)) else {
            return Ok(steps);
        };
        let before = self.effects().await?;
        let second = self.gateway.send(self.order, &key).await;
        steps.push(judge::again(self.route, &first, second.as_ref()).counted(self.since(before).await?, 0));
        let before = self.effects().await?;
        let many = self.at_once().await;
        steps.push(judge::at_once(self.route, &many).counted(self.since(before).await?, 1));
        steps.push(self.cut(first.took).await?);
        let before = self.effects().await?;
        let other = match other_body(&self.order.body, self.compared) {
            None => judge::nothing_compared(),
            Some(body) => {
                let other = Order { body, ..self.order.clone() };
                judge::another_body(self.route, self.gateway.send(&other, &key).await.as_ref())
            }
        };
        steps.push(other.counted(self.since(before).await?, 0));
        Ok(steps)
    }

    async fn effects(&self) -> Result<Option<u64>> {
        match self.counter {
            None => Ok(None),
            Some(counter) => counter.read().await.map(Some),
        }
    }

    /// The effects since there were so many.
    async fn since(&self, before: Option<u64>) -> Result<Option<u64>> {
        let now = self.effects().await?;
        Ok(before.zip(now).map(|(before, now)| now.saturating_sub(before)))
    }

    #[expect(clippy::many_single_char_names, reason = "eight of the same")]
    async fn at_once(&self) -> Vec<Option<SeenAnswer>> {
        let key = fresh_key();
        let send = || self.gateway.send(self.order, &key);
        let (a, b, c, d, e, f, g, h) = tokio::join!(send(), send(), send(), send(), send(), send(), send(), send());
        let seen: [Option<SeenAnswer>; AT_ONCE] = [a, b, c, d, e, f, g, h];
        seen.into()
    }

    /// Cuts requests after sending until one shows what becomes of its key.
    async fn cut(&self, took: Duration) -> Result<Step> {
        let mut cuts = Vec::new();
        for hundredths in CUTS {
            let key = fresh_key();
            let before = self.effects().await?;
            let cut = self.gateway.cut(self.order, &key, took * hundredths / 100).await;
            let seen = self.at_rest(&key).await;
            cuts.push(AfterCut { cut, seen, effects: self.since(before).await? });
            if judge::settles(self.route, &cuts) {
                break;
            }
        }
        Ok(judge::after_cuts(self.route, &cuts))
    }

    /// The same key until no request with it is in flight.
    async fn at_rest(&self, key: &str) -> Option<SeenAnswer> {
        let mut seen = self.gateway.send(self.order, key).await;
        for _ in 0..TRIES {
            if !seen.as_ref().is_some_and(|seen| judge::at_work(self.route, seen)) {
                break;
            }
            tokio::time::sleep(APART).await;
            seen = self.gateway.send(self.order, key).await;
        }
        seen
    }
}

fn fresh_key() -> String {
    uuid::Uuid::new_v4().to_string()
}
