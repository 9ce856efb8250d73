//! Live progress: a line per side on a terminal, a few plain lines elsewhere. It goes to stderr.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressFinish, ProgressStyle};

use crate::provider::Figures;
use crate::request::Side;
use crate::tell_line;
use crate::wire;

const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Plain lines come this often in looks: every five seconds.
const PLAIN_EVERY: u32 = 25;
const BAR: &str = "{prefix:>8} {bar:32} {pos:>5}/{len} {msg}";

/// Who watches a run.
pub(super) struct Progress {
    provider: SocketAddr,
    requests: u32,
    settled: [Arc<AtomicU32>; 3],
}

impl Progress {
    pub(super) fn new(provider: SocketAddr, requests: u32, settled: [Arc<AtomicU32>; 3]) -> Self {
        Self { provider, requests, settled }
    }

    /// Shows how far each side is; runs until it is dropped.
    pub(super) async fn show(self) -> std::convert::Infallible {
        if std::io::stderr().is_terminal() { self.bars().await } else { self.lines().await }
    }

    async fn bars(self) -> std::convert::Infallible {
        let together = MultiProgress::new();
        let style = ProgressStyle::with_template(BAR).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bars = Side::ALL.map(|side| {
            let bar = ProgressBar::new(self.requests.into()).with_style(style.clone()).with_prefix(side.name());
            together.add(bar.with_finish(ProgressFinish::Abandon))
        });
        loop {
            let figures = self.figures().await;
            for (side, bar) in Side::ALL.into_iter().zip(&bars) {
                bar.set_position(self.settled(side));
                bar.set_message(message(figures[side.index()]));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn lines(self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(LOOK_EVERY * PLAIN_EVERY).await;
            let figures = self.figures().await;
            for side in Side::ALL {
                let (settled, figures) = (self.settled(side), message(figures[side.index()]));
                tell_line(&format!("{:>8} {settled}/{} {figures}", side.name(), self.requests));
            }
        }
    }

    fn settled(&self, side: Side) -> u64 {
        self.settled[side.index()].load(Ordering::Relaxed).into()
    }

    /// What the provider counts now; nothing new where it does not say.
    async fn figures(&self) -> [Figures; 3] {
        let answer = wire::ask(self.provider, "FIGURES").await.unwrap_or_default();
        serde_json::from_str(&answer).unwrap_or_default()
    }
}

fn message(figures: Figures) -> String {
    format!("settled, {} effects, {} duplicate", figures.effects, figures.duplicates)
}
