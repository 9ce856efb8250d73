//! The store behind this binary: an embedded file, or PostgreSQL.

mod copies;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onefold_core::clock::Confirmation;
use onefold_core::error::{DATABASE_NOT_EMPTY, DATABASE_UNAVAILABLE, LEDGER_NOT_FOUND};
use onefold_core::event::{EventId, NewEvent, StoredEvent};
use onefold_core::fingerprint::Keyring;
use onefold_core::incident::{Group, Incident};
use onefold_core::ledger::{Entry, Note, ReconcileRequest, Reconciled, ResolveRequest, Resolved, TimelineEvent};
use onefold_core::operation::{KindName, OperationKey, Tenant};
use onefold_core::outbox::{
    AsideEvent, Begin, CursorStep, EventPatterns, EventPlace, EventReplay, LaneCursor, OwnTable, PageSettlement,
    RelayName, RelaySpec, ReplayRequest, ReplaySpec, ReplayedPage, RowMark,
};
use onefold_core::port::{
    Announcement, AnnouncementQueue, ApiToken, AsideDecision, AsideFilter, AsideWithEvent, BoxFuture, CheckedTable,
    Contents, Counts, DueQuestions, EventWithAsides, Faults, Filter, HeldLanes, IncidentEvent, IncidentFilter,
    IncidentWrite, InstallationLock, LaneRequest, LedgerMaintenance, LedgerRead, LedgerWrite, Listed, OutboxOperate,
    OwnTableStore, Page, Poll, PollSize, PruneRequest, Pruned, Registry, RelayState, RelayStore, RelayVerb,
    ReplayCancel, ReplayListFilter, ReplayOperate, ReplayPage, ReplayStore, RowCounts, Sink, StageOrder, Staged,
    Staging, Step, StepAnswer, Store, StoredDeclaration, SubjectChange, SweepRequest, Swept, TakenRows,
};
use onefold_core::{Error, Result, Timestamp};
use onefold_postgres::Postgres;
use onefold_runtime::{SystemClock, SystemRandom};
use onefold_sqlite::Sqlite;

use crate::config::{Address, Config};
use crate::exit::inform;

/// A store. Cheap to clone; clones are the same one.
#[derive(Debug, Clone)]
pub(crate) enum Database {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// What to do where there is no ledger yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Creation {
    /// Refuse: a command that only looks would give a false all-clear.
    Never,
    /// Make one, unless tables of others are there.
    WhereEmpty,
    /// Make one, also among tables of others.
    AmongOthers,
}

impl Creation {
    /// What `serve`, `run` and `migrate` do, by their flag `--into-existing`.
    pub(crate) fn by_flag(into_existing: bool) -> Self {
        if into_existing { Self::AmongOthers } else { Self::WhereEmpty }
    }
}

/// A migration that a database lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MissingMigration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
}

impl Database {
    /// Opens the configured ledger, and migrates it as needed. A new one is announced.
    pub(crate) async fn open(config: &Config, creation: Creation, faults: Arc<dyn Faults>) -> Result<Self> {
        let new = may_open(config, &Self::contents(config).await?, creation)?;
        let opened = Self::connect(config, faults).await?;
        if new {
            inform(&format!("created a new ledger at {}", config.ledger()));
        }
        Ok(opened)
    }

    /// Refuses what [`Database::open`] would refuse. Nothing is changed.
    pub(crate) async fn check(config: &Config, creation: Creation) -> Result<()> {
        may_open(config, &Self::contents(config).await?, creation).map(drop)
    }

    async fn contents(config: &Config) -> Result<Contents> {
        match &config.database {
            Address::Sqlite(path) => Sqlite::contents(path).await,
            Address::Postgres(url) => {
                Postgres::contents(url.secret(), postgres_options(config)).await.map_err(at_start)
            }
        }
    }

    async fn connect(config: &Config, faults: Arc<dyn Faults>) -> Result<Self> {
        let opened = match &config.database {
            Address::Sqlite(path) => {
                let options = onefold_sqlite::SqliteOptions { faults, ..sqlite_options() };
                Box::pin(Sqlite::open(path, options)).await.map(Self::Sqlite)?
            }
            Address::Postgres(url) => {
                let options = onefold_postgres::PostgresOptions { faults, ..postgres_options(config) };
                Box::pin(Postgres::open(url.secret(), options)).await.map(Self::Postgres).map_err(at_start)?
            }
        };
        OPENED.lock().unwrap_or_else(PoisonError::into_inner).push(opened.clone());
        Ok(opened)
    }

