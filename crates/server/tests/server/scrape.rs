//! The metrics of a running server are those that `docs/metrics.md` names, with those labels and no others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::fixture::{Granted, Server, Workdir, attempt, claim_of, merged, until};

/// A metric that is provoked below, its labels, and what provokes it.
const PRESENT: &[(&str, &[&str], &str)] = &[
    ("onefold_http_requests_total", &["route", "status", "error_code"], "any call"),
    ("onefold_application_errors_total", &["kind", "error_code", "retryable"], "a recorded failure"),
    ("onefold_claims_total", &["kind", "answer"], "claims of every answer"),
    ("onefold_dedup_hits_total", &["boundary", "kind"], "a claim of a known operation"),
    ("onefold_dedup_misses_total", &["boundary", "kind"], "a first claim"),
    ("onefold_processing_seconds", &["boundary", "kind"], "a record after a grant"),
    ("onefold_unknown_outcomes", &["category"], "a timeout"),
    ("onefold_open_incidents", &["category"], "a timeout"),
    ("onefold_leases_expired_total", &["kind"], "a holder that falls silent"),
    ("onefold_late_records_total", &["kind"], "a silent holder that speaks after another was granted"),
    ("onefold_store_errors_total", &["operation", "sql_state", "constraint"], "a table that is gone for a moment"),
    ("onefold_commit_seconds", &["store"], "any claim"),
    ("onefold_batch_size", &["store"], "any claim"),
];

/// Those of parts that are not in use here; a metric of a part that is not in use is absent, not zero.
const ABSENT: &[&str] = &[
    "onefold_consumer_failures_total",
    "onefold_quarantined_total",
    "onefold_outbox_published_total",
    "onefold_outbox_publish_failures_total",
    "onefold_outbox_replayed_total",
    "onefold_outbox_replay_refused_total",
    "onefold_outbox_lag_seconds",
    "onefold_outbox_waiting",
    "onefold_outbox_parked",
    "onefold_publish_seconds",
    "onefold_job_failures_total",
    "onefold_jobs_redelivered_total",
    "onefold_breaker_state",
];

/// What the exporter adds to a distribution.
const BUCKET: &str = "le";

const ANSWERS: [&str; 6] = ["granted", "replay", "in_flight", "conflict", "unknown", "waiting"];

/// One line of a scrape.
struct Sample {
    metric: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

fn samples(text: &str) -> Vec<Sample> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(sample).collect()
}

fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap();
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    let labels = labels.trim_end_matches('}').split("\",").filter(|pair| !pair.is_empty());
    let labels = labels.map(|pair| {
        let (name, value) = pair.split_once("=\"").unwrap();
        (name.to_owned(), value.trim_end_matches('"').to_owned())
    });
    let parts = ["_sum", "_count", "_bucket"];
    let metric = parts.iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name);
    Sample { metric: metric.to_owned(), labels: labels.collect(), value: value.parse().unwrap() }
}

/// A claim whose every name of its own begins with `SEEN`, so that a label that holds one is noticed.
fn named(kind: &str, id: &str, declare: &Value) -> Value {
    let more = json!({ "declare": declare, "businessKey": "SEEN-BUSINESS", "processInstanceKey": "SEEN-PROCESS" });
    merged(&claim_of(kind, &format!("SEEN-{id}")), &more)
}

fn again(claim: &Value) -> Value {
    merged(claim, &json!({ "attemptId": attempt() }))
}

/// Claims with every answer, and records of every sort.
fn claim_and_record(server: &Server) -> Vec<Granted> {
    let notice = |id: &str| named("notice.issue", id, &json!({ "class": "external-command" }));
    let done = notice("DONE");
    let granted = server.granted(&done);
    assert_eq!(server.claim(&again(&done))["claim"], "inFlight");
    server.record(&granted, "complete", &json!({ "result": 1 })).ok();
    assert_eq!(server.claim(&again(&done))["claim"], "replay");
    assert_eq!(server.claim(&merged(&again(&done), &json!({ "request": "other" })))["claim"], "conflict");
    let unsure = notice("UNSURE");
    server.unknown(&unsure);
    assert_eq!(server.claim(&again(&unsure))["claim"], "unknown");
    let limited = notice("LIMITED");
    let failed = server.granted(&limited);
    server.record(&failed, "fail", &json!({ "category": "RATE_LIMITED", "code": "SEEN_OWN_CODE" })).ok();
    assert_eq!(server.claim(&again(&limited))["claim"], "waiting");
    vec![granted, failed]
}

/// A holder that falls silent, is succeeded, and speaks after all.
fn fall_silent(server: &Server) -> Granted {
    let declare = json!({ "class": "converging", "lease": "200ms", "deadline": "200ms", "backoff": ["0ms"] });
    let claim = named("user.sync", "SILENT", &declare);
    let silent = server.granted(&claim);
    until("another holder is granted", || server.claim(&again(&claim))["claim"] == "granted");
    server.record(&silent, "complete", &json!({})).problem(409, "LEASE_SUPERSEDED");
    silent
}

/// Every metric that `docs/metrics.md` lists, with its labels.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = include_str!("../../../../docs/metrics.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `onefold_"));
    rows.map(|row| {
        let (name, rest) = row.split_once("` | ").unwrap();
        let labels = rest.split(" | ").next().unwrap().split(", ").map(str::to_owned).collect();
        (format!("onefold_{name}"), labels)
    })
    .collect()
}

