//! One at a time outside, batches inside: whatever waits while a commit is in flight goes into the next one.
//!
//! There is no timer: a single caller does not wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onefold_core::effect::KindSpec;
use onefold_core::error::{ErrorClass, RESULT_DAMAGED, SHUTTING_DOWN, UNEXPECTED};
use onefold_core::ledger::{
    Claim, ClaimRequest, RecordRequest, Recorded, ReleaseReason, ReleaseRequest, Released, RenewRequest, Renewed,
};
use onefold_core::port::{BoxFuture, Clock, LedgerWrite, Step, StepAnswer, Store};
use onefold_core::{Error, Result};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use crate::meter;
use crate::readiness::Writes;
use crate::settings::Settings;

mod in_flight;
mod queue;

use queue::{StepSender, WeakStepSender};

/// Hands single steps to the store in batches.
#[derive(Clone)]
pub(crate) struct Batcher {
    queue: StepSender,
    alone: Arc<InlinePath>,
}

/// The store's way to carry one step out on the caller's thread.
type ActInline = Box<dyn Fn(&Step) -> Option<Result<StepAnswer>> + Send + Sync>;

/// What a caller needs when there is no other.
struct InlinePath {
    act: ActInline,
    /// Steps in the last batch: where there was more than one, callers come together and batches serve them better.
    last_batch: AtomicUsize,
    measure: Measure,
    writes: Writes,
}

struct QueuedStep {
    step: Step,
    answer: Option<oneshot::Sender<Delivery>>,
}

/// An answer on its way. A grant that is not taken out of it is undelivered; the rule says whether it goes back.
struct Delivery {
    answer: Option<Result<StepAnswer>>,
    /// The way back of a claim's answer, with the terms of its kind.
    way_back: Option<(Arc<KindSpec>, Arc<WeakBatcher>)>,
}

impl Delivery {
    fn new(step: &Step, decided: Result<StepAnswer>, reach: &Arc<WeakBatcher>) -> Self {
        let way_back = match step {
            Step::Claim(request) => Some((Arc::clone(&request.terms), Arc::clone(reach))),
            Step::Record(_) | Step::Renew(_) | Step::Release(_) => None,
        };
        Self { answer: Some(decided), way_back }
    }

    fn take(mut self) -> Result<StepAnswer> {
        self.answer.take().unwrap_or_else(|| Err(stopped()))
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let Some(Ok(StepAnswer::Claim(Claim::Granted(lease)))) = self.answer.take() else { return };
        if let Some((terms, reach)) = self.way_back.take()
            && let Some(batcher) = reach.batcher()
        {
            batcher.release_undelivered(ReleaseRequest {
                key: lease.key,
                fence: lease.fence,
                attempt_id: lease.attempt_id,
                terms,
                reason: ReleaseReason::AnswerUndelivered,
            });
        }
    }
}

fn stopped() -> Error {
    Error::new(SHUTTING_DOWN, "this ledger has stopped")
}

impl Batcher {
    /// Starts the batcher on a thread of its own, where a store may block; it ends when every handle is gone.
    pub(crate) fn start<S: Store>(store: Arc<S>, settings: &Settings) -> Result<Self> {
        let (queue, waiting) = queue::queue(settings.waiting_max.max(1));
        let measure = Measure { store: store.name(), clock: Arc::clone(&settings.clock) };
        let lone_store = Arc::clone(&store);
        let alone = Arc::new(InlinePath {
            act: Box::new(move |step| lone_store.act_inline(step)),
            last_batch: AtomicUsize::new(0),
            measure: measure.clone(),
            writes: Writes::new(Arc::clone(&settings.clock)),
        });
        let runtime = tokio::runtime::Handle::current();
        let reach = Arc::new(WeakBatcher { queue: queue.downgrade(), alone: Arc::clone(&alone), measure });
        let batch_max = settings.batch_max.max(1);
        std::thread::Builder::new()
            .name("onefold-batcher".to_owned())
            .spawn(move || runtime.block_on(in_flight::serve(&store, waiting, batch_max, &reach)))
            .map_err(|cause| Error::new(UNEXPECTED, "the system cannot start a thread").caused_by(cause))?;
        Ok(Self { queue, alone })
    }

