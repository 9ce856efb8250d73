//! Who serves a relay, and where it is.

use onefold_core::error::{
    DATABASE_RESTORED, DECLARATION_INVALID, PROGRAMMING_INVARIANT_VIOLATED, RELAY_NOT_FOUND, SEQUENCE_CACHED,
    STANDBY_REFUSED,
};
use onefold_core::event::Aggregate;
use onefold_core::outbox::{Begin, EventPatterns, LaneCursor, RelayName, RelaySpec, Snapshot};
use onefold_core::port::{HeldLanes, LaneRequest};
use onefold_core::{Error, Result, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use super::{LANES, row};
use crate::Postgres;
use crate::error::translate;
use crate::ledger::maintenance::count;
use crate::ledger::row::{get, only, query};
use crate::ledger::transition::run;

/// What a relay must know of its server.
pub(super) struct ServerState {
    system_id: String,
    seen: Snapshot,
    pub(super) now: Timestamp,
}

/// What is stored of a relay.
pub(super) struct StoredRelay {
    pub(super) events: EventPatterns,
    system_id: String,
    pub(super) retired: bool,
}

impl Postgres {
    pub(super) async fn declare_relays(&self, relays: &[RelaySpec], by: &str) -> Result<()> {
        relays.iter().try_for_each(RelaySpec::check)?;
        let mut transaction = self.inner.connected.begin().await?;
        let server = self.server_state(&mut transaction).await?;
        run(&mut transaction, query(&self.inner.sql.lock_relays)).await?;
        for spec in relays {
            self.declare_one(&mut transaction, spec, by, &server).await?;
        }
        let counted = query(&self.inner.sql.count_relays).fetch_one(&mut *transaction).await.map_err(translate)?;
        let counted: i64 = only(&counted)?;
        if counted > count(RelaySpec::RELAYS_MAX) {
            let detail = format!("there would be {counted} relays, and {} are allowed", RelaySpec::RELAYS_MAX);
            return Err(Error::new(DECLARATION_INVALID, detail)
                .hint("retire those that nobody serves: onefold outbox retire RELAY"));
        }
        transaction.commit().await.map_err(translate)
    }

    async fn declare_one(
        &self,
        connection: &mut PgConnection,
        spec: &RelaySpec,
        by: &str,
        server: &ServerState,
    ) -> Result<()> {
        match self.stored_relay(connection, &spec.name).await? {
            None => self.place(connection, &spec.name, spec.begin, server).await?,
            Some(known) if known.system_id != server.system_id => return Err(restored(&spec.name)),
            Some(known) if known.events != spec.events => {
                tracing::info!(relay = %spec.name, from = %known.events, to = %spec.events, "a relay wants other events from here on");
            }
            Some(_) => {}
        }
        let put = query(&self.inner.sql.put_relay)
            .bind(spec.name.to_string())
            .bind(row::json(&spec.events)?)
            .bind(spec.target.clone())
            .bind(server.system_id.clone())
            .bind(by.to_owned())
            .bind(server.now.as_micros());
        run(connection, put).await
    }

    /// What the server is; refused where a relay would lose events or send them in another order.
    pub(super) async fn server_state(&self, connection: &mut PgConnection) -> Result<ServerState> {
        let asked = query(&self.inner.sql.outbox_server).bind(self.inner.clock.given());
        let found = asked.fetch_one(connection).await.map_err(translate)?;
        if get(&found, "in_recovery")? {
            return Err(standby());
        }
        let cache: Option<i64> = get(&found, "sequence_cache")?;
        if cache != Some(1) {
            let detail = format!("the sequence of onefold_events hands out {} numbers at once", cache.unwrap_or(0));
            return Err(Error::new(SEQUENCE_CACHED, detail));
        }
        Ok(ServerState {
            system_id: get(&found, "system_id")?,
            seen: Snapshot::parse(get(&found, "seen")?)?,
            now: Timestamp::from_micros(get(&found, "now")?),
        })
    }

    /// Gives a relay its places, or new ones.
    pub(super) async fn place(
        &self,
        connection: &mut PgConnection,
        relay: &RelayName,
        begin: Begin,
        server: &ServerState,
    ) -> Result<()> {
        let since = match begin {
            Begin::Now => server.seen.clone(),
            Begin::Oldest => Snapshot::new(FIRST_TXID, Vec::new()),
            Begin::At(at) => self.since_time(connection, at, server).await?,
        };
        run(connection, query(&self.inner.sql.put_lanes).bind(relay.to_string()).bind(since.to_string())).await
    }

    /// A snapshot that sees nothing that was staged at this time or later: what it sees is committed and was staged by
    /// transactions before the first that staged then. Those that overlap with it may bring what they staged before.
    async fn since_time(&self, connection: &mut PgConnection, at: Timestamp, server: &ServerState) -> Result<Snapshot> {
        let first = query(&self.inner.sql.txid_from).bind(at.as_micros());
        let Some(first) = first.fetch_optional(connection).await.map_err(translate)? else {
            return Ok(server.seen.clone());
        };
        let first: u64 = only::<&str>(&first)?.parse().map_err(|_| unreadable_txid())?;
        Ok(server.seen.before(first))
    }

    /// A relay belongs to this database from now on, and begins anew.
    pub(super) async fn rebase_relay(
        &self,
        connection: &mut PgConnection,
        relay: &RelayName,
        begin: Begin,
    ) -> Result<()> {
        let server = self.server_state(connection).await?;
        run(connection, query(&self.inner.sql.adopt_events)).await?;
        let rebase = query(&self.inner.sql.rebase_relay).bind(relay.to_string()).bind(server.system_id.clone());
        run(connection, rebase).await?;
        self.place(connection, relay, begin, &server).await
    }

    /// A relay, where it was declared.
    pub(super) async fn stored_relay(
        &self,
        connection: &mut PgConnection,
        relay: &RelayName,
    ) -> Result<Option<StoredRelay>> {
        let find = query(&self.inner.sql.find_relay).bind(relay.to_string());
        let found = find.fetch_optional(connection).await.map_err(translate)?;
        let read = |found: PgRow| -> Result<StoredRelay> {
            Ok(StoredRelay {
                events: row::read_json("events", get(&found, "events")?)?,
                system_id: get(&found, "system_id")?,
                retired: get::<Option<i64>>(&found, "retired_at")?.is_some(),
            })
        };
        found.map(read).transpose()
    }

    pub(super) async fn hold(&self, request: &LaneRequest) -> Result<HeldLanes> {
        let mut transaction = self.inner.connected.begin().await?;
        let known = self.stored_relay(&mut transaction, &request.relay).await?;
        let known = known.filter(|known| !known.retired).ok_or_else(|| not_found(&request.relay))?;
        let now = self.time_on(&mut transaction).await?;
        let lease_until = now.plus(request.lease_for);
        let share = self.take_lanes(&mut transaction, request, now, lease_until).await?;
        let cursors = self.cursors_of(&mut transaction, request).await?;
        let blocked = self.blocked(&mut transaction, &request.relay, &cursors).await?;
        let (parked, waiting) = self.count_asides(&mut transaction, &request.relay).await?;
        transaction.commit().await.map_err(translate)?;
        Ok(HeldLanes {
            surplus: cursors.iter().skip(share).map(|cursor| cursor.lane).collect(),
            cursors,
            lease_until,
            now,
            events: known.events,
            blocked,
            set_aside: usize::try_from(parked + waiting).unwrap_or(usize::MAX),
        })
    }

    /// Gives lanes back, renews the others and takes free ones; how many the process may hold.
    async fn take_lanes(
        &self,
        connection: &mut PgConnection,
        request: &LaneRequest,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<usize> {
        let sql = &self.inner.sql;
        let of_holder = |sql| query(sql).bind(request.relay.to_string()).bind(request.holder.to_string());
        let give_back: Vec<i16> = request.give_back.iter().copied().map(row::bound).collect();
        let left = of_holder(&sql.leave_lanes).bind(give_back.clone()).bind(now.as_micros());
        let left = left.fetch_all(&mut *connection).await.map_err(translate)?;
        let renewed = of_holder(&sql.renew_lanes).bind(lease_until.as_micros());
        let held = renewed.fetch_all(&mut *connection).await.map_err(translate)?.len();
        // A process that gives back all that it has wants no more: the others need not leave it a share.
        if held == 0 && !left.is_empty() {
            run(connection, of_holder(&sql.leave_relay)).await?;
            return Ok(0);
        }
        let others = of_holder(&sql.want_lanes).bind(lease_until.as_micros()).bind(now.as_micros());
        let others = others.fetch_one(&mut *connection).await.map_err(translate)?;
        let others: usize = row::number("holders", only(&others)?)?;
        let share = LANES.div_ceil(others + 1);
        if held < share {
            let take = of_holder(&sql.hold_lanes).bind(lease_until.as_micros()).bind(now.as_micros());
            run(connection, take.bind(give_back).bind(count(share - held))).await?;
        }
        Ok(share)
    }

    async fn cursors_of(&self, connection: &mut PgConnection, request: &LaneRequest) -> Result<Vec<LaneCursor>> {
        let find = query(&self.inner.sql.lane_cursors).bind(request.relay.to_string());
        let find = find.bind(request.holder.to_string());
        find.fetch_all(connection).await.map_err(translate)?.iter().map(row::cursor).collect()
    }

    async fn blocked(
        &self,
        connection: &mut PgConnection,
        relay: &RelayName,
        cursors: &[LaneCursor],
    ) -> Result<Vec<(u16, Aggregate)>> {
        let lanes: Vec<i16> = cursors.iter().map(|cursor| row::bound(cursor.lane)).collect();
        let find = query(&self.inner.sql.blocked_aggregates).bind(relay.to_string()).bind(lanes);
        let rows = find.fetch_all(connection).await.map_err(translate)?;
        rows.iter().map(|found| Ok((row::lane(found)?, row::aggregate(found)?))).collect()
    }

    /// Events that are parked, and those that are tried again or wait behind one.
    async fn count_asides(&self, connection: &mut PgConnection, relay: &RelayName) -> Result<(u64, u64)> {
        let counted = query(&self.inner.sql.count_aside).bind(relay.to_string());
        let found = counted.fetch_one(connection).await.map_err(translate)?;
        Ok((row::number("parked", get(&found, "parked")?)?, row::number("waiting", get(&found, "waiting")?)?))
    }
}

/// The first number that a transaction can have.
const FIRST_TXID: u64 = 3;

/// There is no such relay.
pub(super) fn not_found(relay: &RelayName) -> Error {
    Error::new(RELAY_NOT_FOUND, format!("no relay is called {:?}", relay.as_str()))
}

/// The server is a standby.
pub(super) fn standby() -> Error {
    Error::new(STANDBY_REFUSED, "the server is in recovery")
}

fn restored(relay: &RelayName) -> Error {
    let detail = format!("relay {:?} has its place in another database system", relay.as_str());
    Error::new(DATABASE_RESTORED, detail)
        .hint(format!("decide what was published since then, and run onefold outbox rebase {relay}"))
}

pub(super) fn unreadable_txid() -> Error {
    Error::new(PROGRAMMING_INVARIANT_VIOLATED, "the number of a transaction cannot be read")
}
