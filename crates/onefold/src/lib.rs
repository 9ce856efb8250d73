//! Side effects that take hold **once**, whatever fails.
//!
//! Requests, jobs and messages arrive at least once, workers crash between acting and recording, answers get lost.
//! Declare what sort of effect an operation has, perform it through the ledger, and match on what is known.
//!
//! # Open a ledger
//!
//! In a file, or in your PostgreSQL database. Your own tables may be beside it.
//!
//! ```
//! use onefold::Ledger;
//!
//! # #[tokio::main]
//! # async fn main() -> onefold::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # std::env::set_current_dir(&folder).unwrap();
//! let ledger = Ledger::sqlite("onefold.db").await?; // or Ledger::postgres(pool), Ledger::builder(store)
//! # Ok(())
//! # }
//! ```
//!
//! A service that restarts gives itself a name, under which its next life settles what it held, and a journal for
//! outcomes that the database does not take: `Ledger::sqlite("onefold.db").installation("notices").journal("onefold.journal").await?`.
//!
//! # Perform an outside effect
//!
//! The class comes first and offers only the [policies](policy) it allows. The closure gets the attempt, with the key
//! to send, and what it returns says what is known. The answer is an enum; match every arm.
//!
//! ```
//! use std::time::Duration;
//! use onefold::call::CallFailure;
//! use onefold::policy::{Ask, ProviderAnswer};
//! use onefold::{Kind, Ledger, Performed, template};
//!
//! #[derive(serde::Serialize, Clone)]
//! struct Issue { case_id: String, notice_type: String }
//!
//! # async fn find_notice(_key: &str) -> ProviderAnswer { ProviderAnswer::cannot_tell() }
//! # async fn issue(_: &Issue, _key: &str) -> Result<String, CallFailure> { Ok("NTC-991".into()) }
//! # #[tokio::main]
//! # async fn main() -> onefold::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
//! let notices = ledger.kind(
//!     Kind::external_command("notice.issue-formal")
//!         .on_unknown(Ask::with(|asked| async move { find_notice(asked.key()).await }).settle(Duration::from_mins(15)))
//!         .deadline(Duration::from_secs(10))
//!         .depends_on("notice-service"),
//! )?;
//!
//! let command = Issue { case_id: "CASE-2026-000091".into(), notice_type: "BREACH".into() };
//! let sent = command.clone();
//! let answer = notices
//!     .operation(template!("{case_id}:ISSUE_FORMAL_NOTICE:{notice_type}", command)?)
//!     .business_key(command.case_id.as_str())
//!     .perform(&command, move |attempt| async move { issue(&sent, attempt.provider_key()).await })
//!     .await?;
//!
//! match answer {
//!     Performed::Completed { result, replayed } => println!("{result} (replayed: {replayed})"),
//!     Performed::Rejected(rejection) => println!("the provider said no: {:?}", rejection.code),
//!     Performed::Waiting { until, .. } => println!("not before {until}"),
//!     Performed::InFlight { retry_after } => println!("someone is at it, ask again in {retry_after:?}"),
//!     Performed::Conflict => println!("this id was used for another request"),
//!     Performed::Unknown { incident, .. } => println!("do not act; see {incident:?}"),
//! }
//! # ledger.shutdown(onefold::settings::Shutdown::Now).await;
//! # Ok(())
//! # }
//! ```
//!
//! # Once in your own transaction
//!
//! `once_in` checks, executes and records in one commit: yours, or it does not compile.
//!
//! ```
//! use onefold::{Kind, Ledger, Once};
//!
//! #[derive(serde::Serialize)]
//! struct Order { number: u64 }
//!
//! /// Your statements, on your connection.
//! async fn create_order(_tx: &mut sqlx::SqliteConnection, order: &Order) -> onefold::Result<u64> {
//!     Ok(order.number)
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> onefold::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
//! let orders = ledger.kind(Kind::local("order.place"))?;
//! let order = Order { number: 17 };
//!
//! let mut tx = ledger.store().begin().await?;
//! let placed = orders.operation("ORDER-17").once_in(&mut tx, &order, async |tx| create_order(tx, &order).await).await?;
//! match placed {
//!     Once::Performed(confirmation) | Once::Replayed(confirmation) => assert_eq!(confirmation, 17),
//!     Once::InFlight { .. } | Once::Conflict => panic!("nobody else has this id"),
//! }
//! tx.commit().await?;
//! # ledger.shutdown(onefold::settings::Shutdown::Now).await;
//! # Ok(())
//! # }
//! ```
//!
//! # What a person decides
//!
//! Where it is unknown whether an effect took hold, an incident asks a person, who finds out and says so.
//!
//! ```
//! use onefold::incident::TookHold;
//! # use onefold::{Kind, Ledger, call::CallFailure, retry::Category};
//!
//! # #[tokio::main]
//! # async fn main() -> onefold::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
//! # let kind = ledger.kind(Kind::external_command("pay"))?;
//! # let lost = |_| async { Err::<String, _>(CallFailure::unknown(Category::DownstreamTimeout)) };
//! # kind.operation("P-1").perform(&(), lost).await?;
//! for incident in ledger.incidents().open().await? {
//!     println!("{}: {}", incident.id, incident.message);
//!     ledger.incidents().resolve(incident.id, TookHold::evidence("TX-7")).because("the bank shows it").await?;
//! }
//! # assert!(ledger.incidents().open().await?.is_empty());
//! # ledger.shutdown(onefold::settings::Shutdown::Now).await;
//! # Ok(())
//! # }
//! ```
//!
//! # Further on
//!
//! - [`http`](https://docs.rs/onefold): `Idempotency-Key` as a layer for axum and tower (feature `http`, `grpc` for tonic).
//! - [`error`]: errors that are declared once with [`codes!`] and projected everywhere; [`use_case`]: enums of answers.
//! - [`outbox`]: events in your own transaction, published in order after its commit.
//! - [`dependency`]: breaker, bulkhead and rate for what you call. [`retry`]: when to try again, by category.
//! - [`claim`]: leases for callers that act by themselves. [`store`]: transactions, and stores with their options.
//! - `examples/` has one small program for each of these.
//!
//! | feature | what it adds |
//! |---|---|
//! | `sqlite` (default) | the embedded store |
//! | `postgres` | the store for many machines |
//! | `http`, `grpc` | the layer, and errors over HTTP and gRPC |
//! | `kafka` | Kafka as the target of a relay |
//! | `rdkafka` | the same through librdkafka, for a relay whose settings say so; needs `make` and OpenSSL's headers |
//! | `rabbitmq` | RabbitMQ as the target of a relay |
//! | `nats` | NATS JetStream as the target of a relay |
//! | `webhook` | a webhook as the target of a relay |
//! | `testing` | a clock that a test moves, chance from a seed, a provider that counts |