    pub(crate) async fn claim(&self, request: ClaimRequest) -> Result<Claim> {
        match self.step(Step::Claim(Box::new(request))).await? {
            StepAnswer::Claim(claim) => Ok(claim),
            StepAnswer::Record(_) | StepAnswer::Renew(_) | StepAnswer::Release(_) => Err(mixed_up()),
        }
    }

    pub(crate) async fn record(&self, request: RecordRequest) -> Result<Recorded> {
        match self.step(Step::Record(Box::new(request))).await? {
            StepAnswer::Record(recorded) => Ok(recorded),
            StepAnswer::Claim(_) | StepAnswer::Renew(_) | StepAnswer::Release(_) => Err(mixed_up()),
        }
    }

    pub(crate) async fn renew(&self, request: RenewRequest) -> Result<Renewed> {
        match self.step(Step::Renew(request)).await? {
            StepAnswer::Renew(renewed) => Ok(renewed),
            StepAnswer::Claim(_) | StepAnswer::Record(_) | StepAnswer::Release(_) => Err(mixed_up()),
        }
    }

    pub(crate) async fn release(&self, request: ReleaseRequest) -> Result<Released> {
        match self.step(Step::Release(request)).await? {
            StepAnswer::Release(released) => Ok(released),
            StepAnswer::Claim(_) | StepAnswer::Record(_) | StepAnswer::Renew(_) => Err(mixed_up()),
        }
    }

    async fn step(&self, step: Step) -> Result<StepAnswer> {
        if let Some(answer) = self.step_alone(&step) {
            return answer;
        }
        let (answer, answered) = oneshot::channel();
        self.queue.send(QueuedStep { step, answer: Some(answer) }).await.map_err(|_| stopped())?;
        answered.await.map_err(|_| stopped())?.take()
    }

    /// Carries a step out at once when there is no other caller. It cannot be cut short half-way.
    fn step_alone(&self, step: &Step) -> Option<Result<StepAnswer>> {
        if !self.queue.is_empty() || self.alone.last_batch.load(Ordering::Relaxed) > 1 {
            return None;
        }
        let began = self.alone.measure.begin();
        let answer = (self.alone.act)(step)?;
        self.alone.measure.end(began, 1);
        self.alone.writes.observe(std::slice::from_ref(&answer));
        report_damage(step, &answer);
        match &answer {
            Ok(_) => meter::answered(std::slice::from_ref(step), std::slice::from_ref(&answer)),
            Err(error) => meter::store_error(meter::operation_label(std::slice::from_ref(step)), error),
        }
        Some(answer)
    }

    /// How writing went lately.
    pub(crate) fn writes(&self) -> &Writes {
        &self.alone.writes
    }

    /// Says that a grant was not handed over. Called from a destructor, so it must not wait.
    fn release_undelivered(&self, request: ReleaseRequest) {
        let waiting = QueuedStep { step: Step::Release(request), answer: None };
        if let Err(TrySendError::Full(waiting)) = self.queue.try_send(waiting)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let queue = self.queue.clone();
            runtime.spawn(async move {
                // A queue that closed meanwhile leaves the grant to its lease.
                let _ = queue.send(waiting).await;
            });
        }
    }
}

fn mixed_up() -> Error {
    Error::new(
        onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED,
        "a store answered a step with another step's answer",
    )
}

/// The way back to the batcher, without keeping it alive.
struct WeakBatcher {
    queue: WeakStepSender,
    alone: Arc<InlinePath>,
    measure: Measure,
}

/// Measures commits.
#[derive(Clone)]
struct Measure {
    store: &'static str,
    clock: Arc<dyn Clock>,
}

impl Measure {
    fn begin(&self) -> Duration {
        self.clock.monotonic()
    }

