//! How far the ledger has come, and whether the database still is that ledger.

use std::sync::{Mutex, OnceLock, PoisonError};

use onefold_core::error::{LEDGER_WENT_BACK, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::position::{Generation, LedgerState, Position, Setback};
use onefold_core::{Error, Result, Timestamp};
use onefold_files::PositionFile;
use sqlx::PgConnection;

use crate::error::translate;
use crate::ledger::row;
use crate::sql::Sql;
use crate::{Postgres, PostgresOptions};

/// What a process knows of the ledger's position.
pub(crate) struct PositionTracker {
    /// Where it is remembered, if anywhere.
    file: Option<PositionFile>,
    generation: Generation,
    seen: Mutex<MarkedState>,
    /// Set once the database under this process is no longer the ledger it opened.
    refused: OnceLock<Error>,
}

/// The database as this process last marked it.
#[derive(Debug, Clone, Copy, Default)]
struct MarkedState {
    mark: u64,
    /// Commits of this process that the mark covers.
    commits: u64,
}

impl PositionTracker {
    pub(crate) fn new(file: Option<PositionFile>, position: Position) -> Self {
        let seen = Mutex::new(MarkedState { mark: position.mark, commits: 0 });
        Self { file, generation: position.generation, seen, refused: OnceLock::new() }
    }

    /// Refuses once the database is no longer the ledger that was opened.
    pub(crate) fn check(&self) -> Result<()> {
        self.refused.get().map_or(Ok(()), |error| Err(error.share()))
    }

    fn refuse(&self, error: Error) -> Error {
        tracing::error!(error_code = %error.code(), detail = error.detail(), "nothing more is granted on this database");
        self.refused.get_or_init(|| error).share()
    }

    fn marked(&self, mark: u64, commits: u64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = MarkedState { mark: seen.mark.max(mark), commits };
    }

    fn seen(&self) -> MarkedState {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database's present generation, if it still is the ledger that this process opened and has what it had marked
    /// before it looked.
    fn same_ledger(&self, marked: u64, state: &LedgerState) -> Result<Generation> {
        let known = Position { generation: self.generation, mark: marked, at: state.at };
        match Setback::of(Some(known), Some(state)) {
            None => Ok(state.generations.last().copied().unwrap_or(self.generation)),
            Some(setback) => Err(self.refuse(setback.error())),
        }
    }
}

impl Postgres {
    /// Raises the mark where this process has written since, and remembers it once it is committed.
    pub(crate) async fn raise_mark(&self) -> Result<()> {
        let track = &self.inner.track;
        track.check()?;
        // Read first: what is committed from here on is for the next mark.
        let commits = self.inner.connected.commits.counted();
        if commits == track.seen().commits {
            return Ok(());
        }
        let position = self.answered(self.marked()).await?;
        // The mark's own commit was counted too.
        track.marked(position.mark, commits + 1);
        match track.file.clone() {
            Some(file) => blocking(move || file.raise(&position)).await,
            None => Ok(()),
        }
    }

    async fn marked(&self) -> Result<Position> {
        let (sql, track) = (&self.inner.sql, &self.inner.track);
        let marked = track.seen().mark;
        let mut transaction = self.inner.connected.begin().await?;
        let generation = track.same_ledger(marked, &state(&mut transaction, sql).await?)?;
        let now = self.inner.clock.now();
        let mark = raise_mark(&mut transaction, sql, 0, now).await?;
        transaction.commit().await.map_err(translate)?;
        Ok(Position { generation, mark, at: now })
    }

    /// A commit that needs room, as a claim does.
    pub(crate) async fn take_room(&self) -> Result<()> {
        self.inner.track.check()?;
        let sql = &self.inner.sql;
        let [a, b, c, d, ..] = self.inner.options.random.bytes();
        let id = i64::from(u32::from_be_bytes([a, b, c, d]));
        self.answered(async {
            let mut transaction = self.inner.connected.begin().await?;
            row::query(&sql.take_room).bind(id).execute(&mut *transaction).await.map_err(translate)?;
            row::query(&sql.give_room_back).bind(id).execute(&mut *transaction).await.map_err(translate)?;
            transaction.end("COMMIT").await.map_err(translate)
        })
        .await
    }

    /// A person accepts the ledger in this database as it is: a new generation begins, with who and why.
    ///
    /// Answers with what was wrong with it; nothing is changed where nothing was.
    pub async fn accept(url: &str, options: PostgresOptions, who: &str, why: &str) -> Result<Option<Error>> {
        crate::open::accept(url, options, who, why).await
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(cause) => {
            Err(Error::new(PROGRAMMING_INVARIANT_VIOLATED, "the position was not remembered").caused_by(cause))
        }
    }
}

/// What is wrong with the ledger in this database, if anything is. Nothing is changed.
pub(crate) async fn setback(
    connection: &mut PgConnection,
    sql: &Sql,
    options: &PostgresOptions,
) -> Result<Option<Error>> {
    let remembered = match options.position.as_ref().map(|path| PositionFile::at(path).read()).transpose() {
        Ok(remembered) => remembered.flatten(),
        Err(error) if error.code() == LEDGER_WENT_BACK => return Ok(Some(error)),
        Err(error) => return Err(error),
    };
    let begun = row::query(&sql.position_begun).fetch_one(&mut *connection).await.map_err(translate)?;
    let found = if row::only::<bool>(&begun)? { Some(state(connection, sql).await?) } else { None };
    Ok(Setback::of(remembered, found.as_ref()).map(Setback::error))
}

pub(crate) async fn state(connection: &mut PgConnection, sql: &Sql) -> Result<LedgerState> {
    let unreadable = || Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a stored generation cannot be read");
    let rows = row::query(&sql.generations).fetch_all(&mut *connection).await.map_err(translate)?;
    let generation = |found| -> Result<Generation> {
        let bytes: &[u8] = row::only(found)?;
        bytes.try_into().map(Generation).map_err(|_| unreadable())
    };
    let found = row::query(&sql.position).fetch_one(connection).await.map_err(translate)?;
    Ok(LedgerState {
        generations: rows.iter().map(generation).collect::<Result<_>>()?,
        mark: u64::try_from(row::get::<i64>(&found, "mark")?).unwrap_or(0),
        at: row::time(&found, "marked_at")?,
        copied_at: row::get::<Option<i64>>(&found, "copied_at")?.map(Timestamp::from_micros),
    })
}

/// Raises the mark, past what is remembered; answers with it.
pub(crate) async fn raise_mark(
    connection: &mut PgConnection,
    sql: &Sql,
    remembered: u64,
    now: Timestamp,
) -> Result<u64> {
    let query = row::query(&sql.raise_mark).bind(i64::try_from(remembered).unwrap_or(0)).bind(now.as_micros());
    let found = query.fetch_one(connection).await.map_err(translate)?;
    Ok(u64::try_from(row::only::<i64>(&found)?).unwrap_or(0))
}

/// Begins a generation; who and why where a person accepted the ledger.
pub(crate) async fn begin_generation(
    connection: &mut PgConnection,
    sql: &Sql,
    generation: Generation,
    now: Timestamp,
    accepted: Option<(&str, &str)>,
) -> Result<()> {
    let (who, why) = accepted.unzip();
    let query = row::query(&sql.begin_generation).bind(generation.0.to_vec()).bind(now.as_micros());
    let query = query.bind(who.map(str::to_owned)).bind(why.map(str::to_owned));
    query.execute(connection).await.map(drop).map_err(translate)
}
