//! The typed declaration of a kind: the class comes first and offers only the policies it allows.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use onefold_config::KindDeclaration;
use onefold_core::call::CallHealth;
use onefold_core::effect::{
    self, AcceptDuplicate, Class, Converging, EffectContract, Escalate, ExternalCommand, FinancialOrLegal,
    HumanNotification, InTransaction, KindSpec, Local, MessagePublish, OnUnknown, Policy, Pure, Rerun, Retention,
    SameKey,
};
use onefold_core::error::{DECLARATION_INVALID, Error, Result};
use onefold_core::fingerprint::Mode;
use onefold_core::ledger::{Completion, Entry, Question, ReconcilerAnswer, StoredResult, provider_key};
use onefold_core::operation::KindName;
use onefold_core::port::BoxFuture;
use onefold_core::retry::{Category, Schedule};
use serde::Serialize;

/// Something that only Rust says of the terms.
type Change = Box<dyn FnOnce(&mut KindSpec) + Send>;

/// The declaration of a kind of class `C`: what a file may say of one, and what only Rust can give.
pub struct Kind<C> {
    name: String,
    declared: KindDeclaration,
    policy: Option<Policy>,
    pub(crate) reconciler: Option<Reconciler>,
    changes: Vec<Change>,
    class: PhantomData<C>,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident -> $class:ident;)+) => {$(
        impl Kind<$class> {
            $(#[$doc])*
            pub fn $name(name: impl Into<String>) -> Self {
                Self::new(name)
            }
        }
    )+};
}

constructors! {
    /// Computes or reads; no ledger row unless [`Kind::remember`].
    pure -> Pure;
    /// Changes something to a state that a repetition leaves as it is.
    converging -> Converging;
    /// Changes the caller's own database, in its own transaction.
    local -> Local;
    /// Tells another system to do something.
    external_command -> ExternalCommand;
    /// Reaches a person.
    human_notification -> HumanNotification;
    /// Moves money or has legal force: completed only with [`WithEvidence`] results.
    financial_or_legal -> FinancialOrLegal;
}

impl Kind<MessagePublish> {
    /// Publishes a message; a broker that drops repetitions of a key makes it one.
    pub fn message_publish(name: impl Into<String>, policy: impl OnUnknown<MessagePublish> + IntoReconciler) -> Self {
        Self::new(name).on_unknown(policy)
    }
}

impl Kind<Pure> {
    /// Remembers results, so that duplicates are answered without computing again.
    #[must_use]
    pub fn remember(self) -> Self {
        self.declare(|declared| declared.remember = true)
    }
}

impl<C: Class> Kind<C> {
    fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            declared: KindDeclaration::of(C::CLASS),
            policy: None,
            reconciler: None,
            changes: Vec::new(),
            class: PhantomData,
        }
    }

    /// Its name, not checked yet.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Says what a file may say of a kind. Class and policy are those of Rust's types, whatever is written here.
    #[must_use]
    pub fn declare(mut self, change: impl FnOnce(&mut KindDeclaration)) -> Self {
        change(&mut self.declared);
        self
    }

    fn with(mut self, change: impl FnOnce(&mut KindSpec) + Send + 'static) -> Self {
        self.changes.push(Box::new(change));
        self
    }

    /// What an unknown outcome may do. A policy that the class does not allow does not compile.
    #[must_use]
    pub fn on_unknown<P: OnUnknown<C> + IntoReconciler>(mut self, policy: P) -> Self {
        self.policy = Some(policy.policy());
        self.reconciler = policy.into_reconciler();
        self
    }

    /// How long one attempt may take.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        self.declare(|declared| declared.deadline = Some(deadline))
    }

    /// How long a silent holder keeps its lease.
    #[must_use]
    pub fn lease(self, lease: Duration) -> Self {
        self.declare(|declared| declared.lease = Some(lease))
    }

    /// What is added to every expiry test.
    #[must_use]
    pub fn clock_slack(self, slack: Duration) -> Self {
        self.with(move |terms| terms.clock_slack = slack)
    }

    /// For how long after the last deadline "it did not happen" needs force.
    #[must_use]
    pub fn settle(self, settle: Duration) -> Self {
        self.declare(|declared| declared.settle = Some(settle))
    }

    /// The dependency that failures are counted against.
    #[must_use]
    pub fn depends_on(self, dependency: &str) -> Self {
        self.declare(|declared| declared.depends_on = Some(dependency.to_owned()))
    }

    /// What of a request is compared.
    #[must_use]
    pub fn fingerprint(self, mode: Mode) -> Self {
        self.declare(|declared| declared.fingerprint = Some(mode))
    }

    /// Waits between attempts after any failure that may be retried; the last one repeats.
    #[must_use]
    pub fn backoff(self, waits: &[Duration]) -> Self {
        self.declare(|declared| declared.backoff = Some(waits.to_vec()))
    }

    /// Overrides the retry schedule of a category, and says why.
    #[must_use]
    pub fn retry(self, category: Category, schedule: Option<Schedule>, because: &str) -> Self {
        let because = because.to_owned();
        self.with(move |terms| terms.retry = std::mem::take(&mut terms.retry).with(category, schedule, because))
    }

    /// Attempts an operation may use in all.
    #[must_use]
    pub fn attempts_max(self, attempts: u32) -> Self {
        self.declare(|declared| declared.attempts_max = Some(attempts))
    }

    /// Retrying ends this long after the first attempt.
    #[must_use]
    pub fn escalate_within(self, within: Duration) -> Self {
        self.declare(|declared| declared.escalate_within = Some(within))
    }

    /// When to ask again after an answer that told nothing.
    #[must_use]
    pub fn ask_schedule(self, schedule: &[Duration]) -> Self {
        let schedule: Arc<[Duration]> = schedule.into();
        self.with(move |terms| terms.ask_schedule = schedule)
    }

    /// Larger results are kept as a digest.
    #[must_use]
    pub fn result_bytes_max(self, bytes: usize) -> Self {
        self.declare(|declared| declared.result_bytes_max = Some(bytes))
    }

    /// What is kept, and for how long.
    #[must_use]
    pub fn retention(self, retention: Retention) -> Self {
        self.declare(|declared| declared.retention = retention.into())
    }

    /// The terms, checked; and how its questions are asked.
    pub(crate) fn declared(self) -> Result<(KindSpec, Option<Reconciler>)> {
        let kind = KindName::parse(&self.name)?;
        let contract = match self.policy {
            None => onefold_config::default_contract(C::CLASS)?,
            Some(policy) => EffectContract::new(C::CLASS, policy)?,
        };
        let mut terms = self.declared.terms(kind, contract)?;
        for change in self.changes {
            change(&mut terms);
        }
        Ok((terms.checked()?, self.reconciler))
    }
}

