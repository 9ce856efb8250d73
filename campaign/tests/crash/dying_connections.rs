//! A claim's connection dies while the ledger is stalled; its caller sends the same claim again, hears its grant and
//! acts. Whatever the server then learns of the dead connection, no rival acts too: a provider counts.

use std::time::Duration;

use onefold_campaign::http::Connection;
use onefold_campaign::wire::ask;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::callers::{claim, result};
use crate::fixture::Provider;
use crate::server::Server;

/// Operations that are claimed in one stall.
const IDS: usize = 12;
/// How often a rival asks for each of them.
const RIVALS: usize = 8;

/// How a claim whose connection dies is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Alone,
    InABatch,
}

/// Plays it on these servers of one ledger: claims go to the first, are sent again to the last, and rivals ask both.
/// `stalled` runs its argument while nothing can be committed.
pub(crate) fn nobody_acts_beside_the_caller(servers: &[Server], stalled: impl Fn(&mut dyn FnMut()), sent: Sent) {
    let provider = Provider::start();
    let (first, last) = (servers.first().unwrap(), servers.last().unwrap());
    let claims: Vec<(String, Value)> = (0..IDS)
        .map(|number| {
            let id = format!("{sent:?}-{number:02}");
            let claim = claim(&id, Uuid::new_v4());
            (id, claim)
        })
        .collect();
    // The kind is known before the stall, so that nothing but the claims waits for the ledger.
    first.connect().post("/v1/claims", &claim("KNOWN", Uuid::new_v4())).unwrap();
    let granted: Vec<Value> = std::thread::scope(|scope| {
        let mut again = Vec::new();
        stalled(&mut || {
            let dying = send(first, &claims, sent);
            std::thread::sleep(Duration::from_millis(100));
            drop(dying);
            again = claims
                .iter()
                .map(|(_, claim)| scope.spawn(|| last.connect().post("/v1/claims", claim).unwrap().body))
                .collect();
            std::thread::sleep(Duration::from_millis(200));
        });
        again.into_iter().map(|answer| answer.join().unwrap()).collect()
    });
    for ((id, _), grant) in claims.iter().zip(&granted) {
        assert_eq!(grant["claim"], "granted", "{id}: {grant}");
        act(&provider, id);
    }
    for _ in 0..RIVALS {
        for (id, _) in &claims {
            for server in servers {
                let answer = server.connect().post("/v1/claims", &claim(id, Uuid::new_v4())).unwrap().body;
                if answer["claim"] == "granted" {
                    act(&provider, id);
                }
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    for ((id, claim), grant) in claims.iter().zip(&granted) {
        assert_eq!(provider.effects(id), 1, "{id} was performed by a rival too");
        let path = format!("/v1/operations/{}/complete", grant["operation"].as_str().unwrap());
        let body = json!({ "fence": grant["fence"], "attemptId": claim["attemptId"], "result": result(id) });
        let standing = last.connect().post(&path, &body).unwrap();
        assert_eq!((standing.status, &standing.body["status"]), (200, &json!("COMPLETED")), "{id}: {}", standing.body);
    }
}

/// Sends the claims and leaves them unanswered: the connections die when they are dropped.
fn send(server: &Server, claims: &[(String, Value)], sent: Sent) -> Vec<Connection> {
    let unanswered = |path: &str, body: &Value| {
        let mut connection = server.connect();
        connection.send("POST", path, &body.to_string()).unwrap();
        connection
    };
    match sent {
        Sent::Alone => claims.iter().map(|(_, claim)| unanswered("/v1/claims", claim)).collect(),
        Sent::InABatch => {
            let claims: Vec<&Value> = claims.iter().map(|(_, claim)| claim).collect();
            vec![unanswered("/v1/claims/batch", &json!({ "claims": claims }))]
        }
    }
}

fn act(provider: &Provider, id: &str) {
    ask(&provider.address, &format!("DO {id}")).unwrap();
}