    fn end(&self, began: Duration, size: usize) {
        meter::batch(self.store, size, self.clock.monotonic().saturating_sub(began));
    }
}

impl WeakBatcher {
    fn batcher(&self) -> Option<Batcher> {
        Some(Batcher { queue: self.queue.upgrade()?, alone: Arc::clone(&self.alone) })
    }
}

/// A batch that the store was given.
struct Batch {
    steps: Arc<Vec<Step>>,
    callers: Vec<Option<oneshot::Sender<Delivery>>>,
    began: Duration,
    answers: BoxFuture<'static, Result<Vec<Result<StepAnswer>>>>,
}

impl Batch {
    /// Gives the store these steps, which may block this thread.
    fn begin<S: LedgerWrite>(store: &S, queued: Vec<QueuedStep>, reach: &WeakBatcher) -> Self {
        let (steps, callers): (Vec<Step>, Vec<_>) = queued.into_iter().map(|one| (one.step, one.answer)).unzip();
        let (steps, began) = (Arc::new(steps), reach.measure.begin());
        let answers = store.act(Arc::clone(&steps));
        Self { steps, callers, began, answers }
    }

    /// Answers the callers once it is durable. One that fails because of a step in it is halved until that step is alone.
    async fn end<S: LedgerWrite>(self, store: &S, reach: &Arc<WeakBatcher>) {
        let mut begun = vec![self];
        while let Some(Self { steps, callers, began, answers }) = begun.pop() {
            let decided = answers.await;
            reach.measure.end(began, steps.len());
            match decided {
                Ok(decided) => deliver(&steps, callers, decided, reach),
                Err(error) if steps.len() > 1 && lies_in_a_step(&error) => {
                    let queued = steps.iter().cloned().zip(callers).map(|(step, answer)| QueuedStep { step, answer });
                    let mut first: Vec<QueuedStep> = queued.collect();
                    let second = first.split_off(first.len() / 2);
                    let first = Self::begin(store, first, reach);
                    let second = Self::begin(store, second, reach);
                    begun.extend([second, first]);
                }
                Err(error) => {
                    reach.alone.writes.failed(&error);
                    meter::store_error(meter::operation_label(&steps), &error);
                    let decided = steps.iter().map(|_| Err(error.share())).collect();
                    deliver(&steps, callers, decided, reach);
                }
            }
        }
    }
}

/// Hands the answers of a batch to its callers.
fn deliver(
    steps: &[Step],
    callers: Vec<Option<oneshot::Sender<Delivery>>>,
    decided: Vec<Result<StepAnswer>>,
    reach: &Arc<WeakBatcher>,
) {
    reach.alone.writes.observe(&decided);
    meter::answered(steps, &decided);
    for ((step, answer), caller) in steps.iter().zip(decided).zip(callers) {
        report_damage(step, &answer);
        if let Some(caller) = caller {
            // Dropped before it is taken, the delivery says that its answer was not handed over.
            let _ = caller.send(Delivery::new(step, answer, reach));
        }
    }
}

/// A row that was changed behind the ledger's back concerns more than the caller who finds it.
fn report_damage(step: &Step, answer: &Result<StepAnswer>) {
    if let Err(error) = answer
        && error.code() == RESULT_DAMAGED
    {
        let key = step.key();
        tracing::error!(error_code = %error.code(), kind = %key.kind, operation_id = %key.id, "stored result is damaged");
    }
}

/// Whether the failure is about what a step holds rather than about the store.
fn lies_in_a_step(error: &Error) -> bool {
    match error.code().descriptor().class {
        ErrorClass::Validation
        | ErrorClass::Contract
        | ErrorClass::Bug
        | ErrorClass::Conflict
        | ErrorClass::DomainRule => true,
        ErrorClass::Authorization
        | ErrorClass::NotFound
        | ErrorClass::Duplicate
        | ErrorClass::OptimisticLock
        | ErrorClass::Contention
        | ErrorClass::Dependency
        | ErrorClass::Process
        | ErrorClass::Operational => false,
    }
}