/// What a question is about.
#[derive(Debug, Clone)]
pub struct PendingQuestion {
    key: Arc<str>,
    entry: Entry,
}

impl PendingQuestion {
    pub(crate) fn new(entry: Entry) -> Self {
        Self { key: provider_key(&entry.key.id, entry.fence, entry.contract.policy()), entry }
    }

    /// The key that the attempt sent.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The business key, where one was given.
    pub fn business_key(&self) -> Option<&str> {
        self.entry.origin.business_key.as_deref()
    }

    /// The stored operation.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }
}

/// What the provider answered.
#[derive(Debug, Clone)]
pub struct ProviderAnswer {
    pub(crate) answer: ReconcilerAnswer,
    pub(crate) health: CallHealth,
}

impl ProviderAnswer {
    const fn of(answer: ReconcilerAnswer, health: CallHealth) -> Self {
        Self { answer, health }
    }

    /// It took hold, with this result.
    pub fn took_hold(result: &impl Serialize) -> Self {
        let answer = match encode(result) {
            Ok(result) => ReconcilerAnswer::TookHold(Completion { result, evidence: None }),
            Err(_) => ReconcilerAnswer::CannotTell,
        };
        Self::of(answer, CallHealth::Answered)
    }

    /// It took hold, and what it answered is not known: duplicates are told so.
    pub fn took_hold_without_result() -> Self {
        let completion = Completion { result: StoredResult::none(None), evidence: None };
        Self::of(ReconcilerAnswer::TookHold(completion), CallHealth::Answered)
    }

    /// The same with a reference to the evidence.
    #[must_use]
    pub fn evidence(mut self, reference: impl Into<Arc<str>>) -> Self {
        if let ReconcilerAnswer::TookHold(completion) = &mut self.answer {
            completion.evidence = Some(reference.into());
        }
        self
    }

    /// To [`Ask`]: there is no such effect. To [`Void`]: there is none, and the provider refuses the key from now on.
    pub fn did_not() -> Self {
        Self::of(ReconcilerAnswer::DidNot, CallHealth::Answered)
    }

    /// It answered, and cannot tell.
    pub fn cannot_tell() -> Self {
        Self::of(ReconcilerAnswer::CannotTell, CallHealth::Answered)
    }

    /// It could not be reached, or is not well: this counts against the kind's dependency.
    pub fn unreachable() -> Self {
        Self::of(ReconcilerAnswer::CannotTell, CallHealth::Failed)
    }

    /// Ask again after this long.
    pub fn later(wait: Duration) -> Self {
        Self::of(ReconcilerAnswer::Later(wait), CallHealth::Answered)
    }
}

/// A result as it is stored.
pub(crate) fn encode(result: &impl Serialize) -> Result<StoredResult> {
    let bytes = serde_json::to_vec(result).map_err(|cause| {
        Error::new(onefold_core::error::RESULT_UNREADABLE, "the result cannot be written as JSON").caused_by(cause)
    })?;
    Ok(StoredResult::json(bytes))
}

