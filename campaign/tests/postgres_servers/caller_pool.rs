//! The callers of every server: each id is claimed once through each, and the caller that is granted it records it.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use onefold_campaign::http::{Connection, JsonResponse};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::callers::{Acknowledged, CALLERS, assert_replayed, claim, result};
use crate::fixture::PATIENCE;
use crate::server::Site;

pub(crate) const SERVERS: usize = 4;
pub(crate) const IDS: usize = 10_000;

/// What all callers share.
#[derive(Default)]
pub(crate) struct CallerPool {
    pub(crate) sites: [Site; SERVERS],
    /// The next id at each server.
    next: [AtomicUsize; SERVERS],
    /// Which attempt was granted an id under a fence.
    granted: Mutex<HashMap<(String, u64), Uuid>>,
    pub(crate) acknowledged: Mutex<Vec<Acknowledged>>,
    /// Requests that were answered, at every server.
    steps: AtomicU64,
    /// Requests that were sent again because their answer was lost.
    pub(crate) repeated: AtomicU64,
}

impl CallerPool {
    /// Claims every id through every server while `meanwhile` kills and starts servers.
    pub(crate) fn work_while(&self, meanwhile: impl FnOnce()) {
        std::thread::scope(|scope| {
            for (number, site) in self.sites.iter().enumerate() {
                for _ in 0..CALLERS {
                    scope.spawn(move || Caller { pool: self, site, connection: None }.work(&self.next[number]));
                }
            }
            meanwhile();
        });
    }

    /// Distinct grants: an id under a fence counts once, however often its attempt heard of it.
    pub(crate) fn grants(&self) -> usize {
        self.granted.lock().unwrap().len()
    }

    /// Waits until this many requests were answered.
    pub(crate) fn wait_for_step(&self, step: u64) {
        crate::server::wait_for("an answer", || (self.steps.load(Ordering::SeqCst) >= step).then_some(()));
    }
}

/// One caller of one server.
struct Caller<'a> {
    pool: &'a CallerPool,
    site: &'a Site,
    connection: Option<Connection>,
}

impl Caller<'_> {
    fn work(&mut self, next: &AtomicUsize) {
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            if number >= IDS {
                return;
            }
            self.operation(&format!("OP-{number:05}"));
        }
    }

    fn operation(&mut self, id: &str) {
        let attempt = Uuid::new_v4();
        let answer = self.ask("/v1/claims", &claim(id, attempt)).body;
        match answer["claim"].as_str() {
            Some("granted") => self.record(id, attempt, &answer),
            Some("inFlight") => {}
            Some("replay") => assert_replayed(id, &answer),
            _ => panic!("{id}: {answer}"),
        }
    }

    fn record(&mut self, id: &str, attempt: Uuid, grant: &Value) {
        let fence = grant["fence"].as_u64().unwrap();
        let held_by = *self.pool.granted.lock().unwrap().entry((id.to_owned(), fence)).or_insert(attempt);
        assert_eq!(held_by, attempt, "{id} was granted to two attempts under fence {fence}");
        let path = format!("/v1/operations/{}/complete", grant["operation"].as_str().unwrap());
        let standing = self.ask(&path, &json!({ "fence": fence, "attemptId": attempt, "result": result(id) }));
        assert_eq!((standing.status, &standing.body["status"]), (200, &json!("COMPLETED")), "{id}: {}", standing.body);
        self.pool.acknowledged.lock().unwrap().push(Acknowledged { id: id.to_owned(), attempt });
    }

    /// Sends a request until it is answered: the very same one, whatever became of the server.
    fn ask(&mut self, path: &str, body: &Value) -> JsonResponse {
        let began = Instant::now();
        loop {
            if let Some(connection) = &mut self.connection {
                if let Ok(answered) = connection.post(path, body) {
                    if answered.status == 503 {
                        // Said by a server whose database did not answer in time: sent again as it is.
                        println!("{path}: {}", answered.body);
                        self.pool.repeated.fetch_add(1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(10));
                        assert!(began.elapsed() < PATIENCE, "{path} is never answered");
                        continue;
                    }
                    assert!(answered.status < 500, "{path}: {}", answered.body);
                    self.pool.steps.fetch_add(1, Ordering::SeqCst);
                    return answered;
                }
                self.connection = None;
                self.pool.repeated.fetch_add(1, Ordering::SeqCst);
            } else {
                self.connection = self.site.connect().ok();
                if self.connection.is_none() {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            assert!(began.elapsed() < PATIENCE, "{path} is never answered");
        }
    }
}
