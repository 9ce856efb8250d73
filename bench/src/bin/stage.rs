//! A business transaction with `stage`, against the same with a hand-written row of an outbox; without any event, and
//! with a notification, beside. PostgreSQL.

use std::sync::Arc;

use onefold_bench::outbox::hand_written::{HandWritten, Telling, make_cases};
use onefold_bench::outbox::ours::Ours;
use onefold_bench::schemas::{Schemas, show_version, url};
use onefold_bench::side::{self, Side};
use onefold_bench::tasks::Tasks;
use onefold_bench::turns::{Rates, Row};
use onefold_bench::{Scale, last_line, point, rising_id};

const NAME: &str = "stage";
/// Transactions of ours, of the hand-written row, without an event, and with a notification.
const TABLE: [Row<4>; 2] = [
    Row { callers: 1, operations: [1_000, 1_000, 1_000, 1_000] },
    Row { callers: HEADLINE, operations: [8_000, 8_000, 8_000, 4_000] },
];
/// The writers of the last line.
const HEADLINE: usize = 64;
const CONNECTIONS: u32 = 32;
/// The sides, which are also the names of their schemas.
const SIDES: [&str; 4] = ["bench_stage_ours", "bench_stage_row", "bench_stage_none", "bench_stage_notify"];

fn main() {
    match side::asked() {
        Some(args) => serve(&args),
        None => {
            let scale = Scale::from_args();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
            runtime.block_on(compare(scale));
        }
    }
}

/// Becomes one side, on a schema of its own.
fn serve(args: &[String]) {
    let [side] = args else { panic!("a side: {args:?}") };
    let url = url();
    let telling = match side.as_str() {
        "bench_stage_ours" => {
            let open = async {
                let ours = Ours::open(&url, side, CONNECTIONS).await;
                make_cases(&ours.pool, side).await;
                ours
            };
            let submit = |ours: Arc<Ours>, case| async move { ours.submit(case).await };
            return side::serve(Tasks::open(open, rising_id, submit));
        }
        "bench_stage_row" => Telling::Row,
        "bench_stage_none" => Telling::Nothing,
        "bench_stage_notify" => Telling::RowAndNotify,
        other => panic!("there is no side {other}"),
    };
    let open = HandWritten::open(&url, side, CONNECTIONS, telling);
    let submit = |writer: Arc<HandWritten>, case| async move { writer.submit(case).await };
    side::serve(Tasks::open(open, rising_id, submit));
}

async fn compare(scale: Scale) {
    let url = url();
    show_version(&url).await;
    let schemas = Schemas::fresh(&url, &SIDES).await;
    let mut sides = SIDES.map(|side| Side::start(&[side]));
    let mut rates: [Rates<4>; TABLE.len()] = Default::default();
    for round in 1..=scale.rounds {
        for (row, rates) in TABLE.into_iter().zip(&mut rates) {
            let [ours, hand, none, notify] = rates.round(&mut sides, row, scale);
            println!(
                "round {round} · {} writers: ours {ours:.0}/s, hand-written row {hand:.0}/s, no event {none:.0}/s, row and \
                 NOTIFY {notify:.0}/s",
                row.callers
            );
        }
    }
    drop(sides);
    schemas.drop().await;
    show(&rates.map(|rates| rates.medians()));
}

fn show(medians: &[[f64; 4]]) {
    let table = || TABLE.into_iter().zip(medians);
    for (Row { callers, .. }, [ours, hand, none, notify]) in table() {
        println!(
            "{callers:>4} writers: {:.2} of the hand-written row ({ours:.0}/s against {hand:.0}/s), {:.2} of no event at \
             all ({none:.0}/s), {:.2} of row and NOTIFY ({notify:.0}/s)",
            ours / hand,
            ours / none,
            ours / notify
        );
        for (series, rate) in [("ours", ours), ("hand-written", hand), ("no-event", none), ("with-notify", notify)] {
            point(NAME, series, callers, *rate);
        }
    }
    let (_, &[ours, hand, ..]) = table().find(|(row, _)| row.callers == HEADLINE).expect("a row of the table");
    last_line(NAME, ours, hand);
}
