//! The handle: declares kinds, starts, stops.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use onefold_core::effect::{Class, KindSpec, Kinds};
use onefold_core::error::{DECLARATION_INVALID, KIND_MISMATCH, KIND_UNKNOWN, LIMIT_EXCEEDED, SHUTTING_DOWN};
use onefold_core::ledger::{AttemptId, Holder};
use onefold_core::operation::{IntoOperationId, KindName, Tenant};
use onefold_core::port::{InstallationLock, Store, SweepScope};
use onefold_core::retry::Jitter;
use onefold_core::{Error, Result, Timestamp};
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinHandle;

use crate::dependency::{Dependencies, RemotePermits, outages};
use crate::ledger::batcher::Batcher;
use crate::ledger::kind::{Kind, Reconciler, question_required};
use crate::ledger::operation::Operation;
use crate::ledger::recorder::{self, Recorder};
use crate::ledger::{pruner, reconciler, sweeper};
use crate::outbox::handle::Outbox;
use crate::outbox::wake::Wake;
use crate::settings::Settings;
use crate::{announcer, position};

/// Kinds a process may declare; they label metrics, so they must stay few.
const KINDS_MAX: usize = 1_000;

/// The ledger of a process. Cheap to clone.
pub struct Ledger<S> {
    pub(crate) inner: Arc<Inner<S>>,
}

impl<S> Clone for Ledger<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

pub(crate) struct Inner<S> {
    pub(crate) store: Arc<S>,
    pub(crate) batcher: Batcher,
    pub(crate) settings: Settings,
    pub(crate) worker: Arc<str>,
    pub(crate) recorder: Recorder,
    installation: Option<Arc<str>>,
    kinds: RwLock<Declared>,
    pub(crate) dependencies: Arc<Dependencies>,
    pub(crate) remote_permits: RemotePermits,
    started: OnceCell<StartupReport>,
    /// Whether somebody starts it behind its callers' backs.
    starting: AtomicBool,
    /// Attempts in flight, and whether new ones are still let in.
    pub(crate) running: watch::Sender<RunState>,
    loops: Mutex<Vec<JoinHandle<()>>>,
    /// Wakes the relays of this process.
    wake: Wake,
    /// The installation's name, and whether no other living process has it.
    name: Mutex<Option<InstallationLock>>,
}

#[derive(Default)]
struct Declared {
    kinds: Arc<Kinds>,
    reconcilers: HashMap<KindName, Reconciler>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunState {
    pub(crate) attempts: usize,
    pub(crate) stopping: bool,
}

/// What the start found and settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StartupReport {
    /// Outcomes from the journal that are now recorded.
    pub journal_recorded: usize,
    /// Lines of the journal that were torn or damaged, and are reported rather than believed.
    pub journal_damaged: usize,
    /// Leases of this installation's previous life that were settled by their policy.
    pub leases_settled: usize,
}