type QuestionFn = Arc<dyn Fn(PendingQuestion) -> BoxFuture<'static, ProviderAnswer> + Send + Sync>;

/// How the questions of a kind are asked.
#[derive(Clone)]
pub struct Reconciler {
    pub(crate) question: Question,
    pub(crate) ask: QuestionFn,
}

/// A policy that may bring a question. Implemented by every policy.
pub trait IntoReconciler {
    /// The question, where the policy has one.
    fn into_reconciler(self) -> Option<Reconciler>;
}

macro_rules! without_question {
    ($($policy:ty),+) => {$(
        impl IntoReconciler for $policy {
            fn into_reconciler(self) -> Option<Reconciler> {
                None
            }
        }
    )+};
}

without_question!(Rerun, SameKey, Escalate, AcceptDuplicate, InTransaction);

/// Ask the provider whether the effect took hold; perform again only after its "no", `settle` after the last deadline.
pub struct Ask {
    settle: Duration,
    ask: QuestionFn,
}

impl Ask {
    /// Asks with this closure.
    pub fn with<F, Fut>(ask: F) -> Self
    where
        F: Fn(PendingQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ProviderAnswer> + Send + 'static,
    {
        Self { settle: Duration::from_mins(15), ask: Arc::new(move |asked| Box::pin(ask(asked))) }
    }

    /// How long after the last deadline a "no" is believed.
    #[must_use]
    pub fn settle(mut self, settle: Duration) -> Self {
        self.settle = settle;
        self
    }
}

impl<C: Class> OnUnknown<C> for Ask
where
    effect::AskPolicy: OnUnknown<C>,
{
    fn policy(&self) -> Policy {
        effect::AskPolicy { settle: self.settle }.policy()
    }
}

impl IntoReconciler for Ask {
    fn into_reconciler(self) -> Option<Reconciler> {
        Some(Reconciler { question: Question::Ask, ask: self.ask })
    }
}

/// Make the provider refuse the key; perform again only after its yes.
pub struct Void {
    void: QuestionFn,
}

impl Void {
    /// Voids with this closure.
    pub fn with<F, Fut>(void: F) -> Self
    where
        F: Fn(PendingQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ProviderAnswer> + Send + 'static,
    {
        Self { void: Arc::new(move |asked| Box::pin(void(asked))) }
    }
}

impl<C: Class> OnUnknown<C> for Void
where
    effect::VoidPolicy: OnUnknown<C>,
{
    fn policy(&self) -> Policy {
        effect::VoidPolicy.policy()
    }
}

impl IntoReconciler for Void {
    fn into_reconciler(self) -> Option<Reconciler> {
        Some(Reconciler { question: Question::Void, ask: self.void })
    }
}

/// A result with the reference to its evidence: what a financial or legal effect returns.
#[derive(Debug, Clone)]
pub struct WithEvidence<T> {
    /// What duplicates are answered with.
    pub result: T,
    /// Where the proof lies: the id that the source system gave.
    pub evidence: Arc<str>,
}

impl<T> WithEvidence<T> {
    /// This result, proved there.
    pub fn new(result: T, evidence: impl Into<Arc<str>>) -> Self {
        Self { result, evidence: evidence.into() }
    }
}

/// A class that is performed around an outside effect, and what its closure returns.
#[diagnostic::on_unimplemented(
    message = "an operation of class `{Self}` is not performed around an outside effect",
    label = "`{Self}` changes the caller's own database",
    note = "run it in your own transaction with `once_in`: `kind.operation(id).once_in(&mut tx, &request, async |tx| …)`"
)]
pub trait PerformableClass: Class {
    /// What the closure returns for a result of type `T`.
    type Output<T>;
    /// The result and its evidence.
    fn split<T>(output: Self::Output<T>) -> (T, Option<Arc<str>>);
}

macro_rules! performs {
    ($($class:ty),+) => {$(
        impl PerformableClass for $class {
            type Output<T> = T;
            fn split<T>(output: T) -> (T, Option<Arc<str>>) {
                (output, None)
            }
        }
    )+};
}

performs!(Pure, Converging, ExternalCommand, MessagePublish, HumanNotification);

impl PerformableClass for FinancialOrLegal {
    type Output<T> = WithEvidence<T>;
    fn split<T>(output: WithEvidence<T>) -> (T, Option<Arc<str>>) {
        (output.result, Some(output.evidence))
    }
}

/// Refuses a policy that needs a question where none was given.
pub(crate) fn question_required(terms: &KindSpec, reconciler: Option<&Reconciler>) -> Result<()> {
    let asks = matches!(terms.contract.policy(), Policy::Ask { .. } | Policy::Void);
    if asks && reconciler.is_none() {
        return Err(Error::new(
            DECLARATION_INVALID,
            format!("kind {} has the policy ask or void, but no question to ask", terms.kind),
        )
        .hint("give Ask::with or Void::with a closure"));
    }
    Ok(())
}