pub use onefold_core::{Error, Result, codes, template, throw};
pub use onefold_derive::Project;
pub use onefold_runtime::{Kind, Ledger, Once, Operation, Performed};

/// `Idempotency-Key` as a layer, and errors over HTTP, for one's own axum or tower service.
#[cfg(feature = "http")]
pub use onefold_http as http;

/// Time that a test moves, chance that it can repeat, and a provider that counts what really happened.
#[cfg(feature = "testing")]
pub use onefold_testing as testing;

pub use onefold_core::error;
pub use onefold_core::use_case;

/// Database failures by SQLSTATE or result code and constraint name, and changes that are based on what was read.
pub mod persistence {
    pub use onefold_core::persistence::{ConcurrencyConflict, Constraints, Current, Fault, Transitioned};
    pub use onefold_runtime::{Commutative, CompareAndSet, retry_on_conflict, transition};
}

/// What sort of effect an operation has, from the most harmless to the least reversible.
pub mod class {
    pub use onefold_core::effect::{
        Class, Converging, EffectClass, ExternalCommand, FinancialOrLegal, HumanNotification, Local, MessagePublish,
        Pure,
    };
    pub use onefold_runtime::{PerformableClass, WithEvidence};
}

/// What may happen when it is unknown whether an effect took hold. The class decides which of these compile.
///
/// | class | policies, the default first |
/// |---|---|
/// | pure | [`Rerun`](policy::Rerun) |
/// | converging | [`Rerun`](policy::Rerun), [`SameKey`](policy::SameKey), [`Ask`](policy::Ask), [`Escalate`](policy::Escalate) |
/// | local | [`InTransaction`](policy::InTransaction) |
/// | external command | [`Escalate`](policy::Escalate), [`SameKey`](policy::SameKey), [`Ask`](policy::Ask), [`Void`](policy::Void) |
/// | message publish | [`SameKey`](policy::SameKey), which is always given |
/// | human notification | [`Escalate`](policy::Escalate), [`SameKey`](policy::SameKey), [`Ask`](policy::Ask), [`AcceptDuplicate`](policy::AcceptDuplicate) |
/// | financial or legal | [`Escalate`](policy::Escalate), [`SameKey`](policy::SameKey), [`Void`](policy::Void) |
pub mod policy {
    pub use onefold_core::effect::{AcceptDuplicate, Escalate, InTransaction, OnUnknown, Policy, Rerun, SameKey};
    pub use onefold_runtime::{Ask, PendingQuestion, ProviderAnswer, Void};
}

