//! Callers in any language: they claim over HTTP, act at the provider and record, and repeat what was not answered.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use onefold_campaign::http::{Connection, JsonResponse};
use onefold_campaign::wire::ask;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{PATIENCE, Provider};
use crate::server::Site;

pub(crate) const CALLERS: usize = 64;

/// An operation that the server said was completed.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledged {
    pub(crate) id: String,
    pub(crate) attempt: Uuid,
}

/// What all callers share.
pub(crate) struct Callers<'a> {
    site: &'a Site,
    provider: &'a Provider,
    ended: AtomicBool,
    pub(crate) acknowledged: Mutex<Vec<Acknowledged>>,
    /// Claims and records that were sent again because their answer was lost.
    pub(crate) claims_repeated: AtomicU64,
    pub(crate) records_repeated: AtomicU64,
}

impl<'a> Callers<'a> {
    pub(crate) fn new(site: &'a Site, provider: &'a Provider) -> Self {
        Self {
            site,
            provider,
            ended: AtomicBool::new(false),
            acknowledged: Mutex::default(),
            claims_repeated: AtomicU64::new(0),
            records_repeated: AtomicU64::new(0),
        }
    }

    /// Lets every caller work while `meanwhile` kills and starts servers; then each ends what it has begun.
    pub(crate) fn work_while<T>(&self, meanwhile: impl FnOnce() -> T) -> T {
        std::thread::scope(|scope| {
            for number in 0..CALLERS {
                scope.spawn(move || Caller { all: self, connection: None }.work(number));
            }
            // A failed assertion must end the callers too, or the scope waits for them for ever.
            let _end = EndAtDrop(&self.ended);
            meanwhile()
        })
    }
}

struct EndAtDrop<'a>(&'a AtomicBool);

impl Drop for EndAtDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// One caller with one connection.
struct Caller<'a> {
    all: &'a Callers<'a>,
    connection: Option<Connection>,
}

impl Caller<'_> {
    fn work(&mut self, number: usize) {
        for round in 0.. {
            if self.all.ended.load(Ordering::SeqCst) {
                return;
            }
            self.operation(&format!("OP-{number:02}-{round:05}"), round);
        }
    }

    /// One operation from claim to acknowledged record; some rounds ask more than they must.
    fn operation(&mut self, id: &str, round: u32) {
        let attempt = Uuid::new_v4();
        let operation = self.granted(id, attempt);
        if round % 3 == 1 {
            assert_eq!(self.granted(id, attempt), operation, "the same attempt is granted again");
        }
        let held = json!({ "fence": 1, "attemptId": attempt });
        if round % 3 == 2 {
            let renewed = self.ask(&format!("/v1/operations/{operation}/renew"), &held, None);
            assert_eq!(renewed.status, 200, "{id}: a living caller keeps its lease: {}", renewed.body);
        }
        assert_eq!(ask(&self.all.provider.address, &format!("DO {id}")).unwrap(), "OK 1", "{id} happened twice");
        let mut body = held;
        body["result"] = result(id);
        let path = format!("/v1/operations/{operation}/complete");
        let standing = self.ask(&path, &body, Some(&self.all.records_repeated));
        assert_eq!((standing.status, &standing.body["status"]), (200, &json!("COMPLETED")), "{id}: {}", standing.body);
        self.all.acknowledged.lock().unwrap().push(Acknowledged { id: id.to_owned(), attempt });
        if round % 4 == 3 {
            let again = self.ask("/v1/claims", &claim(id, attempt), None);
            assert_replayed(id, &again.body);
        }
    }

    /// Claims until an answer comes; a grant it must be, and the first.
    fn granted(&mut self, id: &str, attempt: Uuid) -> String {
        let answered = self.ask("/v1/claims", &claim(id, attempt), Some(&self.all.claims_repeated));
        let body = answered.body;
        assert_eq!((&body["claim"], &body["fence"]), (&json!("granted"), &json!(1)), "{id}: {body}");
        body["operation"].as_str().unwrap().to_owned()
    }

    /// Sends a request until it is answered: the very same one, whatever became of the server.
    fn ask(&mut self, path: &str, body: &Value, repeated: Option<&AtomicU64>) -> JsonResponse {
        let began = Instant::now();
        loop {
            if let Some(connection) = &mut self.connection {
                if let Ok(answered) = connection.post(path, body) {
                    assert!(answered.status < 500, "{path}: {}", answered.body);
                    self.all.site.step();
                    return answered;
                }
                self.connection = None;
                if let Some(repeated) = repeated {
                    repeated.fetch_add(1, Ordering::SeqCst);
                }
            } else {
                self.connection = self.all.site.connect().ok();
                if self.connection.is_none() {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            assert!(began.elapsed() < PATIENCE, "{path} is never answered");
        }
    }
}

/// A claim of the kind that all callers use. A person would have to look at an unknown outcome.
pub(crate) fn claim(id: &str, attempt: Uuid) -> Value {
    json!({
        "kind": "campaign.act", "id": id, "attemptId": attempt, "request": { "id": id },
        "declare": { "class": "external-command", "deadline": "10m", "lease": "5m" },
    })
}

pub(crate) fn result(id: &str) -> Value {
    json!({ "notice": format!("R-{id}") })
}

pub(crate) fn assert_replayed(id: &str, answer: &Value) {
    assert_eq!(answer["claim"], "replay", "{id} was acknowledged: {answer}");
    assert_eq!(answer["outcome"]["status"], "COMPLETED", "{id}: {answer}");
    assert_eq!(answer["outcome"]["result"], result(id), "{id}: {answer}");
}

/// Every one of these is there with its result, for the attempt that recorded it and for any other.
pub(crate) fn assert_believed(connection: &mut Connection, operations: &[Acknowledged]) {
    for part in operations.chunks(128) {
        let claims = part.iter().flat_map(|done| [claim(&done.id, done.attempt), claim(&done.id, Uuid::new_v4())]);
        let body = json!({ "claims": claims.collect::<Vec<_>>() });
        let answered = connection.post("/v1/claims/batch", &body).unwrap();
        let answers = answered.body["answers"].as_array().expect("answers").clone();
        assert_eq!(answers.len(), 2 * part.len());
        for (done, answers) in part.iter().zip(answers.chunks(2)) {
            for answer in answers {
                assert_replayed(&done.id, answer);
            }
        }
    }
}

/// Each operation was granted once and completed; nothing is or was for a person to look at.
pub(crate) fn assert_granted_once(connection: &mut Connection, operations: usize) {
    let (mut seen, mut after) = (0, String::new());
    loop {
        let page = connection.get(&format!("/v1/operations?limit=1000{after}")).unwrap().body;
        for operation in page["items"].as_array().unwrap() {
            let stands = (&operation["status"], &operation["fence"], &operation["attempts"]);
            assert_eq!(stands, (&json!("COMPLETED"), &json!(1), &json!(1)), "{operation}");
            seen += 1;
        }
        let Some(next) = page["next"].as_i64() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen, operations, "every operation was acknowledged, and there are no others");
    let incidents = connection.get("/v1/incidents?closed=true").unwrap().body;
    assert_eq!(incidents["items"], json!([]), "no incident is open, and none ever was");
}
