//! How large our commits are and how long they take, from the metrics that the library has anyway.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit};

/// Sums of the two histograms of batches.
#[derive(Clone, Default)]
pub struct Batches {
    size: Arc<Sum>,
    seconds: Arc<Sum>,
}

#[derive(Default)]
struct Sum {
    millionths: AtomicU64,
    count: AtomicU64,
}

impl HistogramFn for Sum {
    fn record(&self, value: f64) {
        self.millionths.fetch_add((value * 1e6) as u64, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Sum {
    fn take_mean(&self) -> f64 {
        let sum = self.millionths.swap(0, Ordering::Relaxed) as f64 / 1e6;
        sum / (self.count.swap(0, Ordering::Relaxed) as f64).max(1.0)
    }
}

impl Batches {
    /// Listens from now on.
    pub fn install() -> Self {
        let batches = Self::default();
        metrics::set_global_recorder(batches.clone()).unwrap_or_else(|_| panic!("one recorder"));
        batches
    }

    /// The means since it was asked last.
    pub fn take(&self) -> String {
        let (size, seconds) = (self.size.take_mean(), self.seconds.take_mean());
        format!("batches of {size:.0} steps, {:.1} ms a commit", seconds * 1e3)
    }
}

impl Recorder for Batches {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }
    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        match key.name() {
            "onefold_batch_size" => Histogram::from_arc(Arc::clone(&self.size)),
            "onefold_commit_seconds" => Histogram::from_arc(Arc::clone(&self.seconds)),
            _ => Histogram::noop(),
        }
    }
}
