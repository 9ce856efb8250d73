//! The ledger as the API and the commands use it: opened from configuration, kinds declared and pinned.

use std::fs::File;
use std::sync::{Arc, PoisonError, RwLock};

use onefold_config::{DeclaredKind, KindDeclaration, RetentionDeclaration};
use onefold_core::effect::KindSpec;
use onefold_core::error::KIND_MISMATCH;
use onefold_core::event::EventContracts;
use onefold_core::operation::KindName;
use onefold_core::outbox::{OwnTable, RelaySpec};
use onefold_core::port::{Clock, Faults, NoFaults, Registry as _, StoredDeclaration};
use onefold_core::{Error, Result, Timestamp};
use onefold_runtime::{FileJournal, Journal, Ledger, Settings, SystemClock};

use crate::config::{Address, Config};
use crate::database::{Creation, Database};
use crate::part::PartKinds;
use crate::reconcile_http;

/// The name under which the one server of an SQLite file runs. On PostgreSQL there are many, and none has a name: no
/// connection that ends proves a process dead, so leases expire.
pub(crate) const SERVER: &str = "server";

/// The ledger, and what is known of its kinds.
pub(crate) struct App {
    pub(crate) ledger: Ledger<Database>,
    /// Kinds of the configuration: those win over what a first claim declared.
    configured: Vec<KindName>,
    /// What is promised of events, as the configuration says now.
    contracts: RwLock<EventContracts>,
    /// The relays on tables of teams' own, as the configuration says now: no store knows them.
    table_relays: RwLock<Vec<(RelaySpec, OwnTable)>>,
    /// The files of this server, while it lives.
    _files: Option<File>,
}

/// Who opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opener {
    /// A server: the one of an SQLite file, one of many on PostgreSQL.
    Server,
    /// A command; many share a database.
    Command,
}

impl App {
    /// Opens the database and declares every kind that is configured or pinned.
    pub(crate) async fn open(config: &Config, opener: Opener, creation: Creation) -> Result<Self> {
        Self::open_with(config, opener, creation, Arc::new(NoFaults)).await
    }

    /// The same with places where a test stops the process.
    pub(crate) async fn open_with(
        config: &Config,
        opener: Opener,
        creation: Creation,
        faults: Arc<dyn Faults>,
    ) -> Result<Self> {
        let made = opener == Opener::Server && config.files.make_folder()?;
        let store = Database::open(config, creation, Arc::clone(&faults)).await;
        if made && store.is_err() {
            config.files.remove_folder();
        }
        let store = store?;
        let (files, journal, installation) = match opener {
            Opener::Command => (None, None, None),
            Opener::Server => {
                let name = match config.database {
                    Address::Sqlite(_) => Some(SERVER.to_owned()),
                    Address::Postgres(_) => None,
                };
                (config.files.hold()?, Some(FileJournal::new(config.files.journal.clone())), name)
            }
        };
        let settings = Settings {
            installation,
            journal: journal.map(|journal| Arc::new(journal) as Arc<dyn Journal>),
            archive: config.archive.clone(),
            sweep_every: config.sweep_every,
            announce_every: config.sweep_every.min(crate::api_server::ANNOUNCE_EVERY),
            prune_every: config.prune_every,
            faults,
            ..Settings::default()
        };
        let app = Self {
            ledger: Ledger::open(store, settings)?,
            configured: config.kinds.iter().map(|kind| kind.terms.kind.clone()).collect(),
            contracts: RwLock::new(config.contracts.clone()),
            table_relays: RwLock::new(relays_on_tables(config)),
            _files: files,
        };
        app.ledger.redeclare_dependencies(&config.dependencies)?;
        for (terms, reconciler) in Self::configured_kinds(config)? {
            app.ledger.declare(Arc::unwrap_or_clone(terms), reconciler)?;
        }
        app.declare_pinned().await?;
        Ok(app)
    }

    /// The kinds of a configuration, each with how its provider is asked.
    pub(crate) fn configured_kinds(config: &Config) -> Result<PartKinds> {
        let kind = |kind: &DeclaredKind| {
            let reconciler = reconcile_http::of(kind.question.as_ref(), &kind.terms, None)?;
            Ok((Arc::new(kind.terms.clone()), reconciler))
        };
        config.kinds.iter().map(kind).collect()
    }

    /// Puts kinds, dependencies, contracts of events and relays on tables in force as a configuration declares them now, all or none. A kind that it no longer
    /// declares keeps its terms until the next start.
    pub(crate) fn redeclare(&self, kinds: PartKinds, config: &Config) -> Result<()> {
        // Whatever is wrong with a dependency was found when the configuration was read.
        self.ledger.redeclare(kinds)?;
        self.ledger.redeclare_dependencies(&config.dependencies)?;
        *self.contracts.write().unwrap_or_else(PoisonError::into_inner) = config.contracts.clone();
        *self.table_relays.write().unwrap_or_else(PoisonError::into_inner) = relays_on_tables(config);
        Ok(())
    }

