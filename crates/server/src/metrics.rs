//! Where metrics are gathered, within bounds whether anyone scrapes them or not.

use std::time::Duration;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::task::JoinHandle;

/// Seconds that durations are told apart by: a commit takes less than one, an attempt up to an hour.
const SECONDS: &[f64] = &[
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    300.0, 3600.0,
];
/// Steps in one commit.
const STEPS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

/// How often what was measured is folded into its buckets; until then every sample is kept.
const FOLD_EVERY: Duration = Duration::from_secs(5);

/// Starts gathering. None where this process gathers already.
pub(crate) fn start() -> Option<PrometheusHandle> {
    gather().ok()
}

fn gather() -> Result<PrometheusHandle, BuildError> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)?
        .set_buckets_for_metric(Matcher::Full("onefold_batch_size".to_owned()), STEPS)?
        .install_recorder()
}

/// Folds samples as long as it runs; without it a server that is never scraped would grow without end.
pub(crate) fn fold(handle: PrometheusHandle) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(FOLD_EVERY).await;
            handle.run_upkeep();
        }
    })
}