/// Declared kinds: what their declaration fixes, what of a request is compared, how long results are kept.
pub mod kind {
    pub use onefold_core::effect::{KindSpec, Retention};
    pub use onefold_core::fingerprint::Mode as FingerprintMode;
    pub use onefold_core::operation::KindName;
    pub use onefold_runtime::KindHandle;
}

/// Operations by name: ids from business values, tenants, where an operation comes from.
pub mod operation {
    pub use onefold_core::ledger::{Origin, Source};
    pub use onefold_core::operation::{IntoOperationId, OperationId, OperationKey, Template, Tenant};
}

/// Leases for callers that act by themselves and report back.
pub mod claim {
    pub use onefold_core::ledger::{
        AttemptId, Claim, Completion, Entry, Failure, Lease, Outcome, SideEffect, Status, StoredResult,
    };
    pub use onefold_runtime::{ClaimResult, LeaseHandle, RecordedStatus, RemoteClaim};
}

/// One attempt at an outside effect, and what a failed call means.
pub mod call {
    pub use onefold_core::call::{
        CallMeaning, CallOutcome, GrpcStatus, KeySent, Promise, Promises, Sent, judge, judge_keyed, of_io, retry_after,
    };
    pub use onefold_runtime::{Attempt, CallFailure, Rejection, SendGuard, TooLate};
}

