//! Claim and complete on the embedded store: us, one commit per step, and a peer, in one run.

use std::path::Path;

use onefold_bench::naive::Naive;
use onefold_bench::ours::Ours;
use onefold_bench::peer::Peer;
use onefold_bench::side::{self, Side, Slice};
use onefold_bench::tasks::Tasks;
use onefold_bench::turns::{Rates, Row, fresh_prefix};
use onefold_bench::{Scale, last_line, median, point, rate, rising_id};

const NAME: &str = "ledger-sqlite";
/// Operations of ours and of the naive pattern.
const TABLE: [Row<2>; 5] = [
    Row { callers: 1, operations: [1_000, 1_000] },
    Row { callers: 4, operations: [3_000, 1_500] },
    Row { callers: 16, operations: [8_000, 1_500] },
    Row { callers: HEADLINE, operations: [20_000, 1_500] },
    Row { callers: 256, operations: [40_000, 1_500] },
];
/// The callers of the last line, and of the peer.
const HEADLINE: usize = 64;
const PEER_OPERATIONS: usize = 320;

fn main() {
    match side::asked() {
        Some(args) => serve(&args),
        None => compare(Scale::from_args()),
    }
}

/// Becomes one side, on a file of its own.
fn serve(args: &[String]) {
    let [side, file] = args else { panic!("a side and its file: {args:?}") };
    let file = Path::new(file);
    match side.as_str() {
        "ours" => side::serve(Tasks::open(Ours::open(file), rising_id, Ours::perform)),
        "naive" => {
            Ours::make_tables(file);
            side::serve(Naive::open(file));
        }
        "peer" => side::serve(Tasks::open(Peer::open(file), rising_id, Peer::perform)),
        other => panic!("there is no side {other}"),
    }
}

fn compare(scale: Scale) {
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let start = |side: &str| {
        let file = folder.path().join(format!("{side}.db"));
        Side::start(&[side, file.to_str().expect("a name in plain letters")])
    };
    let mut sides = [start("ours"), start("naive")];
    let mut peer = start("peer");
    let mut rates: [Rates<2>; TABLE.len()] = Default::default();
    let mut peer_rates = vec![];
    for round in 1..=scale.rounds {
        for (row, rates) in TABLE.into_iter().zip(&mut rates) {
            let [ours, naive] = rates.round(&mut sides, row, scale);
            println!("round {round} · {} callers: ours {ours:.0}/s, one commit per step {naive:.0}/s", row.callers);
        }
        let slice = Slice { callers: HEADLINE, operations: scale.of(PEER_OPERATIONS), prefix: fresh_prefix() };
        let theirs = rate(slice.operations, peer.run(&slice));
        println!("round {round} · {HEADLINE} callers: agent-effects-sqlite {theirs:.0}/s");
        peer_rates.push(theirs);
    }
    drop((sides, peer));
    show(&rates.map(|rates| rates.medians()), median(peer_rates));
}

fn show(medians: &[[f64; 2]], peer: f64) {
    let table = || TABLE.into_iter().zip(medians);
    for (Row { callers, .. }, [ours, naive]) in table() {
        let ratio = ours / naive;
        println!("{callers:>4} callers: {ratio:.2} times one commit per step ({ours:.0}/s against {naive:.0}/s)");
    }
    let (_, &[ours, naive]) = table().find(|(row, _)| row.callers == HEADLINE).expect("a row of the table");
    let ratio = ours / peer;
    println!("{HEADLINE:>4} callers: {ratio:.1} times agent-effects-sqlite 0.2 ({ours:.0}/s against {peer:.0}/s)");
    for (Row { callers, .. }, [ours, naive]) in table() {
        point(NAME, "ours", callers, *ours);
        point(NAME, "one-commit-per-step", callers, *naive);
    }
    point(NAME, "agent-effects-sqlite", HEADLINE, peer);
    last_line(NAME, ours, naive);
}
