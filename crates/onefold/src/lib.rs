//! Side effects that take hold **once**, whatever fails.
//!
//! Requests, jobs and messages arrive at least once, workers crash between acting and recording,
//! answers get lost. Declare what sort of effect an operation has, perform it through the ledger,
//! and match on what is known:
//!
//! ```
//! use onefold::{Answer, Ask, CallFailure, Kind, Ledger, Performed, Settings, Sqlite, template};
//! use std::time::Duration;
//!
//! #[derive(serde::Serialize, Clone)]
//! struct Issue { case_id: String, notice_type: String }
//!
//! # async fn find_notice(_key: &str) -> Answer { Answer::cannot_tell() }
//! # async fn issue(_: &Issue, _key: &str) -> Result<String, CallFailure> { Ok("NTC-991".into()) }
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("onefold.db");
//! let ledger = Ledger::open(Sqlite::open(path, onefold::sqlite_options()).await?, Settings::default())?;
//! let notices = ledger.kind(
//!     Kind::external_command("notice.issue-formal")
//!         .on_unknown(Ask::with(|asked| async move { find_notice(asked.key()).await }).settle(Duration::from_mins(15)))
//!         .deadline(Duration::from_secs(10))
//!         .depends_on("notice-service"),
//! )?;
//!
//! let command = Issue { case_id: "CASE-2026-000091".into(), notice_type: "BREACH".into() };
//! let id = template!("{case_id}:ISSUE_FORMAL_NOTICE:{notice_type}", command)?;
//! let sent = command.clone();
//! let answer = notices
//!     .operation(id)
//!     .business_key(command.case_id.as_str())
//!     .perform(&command, move |attempt| async move { issue(&sent, attempt.key()).await })
//!     .await?;
//!
//! match answer {
//!     Performed::Completed { result, replayed } => println!("{result} (replayed: {replayed})"),
//!     Performed::Rejected(rejection) => println!("the provider said no: {:?}", rejection.code),
//!     Performed::Waiting { until } => println!("not before {until}"),
//!     Performed::InFlight { retry_after } => println!("someone is at it, ask again in {retry_after:?}"),
//!     Performed::Conflict => println!("this id was used for another request"),
//!     Performed::Unknown { incident, .. } => println!("do not act; see {incident:?}"),
//! }
//! # ledger.shutdown(onefold::Shutdown::Now).await;
//! # Ok(())
//! # }
//! ```
//!
//! Inside your own transaction, `once_in` checks, executes and records in one commit:
//!
//! ```
//! use onefold::{Kind, Ledger, Once, OperationId, Settings, Sqlite};
//!
//! #[derive(serde::Serialize)]
//! struct Order { number: u64 }
//!
//! impl Order {
//!     fn id(&self) -> OperationId {
//!         OperationId::parse(&format!("ORDER-{}", self.number)).expect("a number makes a valid id")
//!     }
//! }
//!
//! /// Your statements, on your connection.
//! async fn create_order(_tx: &mut sqlx::SqliteConnection, order: &Order) -> Result<u64, onefold::Error> {
//!     Ok(order.number)
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("onefold.db");
//! let store = Sqlite::open(path, onefold::sqlite_options()).await?;
//! let ledger = Ledger::open(store.clone(), Settings::default())?;
//! let orders = ledger.kind(Kind::local("order.place"))?;
//! let order = Order { number: 17 };
//!
//! let mut tx = store.begin().await?;
//! match orders.operation(order.id()).once_in(&mut tx, &order, async |tx| create_order(tx, &order).await).await? {
//!     Once::Performed(confirmation) | Once::Replayed(confirmation) => assert_eq!(confirmation, 17),
//!     Once::InFlight { .. } | Once::Conflict => panic!("nobody else has this id"),
//! }
//! tx.commit().await?;
//! # ledger.shutdown(onefold::Shutdown::Now).await;
//! # Ok(())
//! # }
//! ```

pub use onefold_core::effect::{AcceptDuplicate, Escalate, InTransaction, Outbox, Rerun, Retention, SameKey};
pub use onefold_core::operation::{KindName, OperationId, OperationKey, Template, Tenant};
pub use onefold_core::ports::Committed;
pub use onefold_core::retry::{Category, Schedule};
pub use onefold_core::{Error, Result, Timestamp, codes, template};
#[cfg(feature = "postgres")]
pub use onefold_postgres::{Options as PostgresOptions, Postgres, fault as postgres_fault};
pub use onefold_runtime::{
    Answer, Ask, Asked, Attempt, Breaker, CallFailure, Claimed, Dependency, Evidenced, FileArchive, FileJournal,
    HeldLease, Kind, KindHandle, Ledger, Limits, Once, Operation, Performed, Rate, Rejection, Settings, Shutdown,
    Started, SystemClock, SystemRandom, TooLate, Void,
};
#[cfg(feature = "sqlite")]
pub use onefold_sqlite::{Options as SqliteOptions, Sqlite, fault as sqlite_fault};

/// `Idempotency-Key` as a layer, and errors over HTTP, for one's own axum or tower service.
#[cfg(feature = "http")]
pub use onefold_http as http;

pub use onefold_core::call;
pub use onefold_core::error;
pub use onefold_core::outcome;
pub use onefold_core::persistence;
pub use onefold_core::throw;
pub use onefold_derive::Project;

/// The rules, for whoever wants to look behind the handles.
pub use onefold_core as core;

/// The embedded store's defaults, on the system's clock.
#[cfg(feature = "sqlite")]
pub fn sqlite_options() -> SqliteOptions {
    SqliteOptions::new(std::sync::Arc::new(SystemClock), std::sync::Arc::new(SystemRandom::default()))
}

/// The PostgreSQL store's defaults, on the system's clock.
#[cfg(feature = "postgres")]
pub fn postgres_options() -> PostgresOptions {
    PostgresOptions::new(std::sync::Arc::new(SystemClock), std::sync::Arc::new(SystemRandom::default()))
}