impl<S: Store> Ledger<S> {
    /// A ledger on this store. Must be called inside a tokio runtime.
    ///
    /// Declare kinds next; the first operation, or [`Ledger::start`], settles what a previous life
    /// of this installation left behind.
    pub fn open(store: S, settings: Settings) -> Result<Self> {
        let store = Arc::new(store);
        if let Some(name) = &settings.installation {
            checked_installation(name)?;
        }
        let name = settings.installation.as_deref().map(|name| store.lock_installation(name)).transpose()?;
        let batcher = Batcher::start(Arc::clone(&store), &settings)?;
        let inner = Inner {
            worker: settings.worker_name(),
            recorder: Recorder::new(batcher.clone(), &settings),
            installation: settings.installation.as_deref().map(Arc::from),
            kinds: RwLock::default(),
            dependencies: Arc::default(),
            remote_permits: RemotePermits::default(),
            started: OnceCell::new(),
            starting: AtomicBool::new(false),
            running: watch::Sender::new(RunState::default()),
            loops: Mutex::default(),
            wake: Wake::default(),
            name: Mutex::new(name),
            store,
            batcher,
            settings,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The outbox on the same store.
    pub fn outbox(&self) -> Outbox<S> {
        let Inner { store, settings, worker, wake, dependencies, .. } = &*self.inner;
        Outbox::new(Arc::clone(store), settings.clone(), Arc::clone(worker), wake.clone(), Arc::clone(dependencies))
    }

    /// Declares a kind. A kind has one declaration: the same again is fine, a different one is refused.
    pub fn kind<C: Class>(&self, kind: Kind<C>) -> Result<KindHandle<S, C>> {
        let (terms, reconciler) = kind.declared()?;
        Ok(KindHandle { ledger: self.clone(), terms: self.declare(terms, reconciler)?, class: PhantomData })
    }

    /// Declares a kind whose class is known only at run time: from configuration, or from a caller's first claim.
    pub fn declare(&self, terms: KindSpec, reconciler: Option<Reconciler>) -> Result<Arc<KindSpec>> {
        question_required(&terms, reconciler.as_ref())?;
        let mut declared = self.inner.kinds.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = declared.kinds.get(&terms.kind) {
            if **known == terms {
                return Ok(Arc::clone(known));
            }
            return Err(Error::new(KIND_MISMATCH, format!("kind {} was declared before with other terms", terms.kind)));
        }
        few_enough(declared.kinds.len())?;
        let terms = Arc::new(terms);
        let mut kinds = Kinds::clone(&declared.kinds);
        kinds.insert(terms.kind.clone(), Arc::clone(&terms));
        declared.kinds = Arc::new(kinds);
        if let Some(reconciler) = reconciler {
            declared.reconcilers.insert(terms.kind.clone(), reconciler);
        }
        Ok(terms)
    }

    /// Declares kinds anew, all of them or none, whatever was declared before: their configuration was read again.
    /// Attempts in flight keep their terms; entries that were granted under stricter ones stay as strict.
    pub fn redeclare(&self, kinds: Vec<(Arc<KindSpec>, Option<Reconciler>)>) -> Result<()> {
        let mut declared = self.inner.kinds.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = Kinds::clone(&declared.kinds);
        for (terms, reconciler) in &kinds {
            question_required(terms, reconciler.as_ref())?;
            if !all.contains_key(&terms.kind) {
                few_enough(all.len())?;
            }
            all.insert(terms.kind.clone(), Arc::clone(terms));
        }
        declared.kinds = Arc::new(all);
        for (terms, reconciler) in kinds {
            match reconciler {
                Some(reconciler) => drop(declared.reconcilers.insert(terms.kind.clone(), reconciler)),
                None => drop(declared.reconcilers.remove(&terms.kind)),
            }
        }
        Ok(())
    }

    /// Records what the journal kept, settles what a previous life held, and starts the loops. Once; later calls only tell.
    pub async fn start(&self) -> Result<StartupReport> {
        self.inner.started.get_or_try_init(|| self.begin()).await.copied()
    }

    /// Starts behind the caller's back, where that has not happened: for a service whose operations run in transactions
    /// of its own. Waiting for it there would wait for a lock that the caller holds.
    pub fn start_soon(&self) {
        if self.inner.started.initialized() || self.inner.starting.swap(true, Ordering::Relaxed) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            self.inner.starting.store(false, Ordering::Relaxed);
            return;
        };
        let ledger = self.clone();
        runtime.spawn(async move {
            if let Err(error) = ledger.start().await {
                tracing::warn!(error_code = %error.code(), "start failed; the next operation tries it again");
            }
            ledger.inner.starting.store(false, Ordering::Relaxed);
        });
    }

    async fn begin(&self) -> Result<StartupReport> {
        let (journal_recorded, journal_damaged) = recorder::recover(self).await?;
        let mut started = StartupReport { journal_recorded, journal_damaged, leases_settled: 0 };
        if let (Some(installation), true) = (&self.inner.installation, self.is_alone()) {
            let scope = SweepScope::DeadHolder(Arc::clone(installation));
            started.leases_settled = sweeper::sweep_all(self, &scope).await?;
        }
        if started != StartupReport::default() {
            tracing::warn!(
                journal_recorded,
                journal_damaged,
                leases_settled = started.leases_settled,
                "operations of an earlier process settled"
            );
        }
        let mut loops = self.inner.loops.lock().unwrap_or_else(PoisonError::into_inner);
        loops.push(position::start(self));
        loops.push(sweeper::start(self));
        loops.push(reconciler::start(self));
        loops.push(announcer::start(self));
        loops.push(outages::start(self));
        loops.push(pruner::start(self));
        loops.push(recorder::start(self));
        Ok(started)
    }

    /// Whether an earlier life of this installation is proved dead; otherwise its leases expire.
    fn is_alone(&self) -> bool {
        matches!(*self.inner.name.lock().unwrap_or_else(PoisonError::into_inner), Some(InstallationLock::Alone(_)))
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.inner.settings.clock.now()
    }

    /// For whom operations are, unless a call says otherwise.
    pub fn tenant(&self) -> &Tenant {
        &self.inner.settings.tenant
    }

    /// The store, for reading and for operators' verbs.
    pub fn store(&self) -> &S {
        &self.inner.store
    }

    /// The declared kinds.
    pub fn kinds(&self) -> Arc<Kinds> {
        Arc::clone(&self.inner.kinds.read().unwrap_or_else(PoisonError::into_inner).kinds)
    }

    /// Refuses a further kind where there are as many as may be.
    pub fn may_declare(&self, kind: &KindName) -> Result<()> {
        let declared = self.inner.kinds.read().unwrap_or_else(PoisonError::into_inner);
        if declared.kinds.contains_key(kind) { Ok(()) } else { few_enough(declared.kinds.len()) }
    }

    /// What the declaration of a kind fixed.
    pub fn terms(&self, kind: &KindName) -> Result<Arc<KindSpec>> {
        let declared = self.inner.kinds.read().unwrap_or_else(PoisonError::into_inner);
        declared
            .kinds
            .get(kind)
            .cloned()
            .ok_or_else(|| Error::new(KIND_UNKNOWN, format!("kind {kind} is not declared")))
    }

    pub(crate) fn reconcilers(&self) -> HashMap<KindName, Reconciler> {
        self.inner.kinds.read().unwrap_or_else(PoisonError::into_inner).reconcilers.clone()
    }

    /// A fresh attempt id.
    pub fn attempt_id(&self) -> AttemptId {
        AttemptId::from_random(self.inner.settings.random.bytes())
    }

    pub(crate) fn jitter(&self) -> Jitter {
        let [a, b, c, d, ..] = self.inner.settings.random.bytes();
        Jitter(u32::from_be_bytes([a, b, c, d]))
    }

    /// Who decides if no person is named: the installation, or this process.
    pub(crate) fn decider(&self) -> Arc<str> {
        self.inner.installation.clone().unwrap_or_else(|| Arc::clone(&self.inner.worker))
    }

    /// The holder of a lease that this process' own `perform` has.
    pub(crate) fn own_holder(&self) -> Holder {
        Holder { worker: Arc::clone(&self.inner.worker), installation: self.inner.installation.clone() }
    }

    /// The holder of a lease that a caller has.
    pub(crate) fn caller_holder(&self) -> Holder {
        Holder { worker: Arc::clone(&self.inner.worker), installation: None }
    }

    /// Lets an attempt in, unless the ledger is stopping.
    pub(crate) fn enter(&self) -> Result<AdmissionGuard<S>> {
        let mut admitted = false;
        self.inner.running.send_if_modified(|running| {
            admitted = !running.stopping;
            running.attempts += usize::from(admitted);
            admitted
        });
        if admitted {
            Ok(AdmissionGuard { ledger: self.clone() })
        } else {
            Err(Error::new(SHUTTING_DOWN, "this process drains and grants nothing new"))
        }
    }

    /// Ends the loops and gives the installation's name back.
    pub(crate) fn end_loops(&self) {
        for running in self.inner.loops.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            running.abort();
        }
        drop(self.inner.name.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

fn few_enough(kinds: usize) -> Result<()> {
    if kinds < KINDS_MAX {
        return Ok(());
    }
    Err(Error::new(LIMIT_EXCEEDED, format!("more than {KINDS_MAX} kinds are declared"))
        .hint("a kind is a sort of operation, not one operation: put what varies into the id"))
}

/// An installation's name becomes part of a file's name.
fn checked_installation(name: &str) -> Result<()> {
    let shaped = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if name.is_empty() || name.len() > 64 || !shaped {
        return Err(Error::new(DECLARATION_INVALID, format!("{name:?} is not an installation name"))
            .hint("use 1 to 64 ASCII letters, digits and . _ -"));
    }
    Ok(())
}

/// An attempt in flight; counted until it is dropped.
pub(crate) struct AdmissionGuard<S: Store> {
    ledger: Ledger<S>,
}

impl<S: Store> Drop for AdmissionGuard<S> {
    fn drop(&mut self) {
        self.ledger.inner.running.send_modify(|running| running.attempts -= 1);
    }
}

/// A declared kind of class `C`.
pub struct KindHandle<S, C> {
    pub(crate) ledger: Ledger<S>,
    pub(crate) terms: Arc<KindSpec>,
    class: PhantomData<C>,
}

impl<S, C> Clone for KindHandle<S, C> {
    fn clone(&self) -> Self {
        Self { ledger: self.ledger.clone(), terms: Arc::clone(&self.terms), class: PhantomData }
    }
}

impl<S: Store, C: Class> KindHandle<S, C> {
    /// One operation of this kind. Text that is not a valid id is refused when the operation is performed or claimed.
    pub fn operation(&self, id: impl IntoOperationId) -> Operation<S, C> {
        Operation::new(self.clone(), id.into_operation_id())
    }

    /// What its declaration fixed.
    pub fn terms(&self) -> &Arc<KindSpec> {
        &self.terms
    }
}
