//! The naive pattern on the same schema: one connection behind a mutex, one commit a step, cached statements.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use crate::rising_id;
use crate::side::{Slice, Workload};

const FIND: &str = "SELECT * FROM onefold_operations WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3";
const INSERT: &str = "INSERT INTO onefold_operations (tenant, kind, operation_id, fingerprint, created_at, status, \
     fence, attempt_id, worker, deadline, lease_until, terms) VALUES (?1, ?2, ?3, ?4, 1, 'STARTED', 1, ?5, 'host/1', 9, 9, \
     '[\"raw.1\",1,\"api\",\"external-command\",\"escalate\"]')";
const COMPLETE: &str = "UPDATE onefold_operations SET status = 'COMPLETED', result = ?4, result_type = 'application/json', \
     recorded = ?5, completed_at = ?6 \
     WHERE tenant = ?1 AND kind = ?2 AND operation_id = ?3 AND fence = 1 AND status = 'STARTED'";

/// One connection, one commit a step.
pub struct Naive {
    connection: Mutex<Connection>,
}

impl Naive {
    /// On a file whose tables our own store has made.
    pub fn open(path: &Path) -> Self {
        let connection = Connection::open(path).expect("the file opens");
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).expect("WAL");
        connection.pragma_update(None, "synchronous", "FULL").expect("FULL");
        connection.pragma_update(None, "wal_autocheckpoint", 4000).expect("checkpoints");
        connection.pragma_update(None, "cache_size", -65_536).expect("cache");
        Self { connection: Mutex::new(connection) }
    }

    /// One operation: two commits.
    fn operation(&self, id: &str) {
        self.claim(id);
        self.complete(id);
    }

    fn claim(&self, id: &str) {
        let connection = self.connection.lock().expect("not poisoned");
        connection.prepare_cached("BEGIN IMMEDIATE").expect("begin").execute([]).expect("begin");
        let known =
            connection.prepare_cached(FIND).expect("find").exists(params!["default", "naive.pay", id]).expect("find");
        assert!(!known, "{id} exists");
        connection
            .prepare_cached(INSERT)
            .expect("insert")
            .execute(params!["default", "naive.pay", id, [1_u8; 32], [2_u8; 16]])
            .expect("insert");
        connection.prepare_cached("COMMIT").expect("commit").execute([]).expect("commit");
    }

    fn complete(&self, id: &str) {
        let connection = self.connection.lock().expect("not poisoned");
        let written = connection
            .prepare_cached(COMPLETE)
            .expect("update")
            .execute(params!["default", "naive.pay", id, b"\"NTC-991\"", [7_u8; 16], 2_i64])
            .expect("update");
        assert_eq!(written, 1);
    }
}

/// Callers as threads, that share it.
impl Workload for Naive {
    fn run(&mut self, slice: &Slice) -> Duration {
        let Slice { callers, operations, prefix } = slice;
        let naive = &*self;
        let began = Instant::now();
        std::thread::scope(|scope| {
            for caller in 0..*callers {
                scope.spawn(move || {
                    for number in (caller..*operations).step_by(*callers) {
                        naive.operation(&rising_id(prefix, number));
                    }
                });
            }
        });
        began.elapsed()
    }
}