    /// A person accepts the configured database as it is; answers with what was wrong with it, if anything was.
    pub(crate) async fn accept(config: &Config, who: &str, why: &str) -> Result<Option<Error>> {
        match &config.database {
            Address::Sqlite(path) => Sqlite::accept(path, sqlite_options(), who, why).await,
            Address::Postgres(url) => {
                let options = postgres_options(config);
                Postgres::accept(url.secret(), options, who, why).await.map_err(at_start)
            }
        }
    }

    /// What opening it would migrate. Nothing is changed.
    pub(crate) async fn missing_migrations(config: &Config) -> Result<Vec<MissingMigration>> {
        Ok(match &config.database {
            Address::Sqlite(path) => {
                let missing = Sqlite::missing_migrations(path).await?;
                missing.iter().map(|one| MissingMigration { version: one.version, name: one.name }).collect()
            }
            Address::Postgres(url) => {
                let missing = Postgres::missing_migrations(url.secret(), postgres_options(config)).await;
                let missing = missing.map_err(at_start)?;
                missing.iter().map(|one| MissingMigration { version: one.version, name: one.name }).collect()
            }
        })
    }
}

/// Whether opening makes a new ledger, or why that is refused.
fn may_open(config: &Config, contents: &Contents, creation: Creation) -> Result<bool> {
    match (contents, creation) {
        (Contents::Ledger, _) => Ok(false),
        (Contents::Nothing | Contents::OtherTables(_), Creation::Never) => {
            Err(Error::new(LEDGER_NOT_FOUND, format!("no ledger at {}; started elsewhere?", config.ledger())))
        }
        (Contents::OtherTables(tables), Creation::WhereEmpty) => {
            let what = format!("{} holds other tables ({}) and no ledger", config.ledger(), tables.join(", "));
            Err(Error::new(DATABASE_NOT_EMPTY, what))
        }
        (Contents::Nothing, Creation::WhereEmpty | Creation::AmongOthers)
        | (Contents::OtherTables(_), Creation::AmongOthers) => Ok(true),
    }
}

/// What this process opened, so that however a command ends, everything is folded into its place.
static OPENED: Mutex<Vec<Database>> = Mutex::new(Vec::new());

/// Called at the end of a command that ended by itself.
pub(crate) async fn finish_all() {
    let opened = std::mem::take(&mut *OPENED.lock().unwrap_or_else(PoisonError::into_inner));
    for database in opened {
        if let Err(error) = database.finish().await {
            tracing::warn!(error_code = %error.code(), detail = error.detail(), "the store was not closed cleanly");
        }
    }
}

/// A database that does not answer when it is opened: a program that starts has no id to try again with.
fn at_start(error: Error) -> Error {
    let usual = DATABASE_UNAVAILABLE.descriptor().guide.safe_action;
    if error.code() == DATABASE_UNAVAILABLE && error.next_step() == usual {
        return error.hint("check that the database runs and can be reached from here, then start again");
    }
    error
}

pub(crate) fn sqlite_options() -> onefold_sqlite::SqliteOptions {
    onefold_sqlite::SqliteOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()))
}

pub(crate) fn postgres_options(config: &Config) -> onefold_postgres::PostgresOptions {
    onefold_postgres::PostgresOptions {
        schema: config.schema.clone(),
        connections_max: config.database_connections,
        position: config.files.position(),
        ..onefold_postgres::PostgresOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()))
    }
}

impl From<Sqlite> for Database {
    fn from(store: Sqlite) -> Self {
        Self::Sqlite(store)
    }
}

impl From<Postgres> for Database {
    fn from(store: Postgres) -> Self {
        Self::Postgres(store)
    }
}

