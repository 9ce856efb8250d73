//! What the runtime asks of a store, a clock and chance. Adapters implement these; rules never see them.
//!
//! A ledger's store has five sides: [`LedgerWrite`] moves operations, [`LedgerMaintenance`] does what time asks for,
//! [`LedgerRead`] reads, [`AnnouncementQueue`] keeps who was told of which incident; [`IncidentWrite`] writes incidents
//! that are not about an operation. [`Registry`] is beside it: what servers share. The outbox has six:
//! [`Staging`], [`RelayStore`], [`OutboxOperate`], and for what is sent again [`ReplayStore`] and [`ReplayOperate`], for a table of one's own [`OwnTableStore`]; its
//! targets are a [`Publisher`] or an [`EventSender`]. Ports speak of transitions, never of statements.

mod address;
mod announcement;
mod clock;
mod fault;
mod incident;
mod ledger;
mod listing;
mod maintenance;
mod outbox;
mod own_table;
mod publisher;
mod registry;
mod replay;
mod store;
mod transaction;

pub use address::{Opener, PostgresAddress, SqliteAddress};
pub use announcement::{Announcement, AnnouncementQueue, IncidentEvent, Sink};
pub use clock::{Clock, Random};
pub use fault::{CommitPoint, FaultPoint, Faults, NoFaults};
pub use incident::{IncidentWrite, SubjectChange};
pub use ledger::{LedgerMaintenance, LedgerRead, LedgerWrite, Step, StepAnswer};
pub use listing::{Counts, Filter, IncidentFilter, Listed, Page};
pub use maintenance::{Archive, DueQuestions, PruneRequest, Pruned, SweepRequest, SweepScope, Swept};
pub use outbox::{
    AsideDecision, AsideFilter, AsideWithEvent, EventWithAsides, HeldLanes, LanePoll, LaneRequest, OutboxOperate, Poll,
    PollSize, RecentPublications, RelayState, RelayStore, RelayVerb, StageOrder, Staged, StagedBy, Staging,
};
pub use own_table::{CheckedTable, OwnTableStore, PayloadColumn, RowCounts, TakenRow, TakenRows};
pub use publisher::{Delivery, EventSender, OutgoingEvent, Publication, Publisher, RefusedRetry};
pub use registry::{ApiToken, Registry, StoredDeclaration};
pub use replay::{ReplayCancel, ReplayListFilter, ReplayOperate, ReplayPage, ReplayStore};
pub use store::{Contents, InstallationLock, Store};
pub use transaction::{Committed, OnceEntry, Transact};

use std::future::Future;
use std::pin::Pin;

/// A future that a port returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
