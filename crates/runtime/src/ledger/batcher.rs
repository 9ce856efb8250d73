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
use onefold_core::port::{Clock, LedgerWrite, Step, StepAnswer, Store};
use onefold_core::{Error, Result};
use tokio::runtime::RuntimeFlavor;
use tokio::sync::{mpsc, oneshot};

use crate::meter;
use crate::readiness::Writes;
use crate::settings::Settings;

mod in_flight;

/// Hands single steps to the store in batches.
#[derive(Clone)]
pub(crate) struct Batcher {
    queue: mpsc::Sender<QueuedStep>,
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
        let (queue, waiting) = mpsc::channel(settings.waiting_max.max(1));
        let measure = Measure { store: store.name(), clock: Arc::clone(&settings.clock) };
        let lone_store = Arc::clone(&store);
        let alone = Arc::new(InlinePath {
            act: Box::new(move |step| lone_store.act_inline(step)),
            last_batch: AtomicUsize::new(0),
            measure: measure.clone(),
            writes: Writes::new(Arc::clone(&settings.clock)),
        });
        let runtime = tokio::runtime::Handle::current();
        let reach = Arc::new(WeakBatcher {
            queue: queue.downgrade(),
            alone: Arc::clone(&alone),
            measure,
            runtime: runtime.clone(),
        });
        let (batches_in_flight_max, batch_max) = (store.batches_in_flight_max(), settings.batch_max.max(1));
        std::thread::Builder::new()
            .name("onefold-batcher".to_owned())
            .spawn(move || {
                if batches_in_flight_max > 1 {
                    runtime.block_on(in_flight::serve(&store, waiting, batch_max, &reach));
                } else {
                    runtime.block_on(serve(store, waiting, batch_max, &reach));
                }
            })
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
        let nobody_waits = self.queue.capacity() == self.queue.max_capacity();
        if !nobody_waits || self.alone.last_batch.load(Ordering::Relaxed) > 1 {
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
        if let Err(mpsc::error::TrySendError::Full(waiting)) = self.queue.try_send(waiting)
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
    queue: mpsc::WeakSender<QueuedStep>,
    alone: Arc<InlinePath>,
    measure: Measure,
    /// Where the callers are.
    runtime: tokio::runtime::Handle,
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

async fn serve<S: LedgerWrite>(
    store: Arc<S>,
    mut waiting: mpsc::Receiver<QueuedStep>,
    batch_max: usize,
    reach: &Arc<WeakBatcher>,
) {
    let mut batch = Vec::with_capacity(batch_max);
    loop {
        if waiting.recv_many(&mut batch, batch_max).await == 0 {
            return;
        }
        let answered = batch.len();
        reach.alone.last_batch.store(answered, Ordering::Relaxed);
        carry(&*store, std::mem::take(&mut batch), reach).await;
        if answered > 1 {
            gather(&waiting, answered.min(batch_max));
        }
    }
}

/// Lets callers that were just answered bring their next step before the next commit begins.
///
/// No timer and no sleep: it looks a bounded number of times, and goes on only while steps keep coming.
fn gather(waiting: &mpsc::Receiver<QueuedStep>, enough: usize) {
    const LOOKS: usize = 40;
    let mut seen = waiting.len();
    let mut looks = 0;
    while seen < enough && looks < LOOKS {
        for _ in 0..64 {
            std::hint::spin_loop();
        }
        let now = waiting.len();
        looks = if now > seen { 0 } else { looks + 1 };
        seen = now;
    }
}

/// Commits a batch. One that fails because of a step in it is halved until that step is alone.
async fn carry<S: LedgerWrite>(store: &S, batch: Vec<QueuedStep>, reach: &Arc<WeakBatcher>) {
    let mut stack = vec![batch];
    while let Some(batch) = stack.pop() {
        let (steps, callers): (Vec<Step>, Vec<_>) = batch.into_iter().map(|one| (one.step, one.answer)).unzip();
        let steps = Arc::new(steps);
        let began = reach.measure.begin();
        let acted = store.act(Arc::clone(&steps)).await;
        reach.measure.end(began, steps.len());
        match acted {
            Ok(decided) => deliver(&steps, callers, decided, reach),
            Err(error) if steps.len() > 1 && lies_in_a_step(&error) => {
                let mut halves: Vec<QueuedStep> =
                    steps.iter().cloned().zip(callers).map(|(step, answer)| QueuedStep { step, answer }).collect();
                let second = halves.split_off(halves.len() / 2);
                stack.push(second);
                stack.push(halves);
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

/// Answers from this many on are handed over by a task of the callers' runtime: there a caller is woken without a system
/// call, and the next commit begins meanwhile.
const HANDED_OVER_MIN: usize = 4;

/// Hands the answers of a batch to its callers.
fn deliver(
    steps: &[Step],
    callers: Vec<Option<oneshot::Sender<Delivery>>>,
    decided: Vec<Result<StepAnswer>>,
    reach: &Arc<WeakBatcher>,
) {
    reach.alone.writes.observe(&decided);
    meter::answered(steps, &decided);
    for (step, answer) in steps.iter().zip(&decided) {
        report_damage(step, answer);
    }
    let deliveries = steps.iter().zip(decided).map(|(step, answer)| Delivery::new(step, answer, reach));
    let deliveries: Vec<_> = callers.into_iter().zip(deliveries).collect();
    let hand_over = move || {
        for (caller, delivery) in deliveries {
            if let Some(caller) = caller {
                // Dropped before it is taken, the delivery says that its answer was not handed over.
                let _ = caller.send(delivery);
            }
        }
    };
    // A runtime without threads of its own runs a task only while somebody drives it, and callers may be elsewhere.
    let has_threads = reach.runtime.runtime_flavor() == RuntimeFlavor::MultiThread;
    if has_threads && steps.len() >= HANDED_OVER_MIN {
        reach.runtime.spawn(async move { hand_over() });
    } else {
        hand_over();
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