/// Every metric that the sources name.
fn emitted(folder: &std::path::Path, into: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            emitted(&entry, into);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let source = std::fs::read_to_string(&entry).unwrap();
            let literals = source.split("\"onefold_").skip(1).filter_map(|rest| rest.split('"').next());
            let metric = |name: &&str| METRIC_ENDS.iter().any(|end| name.ends_with(end));
            into.extend(literals.filter(metric).map(|name| format!("onefold_{name}")));
        }
    }
}

/// How the names of metrics end; other words that begin with `onefold_` are tables and functions.
const METRIC_ENDS: [&str; 9] =
    ["_total", "_seconds", "_size", "_state", "_calls", "unknown_outcomes", "open_incidents", "_waiting", "_parked"];

#[test]
fn every_metric_that_is_emitted_is_documented_and_none_else() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeSet::new();
    for one in ["core", "runtime", "sqlite", "postgres", "http", "server"] {
        emitted(&crates.join(one).join("src"), &mut found);
    }
    assert_eq!(found, documented().into_keys().collect(), "docs/metrics.md and the sources");
}

/// A rule of ours that is broken, as a trigger says it: the name comes through, another's does not.
fn break_a_constraint(dir: &Workdir, server: &Server, constraint: &str) {
    let other = rusqlite::Connection::open(dir.path("onefold.db")).unwrap();
    let trigger = format!(
        "CREATE TRIGGER refuse BEFORE INSERT ON onefold_operations BEGIN SELECT RAISE(ABORT, '{constraint}'); END"
    );
    other.execute_batch(&trigger).unwrap();
    let refused = named("notice.issue", "REFUSED", &json!({ "class": "external-command" }));
    server.post("/v1/claims", &refused).problem(500, "PROGRAMMING_INVARIANT_VIOLATED");
    other.execute_batch("DROP TRIGGER refuse").unwrap();
}

fn lose_a_table(dir: &Workdir, server: &Server) {
    let other = rusqlite::Connection::open(dir.path("onefold.db")).unwrap();
    other.execute_batch("ALTER TABLE onefold_operations RENAME TO gone").unwrap();
    let broken = named("notice.issue", "BROKEN", &json!({ "class": "external-command" }));
    server.post("/v1/claims", &broken).problem(500, "PROGRAMMING_INVARIANT_VIOLATED");
    other.execute_batch("ALTER TABLE gone RENAME TO onefold_operations").unwrap();
}

#[test]
fn a_scrape_shows_the_metrics_that_the_design_names_and_no_others() {
    let dir = Workdir::new();
    let server = dir.serve(&["--sweep-every", "100ms"]);
    let mut granted = claim_and_record(&server);
    granted.push(fall_silent(&server));
    lose_a_table(&dir, &server);
    break_a_constraint(&dir, &server, "onefold_operations_key");
    break_a_constraint(&dir, &server, "SEEN_by_another");
    let text = server.get("/metrics").text();
    let samples = samples(&text);
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for sample in &samples {
        let labels = sample.labels.keys().map(String::as_str).filter(|label| *label != BUCKET);
        seen.entry(&sample.metric).or_default().extend(labels);
    }
    let named: BTreeMap<&str, BTreeSet<&str>> =
        PRESENT.iter().map(|(name, labels, _)| (*name, labels.iter().copied().collect())).collect();
    assert_eq!(seen, named, "{text}");
    let documented = documented();
    for (name, labels) in &seen {
        let listed: BTreeSet<&str> = documented[*name].iter().map(String::as_str).collect();
        assert_eq!(*labels, listed, "{name} in docs/metrics.md");
    }
    let errors: BTreeSet<[&str; 3]> = samples
        .iter()
        .filter(|sample| sample.metric == "onefold_store_errors_total" && sample.labels["operation"] == "claim")
        .map(|sample| ["operation", "sql_state", "constraint"].map(|label| sample.labels[label].as_str()))
        .collect();
    let wanted = [
        ["claim", "SQLITE_CONSTRAINT", "onefold_operations_key"],
        ["claim", "SQLITE_CONSTRAINT", "other"],
        ["claim", "SQLITE_ERROR", "none"],
    ];
    assert_eq!(errors, wanted.into(), "{text}");
    for absent in ABSENT {
        assert!(!text.contains(absent), "{absent} belongs to a part that is not built:\n{text}");
    }
    for (name, _, provoked_by) in PRESENT {
        let counted = samples.iter().any(|sample| sample.metric == *name && sample.value > 0.0);
        // A distribution may be zero in its first buckets, but never in its count.
        assert!(counted, "{name} after {provoked_by}:\n{text}");
    }
    let of_claims = samples.iter().filter(|sample| sample.metric == "onefold_claims_total");
    let answers: BTreeSet<&str> = of_claims.map(|sample| sample.labels["answer"].as_str()).collect();
    assert_eq!(answers, ANSWERS.into(), "{text}");
    for value in samples.iter().flat_map(|sample| sample.labels.values()) {
        assert!(!value.contains("SEEN") && !value.contains("op_") && !value.contains("inc_"), "{value}\n{text}");
        for grant in &granted {
            assert!(
                !value.contains(&grant.operation) && value != grant.grant["attemptId"].as_str().unwrap(),
                "{value}"
            );
        }
    }
}
