//! `kill -9` at random steps, seeded and counted in lines that the worker says.

use std::collections::BTreeSet;

use crate::fixture::{Dice, Provider, Worker};

/// Each life begins this many new operations, and each says two lines: that it acted, and what is recorded.
const OPERATIONS: usize = 40;
const KILLS: usize = 12;

#[test]
fn random_kills_never_double_an_effect_never_lose_an_acknowledgement_and_never_hide_an_unknown() {
    let mut dice = Dice::seeded("random kills");
    for policy in ["escalate", "same-key", "ask", "void"] {
        campaign(policy, &mut dice);
    }
}

fn campaign(policy: &str, dice: &mut Dice) {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    let provider = Provider::start();
    let options = [("--policy", policy), ("--installation", "main"), ("--deadline-ms", "2000"), ("--lease-ms", "2000")];
    let mut ids: Vec<String> = Vec::new();
    let mut acknowledged = BTreeSet::new();
    for kill in 0..KILLS {
        let mut worker = Worker::start(&db, &provider, &options);
        let fresh: Vec<String> = (0..OPERATIONS).map(|number| format!("OP-{kill}-{number}")).collect();
        for id in &fresh {
            worker.order(&format!("PERFORM {id}"));
        }
        ids.extend(fresh);
        let steps = 1 + dice.below(2 * OPERATIONS as u64 - 1);
        for _ in 0..steps {
            let line = worker.next_line().expect("the worker lives until it is killed");
            acknowledge(&line, &mut acknowledged);
        }
        println!("{policy}: kill {kill} after {steps} lines, {} acknowledged", acknowledged.len());
        worker.kill();
    }

    let mut worker = Worker::start(&db, &provider, &options);
    let (mut completed, mut unknown) = (0, 0);
    for id in &ids {
        let settled = |line: &str| !line.ends_with("waiting") && !line.ends_with("in-flight") && !asked(line);
        let done = worker.ask_until(&format!("PERFORM {id}"), settled);
        let shown = worker.ask(&format!("SHOW {id}")).unwrap();
        let effects = provider.effects(id);
        assert!(effects <= 1, "{policy}: {id} happened {effects} times; {shown}");
        if done.contains("completed") {
            assert_eq!(effects, 1, "{policy}: {id} is believed but did not happen");
            assert!(shown.contains(" COMPLETED ") && shown.contains("incident=none"), "{shown}");
            completed += 1;
        } else {
            assert_eq!(policy, "escalate", "only a person's policy may end unknown: {done}");
            assert!(
                done.contains("unknown incident=true") && shown.contains("incident=HOLDER_LOST"),
                "{done} / {shown}"
            );
            assert!(!acknowledged.contains(id), "{policy}: {id} was acknowledged and is unknown");
            unknown += 1;
        }
    }
    println!("{policy}: {completed} completed, {unknown} unknown with an incident");
    assert!(completed > 0 && (policy != "escalate" || unknown > 0), "the kills must have hit something");
}

/// Unknown, but its provider is going to be asked.
fn asked(line: &str) -> bool {
    line.ends_with("unknown incident=false")
}

fn acknowledge(line: &str, acknowledged: &mut BTreeSet<String>) {
    let words: Vec<&str> = line.split(' ').collect();
    if let ["DONE", id, "completed", result, _] = words.as_slice() {
        assert_eq!(*result, format!("R-{id}"), "one stored result");
        acknowledged.insert((*id).to_owned());
    }
}
