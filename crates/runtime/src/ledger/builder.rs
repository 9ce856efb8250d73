//! Opening a ledger: on which database, and how it runs.

use std::path::PathBuf;
use std::sync::Arc;

use onefold_core::Result;
use onefold_core::operation::Tenant;
use onefold_core::port::{BoxFuture, Clock, Opener, PostgresAddress, Random, SqliteAddress, Store};

use crate::ledger::handle::Ledger;
use crate::ledger::journal::FileJournal;
use crate::settings::Settings;

/// How a ledger is opened. Awaiting it opens the ledger, inside a tokio runtime.
#[must_use = "awaiting it opens the ledger"]
pub struct LedgerBuilder<S> {
    opener: Opener<S>,
    settings: Settings,
}

impl<S: Store> Ledger<S> {
    /// A ledger in a SQLite file, which is created and migrated as needed: `Ledger::sqlite("onefold.db").await?`.
    ///
    /// Takes a path, or a `SqlitePool` on a file: the ledger's connections are its own, with the pool's options.
    pub fn sqlite(at: impl SqliteAddress<S>) -> LedgerBuilder<S> {
        LedgerBuilder { opener: at.opener(), settings: Settings::default() }
    }

    /// A ledger in a PostgreSQL database, which is migrated as needed: `Ledger::postgres(pool).await?`.
    ///
    /// Takes your `PgPool`, or a URL. Your transactions run on your pool; the ledger opens connections of its own with
    /// the pool's options, because it must know whose its sessions are.
    pub fn postgres(at: impl PostgresAddress<S>) -> LedgerBuilder<S> {
        LedgerBuilder { opener: at.opener(), settings: Settings::default() }
    }

    /// A ledger on a store that is already open, for a store with options of its own.
    pub fn builder(store: S) -> LedgerBuilder<S> {
        let opener: Opener<S> = Box::new(|_, _| Box::pin(std::future::ready(Ok(store))));
        LedgerBuilder { opener, settings: Settings::default() }
    }
}

impl<S: Store> LedgerBuilder<S> {
    /// The name under which this process' own leases are settled by its next life; see [`Settings::installation`].
    pub fn installation(mut self, name: impl Into<String>) -> Self {
        self.settings.installation = Some(name.into());
        self
    }

    /// The file in which outcomes wait that could not be recorded; without it they wait in memory only.
    pub fn journal(mut self, file: impl Into<PathBuf>) -> Self {
        self.settings.journal = Some(Arc::new(FileJournal::new(file.into())));
        self
    }

    /// The folder to which pruned operations are written first.
    pub fn archive(mut self, folder: impl Into<PathBuf>) -> Self {
        self.settings.archive = Some(folder.into());
        self
    }

    /// For whom operations are, unless a call says otherwise.
    pub fn tenant(mut self, tenant: Tenant) -> Self {
        self.settings.tenant = tenant;
        self
    }

    /// Time, for the ledger and for a store that is opened with it.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.settings.clock = clock;
        self
    }

    /// Chance, for the ledger and for a store that is opened with it.
    pub fn random(mut self, random: Arc<dyn Random>) -> Self {
        self.settings.random = random;
        self
    }

    /// Changes any other setting: `.settings(|settings| settings.batch_max = 32)`.
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }
}

impl<S: Store> IntoFuture for LedgerBuilder<S> {
    type Output = Result<Ledger<S>>;
    type IntoFuture = BoxFuture<'static, Result<Ledger<S>>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { opener, settings } = self;
        let store = opener(Arc::clone(&settings.clock), Arc::clone(&settings.random));
        Box::pin(async move { Ledger::open(store.await?, settings) })
    }
}