/// Hands each method on to whichever store it is.
macro_rules! handed_on {
    ($($method:ident($($name:ident: $given:ty),*) -> $answer:ty;)*) => {$(
        fn $method(&self, $($name: $given),*) -> $answer {
            match self {
                Self::Sqlite(store) => store.$method($($name),*),
                Self::Postgres(store) => store.$method($($name),*),
            }
        }
    )*};
}

impl LedgerWrite for Database {
    handed_on! {
        act(steps: Arc<Vec<Step>>) -> BoxFuture<'static, Result<Vec<Result<StepAnswer>>>>;
        batches_in_flight_max() -> usize;
        act_inline(step: &Step) -> Option<Result<StepAnswer>>;
        resolve(requests: Vec<ResolveRequest>) -> BoxFuture<'_, Result<Vec<Result<Resolved>>>>;
        append_audit(key: OperationKey, note: Note) -> BoxFuture<'_, Result<()>>;
    }
}

impl LedgerMaintenance for Database {
    handed_on! {
        sweep(request: SweepRequest) -> BoxFuture<'_, Result<Swept>>;
        due(kinds: Vec<KindName>, limit: usize) -> BoxFuture<'_, Result<DueQuestions>>;
        take_due(kinds: Vec<KindName>, limit: usize, hold_for: Duration) -> BoxFuture<'_, Result<DueQuestions>>;
        reconcile(answers: Vec<ReconcileRequest>) -> BoxFuture<'_, Result<Vec<Reconciled>>>;
        confirm_time() -> BoxFuture<'_, Result<Confirmation>>;
        prune(request: PruneRequest) -> BoxFuture<'_, Result<Pruned>>;
    }
}

impl LedgerRead for Database {
    handed_on! {
        find(keys: Vec<OperationKey>) -> BoxFuture<'_, Result<Vec<Option<Entry>>>>;
        list(filter: Filter, page: Page) -> BoxFuture<'_, Result<Listed<Entry>>>;
        timeline(key: OperationKey) -> BoxFuture<'_, Result<Option<Vec<TimelineEvent>>>>;
        incidents(filter: IncidentFilter, page: Page) -> BoxFuture<'_, Result<Listed<Incident>>>;
        groups(tenant: Tenant) -> BoxFuture<'_, Result<Vec<Group>>>;
        counts() -> BoxFuture<'_, Result<Counts>>;
    }
}

impl Registry for Database {
    handed_on! {
        declarations() -> BoxFuture<'_, Result<Vec<StoredDeclaration>>>;
        declare_if_absent(kind: StoredDeclaration) -> BoxFuture<'_, Result<StoredDeclaration>>;
        tokens() -> BoxFuture<'_, Result<Vec<ApiToken>>>;
        put_token(token: ApiToken) -> BoxFuture<'_, Result<()>>;
        drop_token(name: String) -> BoxFuture<'_, Result<bool>>;
    }
}

impl AnnouncementQueue for Database {
    handed_on! {
        take_turn(sink: Sink, holder: Arc<str>, hold_for: Duration) -> BoxFuture<'_, Result<bool>>;
        untold(sink: Sink, limit: usize) -> BoxFuture<'_, Result<Vec<(IncidentEvent, Incident)>>>;
        queue(sink: Sink, announcement: Announcement) -> BoxFuture<'_, Result<()>>;
        queued(sink: Sink, limit: usize) -> BoxFuture<'_, Result<Vec<Announcement>>>;
        delivered(sink: Sink, id: Arc<str>) -> BoxFuture<'_, Result<()>>;
    }
}

impl IncidentWrite for Database {
    handed_on! {
        change_incidents(changes: Vec<SubjectChange>) -> BoxFuture<'_, Result<()>>;
    }
}

impl RelayStore for Database {
    handed_on! {
        declare(relays: Vec<RelaySpec>, by: Arc<str>) -> BoxFuture<'_, Result<()>>;
        hold_lanes(request: LaneRequest) -> BoxFuture<'_, Result<HeldLanes>>;
        poll(events: EventPatterns, cursors: Vec<LaneCursor>, size: PollSize) -> BoxFuture<'_, Result<Poll>>;
        events_at(places: Vec<EventPlace>) -> BoxFuture<'_, Result<Vec<Arc<StoredEvent>>>>;
        move_cursors(relay: RelayName, steps: Vec<(LaneCursor, CursorStep)>) -> BoxFuture<'_, Result<Vec<u16>>>;
        settle(relay: RelayName, pages: Vec<PageSettlement>, incidents: Vec<SubjectChange>)
            -> BoxFuture<'_, Result<Vec<u16>>>;
        asides_due(relay: RelayName, lanes: Vec<u16>, limit: usize)
            -> BoxFuture<'_, Result<Vec<AsideWithEvent>>>;
    }
}