    /// What is promised of events.
    pub(crate) fn contracts(&self) -> EventContracts {
        self.contracts.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The relays on tables of teams' own.
    pub(crate) fn table_relays(&self) -> Vec<(RelaySpec, OwnTable)> {
        self.table_relays.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn declare_pinned(&self) -> Result<()> {
        for pinned in self.ledger.store().declarations().await? {
            if self.configured.contains(&pinned.kind) {
                continue;
            }
            self.declare_stored(&pinned)?;
        }
        Ok(())
    }

    /// The terms of a kind; an unknown one is declared and pinned, if the claim brings a declaration.
    pub(crate) async fn kind(&self, kind: &KindName, declaration: Option<&KindDeclaration>) -> Result<Arc<KindSpec>> {
        let known = match self.ledger.terms(kind) {
            Ok(known) => Some(known),
            // Another process on this database may have pinned it since.
            Err(_) => self.find_pinned(kind).await?,
        };
        match (known, declaration) {
            (Some(known), None) => Ok(known),
            (Some(known), Some(declaration)) => agreed(known, declaration),
            (None, None) => self.ledger.terms(kind),
            (None, Some(declaration)) => self.declare_if_absent(kind, declaration).await,
        }
    }

    async fn find_pinned(&self, kind: &KindName) -> Result<Option<Arc<KindSpec>>> {
        let pinned = self.ledger.store().declarations().await?.into_iter().find(|pinned| pinned.kind == *kind);
        pinned.map(|pinned| self.declare_stored(&pinned)).transpose()
    }

    fn declare_stored(&self, pinned: &StoredDeclaration) -> Result<Arc<KindSpec>> {
        let declared = KindDeclaration::stored(&pinned.declaration)?.check(pinned.kind.as_str())?;
        self.ledger.declare(declared.terms, None)
    }

    async fn declare_if_absent(&self, kind: &KindName, declaration: &KindDeclaration) -> Result<Arc<KindSpec>> {
        // Checked, and counted against the limit of kinds, before it is written for ever.
        let wanted = declaration.check(kind.as_str())?.terms;
        self.ledger.may_declare(kind)?;
        let pinned =
            StoredDeclaration { kind: kind.clone(), declaration: declaration.to_text().into(), at: SystemClock.now() };
        let standing = self.ledger.store().declare_if_absent(pinned).await?;
        let known = self.declare_stored(&standing)?;
        if *known == wanted { Ok(known) } else { agreed(known, declaration) }
    }
}

/// The time.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// The declared terms, unless a claim declares something else.
fn agreed(known: Arc<KindSpec>, declaration: &KindDeclaration) -> Result<Arc<KindSpec>> {
    let said = declaration.check(known.kind.as_str())?.terms;
    let differs = if !said.contract.permits_the_same(&known.contract) {
        Some(format!("{} with {}", known.contract.class(), known.contract.policy()))
    } else if declaration.deadline.is_some() && said.deadline_for != known.deadline_for {
        Some(format!("a deadline of {}", onefold_core::time::format_duration(known.deadline_for)))
    } else if declaration.lease.is_some() && said.lease_for != known.lease_for {
        Some(format!("a lease of {}", onefold_core::time::format_duration(known.lease_for)))
    } else if declaration.fingerprint.is_some() && said.fingerprint != known.fingerprint {
        Some(format!("comparing {}", known.fingerprint))
    } else if declaration.retention != RetentionDeclaration::default() && said.retention != known.retention {
        Some("another retention".to_owned())
    } else {
        None
    };
    match differs {
        None => Ok(known),
        Some(stands) => Err(Error::new(KIND_MISMATCH, format!("kind {} is declared as {stands}", known.kind))
            .hint("leave `declare` out, declare the same, or use another kind name for another sort of effect")),
    }
}

fn relays_on_tables(config: &Config) -> Vec<(RelaySpec, OwnTable)> {
    config.relays.iter().filter_map(|relay| Some((relay.spec.clone(), relay.table.clone()?))).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onefold_core::effect::EffectClass;

    use super::*;

    #[test]
    fn a_claim_that_declares_another_lease_is_told_which_one_stands() {
        let declared = |seconds: Option<u64>| KindDeclaration {
            lease: seconds.map(Duration::from_secs),
            ..KindDeclaration::of(EffectClass::Converging)
        };
        let stands = Arc::new(declared(Some(1)).check("k").unwrap().terms);
        let error = agreed(Arc::clone(&stands), &declared(Some(2))).unwrap_err();
        assert_eq!((error.code(), error.detail()), (KIND_MISMATCH, "kind k is declared as a lease of 1s"));
        assert!(agreed(Arc::clone(&stands), &declared(Some(1))).is_ok());
        assert!(agreed(stands, &declared(None)).is_ok(), "what is left out is not compared");
    }
}
