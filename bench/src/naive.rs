//! The naive pattern on the same schema: one connection behind a mutex, one commit a step, cached statements.

use std::path::Path;
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, params, params_from_iter, types::Value};

const FIND: &str = include_str!("../../crates/sqlite/queries/ledger/find.sql");
const INSERT: &str = include_str!("../../crates/sqlite/queries/ledger/insert.sql");
const COMPLETE: &str = "UPDATE onefold_operations SET status = 'COMPLETED', result = ?4, result_type = 'application/json', \
     side_effect_status = 'APPLIED', settled_by = 'HOLDER', recorded = ?5, updated_at = ?6, completed_at = ?6 \
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
    pub fn operation(&self, id: &str) {
        self.claim(id);
        self.complete(id);
    }

    fn claim(&self, id: &str) {
        let connection = self.connection.lock().expect("not poisoned");
        connection.prepare_cached("BEGIN IMMEDIATE").expect("begin").execute([]).expect("begin");
        let known =
            connection.prepare_cached(FIND).expect("find").exists(params!["default", "naive.pay", id]).expect("find");
        assert!(!known, "{id} exists");
        connection.prepare_cached(INSERT).expect("insert").execute(params_from_iter(row(id))).expect("insert");
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

fn row(id: &str) -> Vec<Value> {
    let text = |value: &str| Value::Text(value.to_owned());
    let mut row = vec![
        text("default"),
        text("naive.pay"),
        text(id),
        Value::Blob(vec![1; 32]),
        text("raw.1"),
        Value::Integer(1),
        text("api"),
    ];
    row.extend(std::iter::repeat_n(Value::Null, 8));
    row.extend([
        Value::Integer(1),
        text("STARTED"),
        text("external-command"),
        text("escalate"),
        Value::Integer(1),
        Value::Blob(vec![2; 16]),
    ]);
    row.extend([
        Value::Null,
        text("host/1"),
        Value::Integer(9),
        Value::Integer(9),
        Value::Integer(1),
        Value::Integer(1),
        Value::Integer(1),
    ]);
    row.extend(std::iter::repeat_n(Value::Null, 4));
    row.push(Value::Integer(0));
    row.extend(std::iter::repeat_n(Value::Null, 9));
    row.push(text("NOT_APPLIED"));
    row.extend(std::iter::repeat_n(Value::Null, 4));
    row.extend([Value::Integer(1), Value::Null]);
    assert_eq!(row.len(), 49);
    row
}

/// Runs `count` operations from this many threads.
pub fn callers(naive: &Arc<Naive>, callers: usize, count: usize, id: impl Fn(usize) -> String + Send + Sync) {
    let id = &id;
    std::thread::scope(|scope| {
        for caller in 0..callers {
            let naive = Arc::clone(naive);
            scope.spawn(move || {
                let mut number = caller;
                while number < count {
                    naive.operation(&id(number));
                    number += callers;
                }
            });
        }
    });
}