impl OwnTableStore for Database {
    handed_on! {
        check_table(table: OwnTable) -> BoxFuture<'_, Result<CheckedTable>>;
        take_rows(table: CheckedTable, events: EventPatterns, lease_for: Duration, limit: usize)
            -> BoxFuture<'_, Result<TakenRows>>;
        mark_rows(
            table: CheckedTable,
            lease_until: Timestamp,
            marks: Vec<(Arc<str>, RowMark)>,
            incidents: Vec<SubjectChange>
        ) -> BoxFuture<'_, Result<()>>;
        count_rows(table: CheckedTable, events: EventPatterns) -> BoxFuture<'_, Result<RowCounts>>;
    }
}

impl ReplayStore for Database {
    handed_on! {
        hold_replay(relay: RelayName, holder: Arc<str>, lease_for: Duration) -> BoxFuture<'_, Result<Option<EventReplay>>>;
        replay_page(replay: EventReplay, limit: usize) -> BoxFuture<'_, Result<ReplayPage>>;
        settle_replay(replay: EventReplay, page: ReplayedPage, lease_for: Duration)
            -> BoxFuture<'_, Result<Option<EventReplay>>>;
    }
}

impl ReplayOperate for Database {
    handed_on! {
        count_replay(spec: ReplaySpec, limit: u64) -> BoxFuture<'_, Result<u64>>;
        request_replay(request: ReplayRequest) -> BoxFuture<'_, Result<EventReplay>>;
        replays(filter: ReplayListFilter, limit: usize) -> BoxFuture<'_, Result<Vec<EventReplay>>>;
        cancel_replay(cancel: ReplayCancel) -> BoxFuture<'_, Result<EventReplay>>;
    }
}

impl OutboxOperate for Database {
    handed_on! {
        relays() -> BoxFuture<'_, Result<(Timestamp, Vec<RelayState>)>>;
        event(id: EventId) -> BoxFuture<'_, Result<Option<EventWithAsides>>>;
        asides(filter: AsideFilter, limit: usize) -> BoxFuture<'_, Result<Vec<AsideEvent>>>;
        published(id: EventId, relay: Option<RelayName>) -> BoxFuture<'_, Result<bool>>;
        decide(decision: AsideDecision) -> BoxFuture<'_, Result<Vec<AsideEvent>>>;
        start(verb: RelayVerb) -> BoxFuture<'_, Result<usize>>;
        retire(verb: RelayVerb) -> BoxFuture<'_, Result<()>>;
        rebase(verb: RelayVerb, begin: Begin) -> BoxFuture<'_, Result<()>>;
        prune_events(before: Timestamp, limit: usize) -> BoxFuture<'_, Result<usize>>;
    }
}

impl Database {
    /// Stages events in a commit of their own, for callers that have no database.
    pub(crate) async fn stage(&self, events: &[NewEvent]) -> Result<Vec<Staged>> {
        match self {
            Self::Sqlite(store) => {
                let mut transaction = store.begin().await?;
                let staged = store.stage(&mut transaction, events, StageOrder::LockAggregate).await?;
                transaction.commit().await?;
                Ok(staged)
            }
            Self::Postgres(store) => {
                let mut transaction = store.begin().await?;
                let staged = store.stage(&mut transaction, events, StageOrder::LockAggregate).await?;
                transaction.commit().await?;
                Ok(staged)
            }
        }
    }
}

impl Store for Database {
    handed_on! {
        name() -> &'static str;
        keyring() -> Arc<Keyring>;
        lock_installation(installation: &str) -> Result<InstallationLock>;
        remember() -> BoxFuture<'_, Result<()>>;
        probe() -> BoxFuture<'_, Result<()>>;
        finish() -> BoxFuture<'_, Result<()>>;
    }
}
