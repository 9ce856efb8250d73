//! A side whose callers are tasks: each performs one operation after the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::side::{Slice, Workload};
use crate::{Batches, timed};

/// What the tasks call, and how.
pub struct Tasks<T, F> {
    runtime: Runtime,
    called: Arc<T>,
    operation: F,
    id: fn(&str, usize) -> String,
    batches: Option<Batches>,
}

impl<T, F, Fut> Tasks<T, F>
where
    T: Send + Sync + 'static,
    F: Fn(Arc<T>, String) -> Fut + Copy + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    /// Opens what is called, on threads of its own.
    pub fn open(opening: impl Future<Output = T>, id: fn(&str, usize) -> String, operation: F) -> Self {
        let runtime = Runtime::new().expect("threads");
        let called = Arc::new(runtime.block_on(opening));
        Self { runtime, called, operation, id, batches: None }
    }

    /// Notes how large the commits were.
    pub fn noting(self, batches: Batches) -> Self {
        Self { batches: Some(batches), ..self }
    }

    /// One turn with another operation than its own.
    pub fn run_with<G, Other>(&self, slice: &Slice, operation: G) -> Duration
    where
        G: Fn(Arc<T>, String) -> Other + Copy + Send + Sync + 'static,
        Other: Future<Output = ()> + Send + 'static,
    {
        let (called, id, prefix) = (Arc::clone(&self.called), self.id, slice.prefix.clone());
        let work = move |number| operation(Arc::clone(&called), id(&prefix, number));
        self.runtime.block_on(timed(callers(slice.callers, slice.operations, work))).1
    }
}

impl<T, F, Fut> Workload for Tasks<T, F>
where
    T: Send + Sync + 'static,
    F: Fn(Arc<T>, String) -> Fut + Copy + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn run(&mut self, slice: &Slice) -> Duration {
        self.run_with(slice, self.operation)
    }

    fn note(&mut self) -> String {
        self.batches.as_ref().map(Batches::take).unwrap_or_default()
    }
}

/// Runs `work` for every number below `count`, shared out over callers that each do one after the other.
async fn callers<F, Fut>(callers: usize, count: usize, work: F)
where
    F: Fn(usize) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let work = Arc::new(work);
    let mut tasks = Vec::with_capacity(callers);
    for caller in 0..callers {
        let work = Arc::clone(&work);
        tasks.push(tokio::spawn(async move {
            let mut number = caller;
            while number < count {
                work(number).await;
                number += callers;
            }
        }));
    }
    for task in tasks {
        task.await.expect("a caller ended");
    }
}