/// The outbox: events in your own transaction, published in order after its commit.
///
/// ```
/// use onefold::Ledger;
/// use onefold::outbox::{Event, EventContract};
///
/// #[derive(serde::Serialize)]
/// #[serde(rename_all = "camelCase")]
/// struct CaseSubmitted {
///     case_id: String,
/// }
///
/// impl Event for CaseSubmitted {
///     const CONTRACT: EventContract = EventContract::new("case.submitted", 1)
///         .aggregate("case")
///         .owner("case team")
///         .ordering_key("/caseId")
///         .schema(r#"{ "type": "object", "required": ["caseId"], "properties": { "caseId": { "type": "string" } } }"#);
///
///     fn aggregate_id(&self) -> &str {
///         &self.case_id
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> onefold::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await?;
/// let outbox = ledger.outbox();
/// let mut tx = ledger.store().begin().await?;
/// // Your own statements come here, on the same transaction.
/// outbox.stage(&mut tx, &CaseSubmitted { case_id: "CASE-7".to_owned() }).await?;
/// let committed = tx.commit().await?;
/// outbox.wake(&committed);
/// # ledger.shutdown(onefold::settings::Shutdown::Now).await;
/// # Ok(())
/// # }
/// ```
pub mod outbox {
    pub use onefold_core::event::{
        Aggregate, AggregateType, Compatibility, CompiledContract, EventContract, EventContracts, EventId, EventLimits,
        EventType, HeaderName, NewEvent, ReplayId, StoredEvent, attributes,
    };
    pub use onefold_core::outbox::{
        AsideEvent, AsideStatus, AsideVerb, Begin, DestinationTemplate, EventPattern, EventPatterns, EventReplay,
        OwnColumns, OwnTable, RelayName, RelayRetry, RelaySpec, ReplayFilter, ReplayRefusal, ReplayRequest, ReplaySpec,
        ReplayState, ReplayedPage,
    };
    pub use onefold_core::port::{
        AsideDecision, AsideFilter, BoxFuture, CheckedTable, Delivery, EventSender, OutboxOperate, OutgoingEvent,
        OwnTableStore, PayloadColumn, Publication, Publisher, RefusedRetry, RelayState, RelayStore, RelayVerb,
        ReplayCancel, ReplayListFilter, ReplayOperate, ReplayPage, ReplayStore, RowCounts, StageOrder, Staged,
        StagedBy, Staging, TakenRow, TakenRows,
    };
    #[cfg(feature = "webhook")]
    pub use onefold_http::client::{AddressRule, Connect, Network, Webhook, WebhookSecret};
    #[cfg(feature = "kafka")]
    pub use onefold_kafka::{
        Kafka, KafkaClient, KafkaClientCertificate, KafkaPublisher, KafkaSasl, KafkaSettings, KafkaTls, SaslMechanism,
    };
    #[cfg(feature = "nats")]
    pub use onefold_nats::{Nats, NatsClientCertificate, NatsLogin, NatsPublisher, NatsSettings, NatsTls};
    #[cfg(feature = "rabbitmq")]
    pub use onefold_rabbitmq::{
        RabbitMq, RabbitMqClientCertificate, RabbitMqLogin, RabbitMqPublisher, RabbitMqSettings, RabbitMqTls,
    };
    pub use onefold_runtime::{Event, OperationEvents, Outbox, PublicationWait, Relay, RunningRelay};
}

/// What a person sees of an operation that needs one, and what they decide.
pub mod incident {
    pub use onefold_core::incident::{Cause, Group, GroupKey, Incident, IncidentId, Needs};
    pub use onefold_core::ledger::{Resolution, Resolved};
    pub use onefold_core::port::{IncidentFilter, Listed, Page};
    pub use onefold_runtime::{DidNotHappen, Failed, Incidents, Settlement, TookHold};
}

/// Limits for what is called outside: breaker, bulkhead, rate.
pub mod dependency {
    pub use onefold_runtime::{Breaker, Dependency, DependencyDeclaration, LimitReached, Permit, Rate, Refused};
}

/// When to try again, by what failed.
pub mod retry {
    pub use onefold_core::retry::{Category, Schedule};
}

/// How a ledger runs, starts and stops.
pub mod settings {
    pub use onefold_core::Timestamp;
    pub use onefold_core::port::{Clock, Random};
    pub use onefold_runtime::{
        FileArchive, FileJournal, Journal, LedgerBuilder, Settings, Shutdown, StartupReport, SystemClock, SystemRandom,
    };
}

/// The stores: their options, transactions, reads, and what a failure of theirs means.
pub mod store {
    pub use onefold_core::port::{Committed, FaultPoint, Faults, Filter, LedgerRead, NoFaults, Store, Transact};
    #[cfg(feature = "postgres")]
    pub use onefold_postgres::{Postgres, PostgresOptions, PostgresTx, fault as postgres_fault};
    #[cfg(feature = "sqlite")]
    pub use onefold_sqlite::{Sqlite, SqliteOptions, SqliteTx, fault as sqlite_fault};

    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    use onefold_runtime::{SystemClock, SystemRandom};
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    use std::sync::Arc;

    /// The embedded store's defaults, on the system's clock.
    #[cfg(feature = "sqlite")]
    pub fn sqlite_options() -> SqliteOptions {
        SqliteOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()))
    }

    /// The PostgreSQL store's defaults, on the system's clock.
    #[cfg(feature = "postgres")]
    pub fn postgres_options() -> PostgresOptions {
        PostgresOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()))
    }
}
