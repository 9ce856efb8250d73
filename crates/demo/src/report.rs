//! What is printed: the plan before, the closing table, its legend and the verdict after.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::ledger::SETTLE;
use crate::plan::{AGE_MAX, CALL_TIMEOUT, FirstCalls};
use crate::tally::Row;
use crate::verdict::Rows;

/// The closing table as one JSON object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    seed: u64,
    settle_ms: u128,
    plan: FirstCalls,
    sides: [&'a Row; 3],
    passed: bool,
    broken: &'a [String],
}

/// What is going to happen, before it does.
pub(super) fn opening(seed: u64, plan: &FirstCalls) -> String {
    let FirstCalls {
        requests,
        same_key,
        ask,
        escalate,
        answers_lost,
        answers_slow,
        acts_late,
        workers_killed,
        refused,
        rejected,
        delivered_twice,
    } = plan;
    format!(
        "{requests} requests go through three sides at once; seed {seed} plans what goes wrong\n  \
         kinds   {same_key} same key: the provider acts once for a key\n          \
         {ask} ask: it can be looked up; its \"no\" is believed {SETTLE:?} after the deadline (settle)\n          \
         {escalate} escalate: it offers nothing\n  \
         faults  {answers_lost} answers lost after acting, {answers_slow} slower than the timeout of {CALL_TIMEOUT:?},\n          \
         {acts_late} acted on only after it, {workers_killed} workers killed after acting,\n          \
         {refused} connections refused, {rejected} rejected for good; so the first calls, and later ones alike\n  \
         queue   {delivered_twice} requests are delivered twice; what a killed worker had not acknowledged comes again;\n          \
         an operator retries what looks failed\n"
    )
}

/// The closing table, its legend and the verdict.
pub(super) fn closing(rows: &Rows, broken: &[String]) -> String {
    format!("{}\n\n{}\n\n{}", table(rows), legend(), verdict(rows, broken))
}

/// The same as one JSON object.
pub(super) fn json(seed: u64, plan: FirstCalls, rows: &Rows, broken: &[String]) -> String {
    let report =
        Report { seed, settle_ms: SETTLE.as_millis(), plan, sides: rows.all(), passed: broken.is_empty(), broken };
    serde_json::to_string(&report).unwrap_or_default()
}

fn table(rows: &Rows) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header([
        "side",
        "requests",
        "attempts",
        "effects",
        "DUPLICATE\nEFFECTS",
        "lost\neffects",
        "unknown",
        "incidents",
        "known\ncompleted",
        "time",
    ]);
    for row in rows.all() {
        let counts = [
            row.requests,
            row.attempts,
            row.effects,
            row.duplicate_effects,
            row.lost_effects,
            row.unknowns,
            row.incidents,
            row.known_completed,
        ];
        let cells = counts.map(|count| count.to_string());
        table.add_row([row.side.to_string()].into_iter().chain(cells).chain([format!("{:.1} s", row.seconds)]));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn legend() -> String {
    format!(
        "naive      calls, and calls again up to twice when it hears nothing; remembers nothing\n\
         table      the same with a table of processed operations: looks, calls, then writes (the other\n           \
         common order, to write and then call, loses effects instead)\n\
         onefold    performs through the ledger\n\
         attempts   calls, refused connections included; the n-th call for a request meets the same fault on each side\n\
         effects    counted by the provider in its own process; duplicate: beyond the first of a request\n\
         lost       reported done or given up, yet no effect, though the provider does not reject it\n\
         unknown    unknown by nature: not lost, not repeated, an incident says what to check; only for escalate\n\
         known      recorded done, and the provider counted one effect: a record of two as one is not knowledge\n\
         repeatable the plan: which requests and calls meet which fault. Counts move a little with how the\n           \
         processes are scheduled. The provider acts on no request older than {AGE_MAX:?}: what ask rests on"
    )
}

fn verdict(rows: &Rows, broken: &[String]) -> String {
    if broken.is_empty() {
        let Rows { naive, table, onefold } = rows;
        return format!(
            "passed: {} and {} duplicate effects without Onefold, none with it; {} workers were killed on its side, \
             and each of its {} unknown outcomes has its incident",
            naive.duplicate_effects, table.duplicate_effects, onefold.workers_killed, onefold.unknowns
        );
    }
    format!("FAILED: {}", broken.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::provider::Truth;
    use crate::request::Side;
    use crate::run::SideResult;
    use crate::tally::{Record, tally};

    fn rows() -> Rows {
        let row = |side, effects: u32| {
            let truth = Truth { calls: 9, too_late: 0, effects: (0..6).map(|number| (number, effects)).collect() };
            tally(side, 6, Plan::new(2), &truth, &SideResult::default(), |_| Record::Done)
        };
        Rows { naive: row(Side::Naive, 3), table: row(Side::Table, 2), onefold: row(Side::Onefold, 1) }
    }

    #[test]
    fn the_plan_is_said_before_anything_happens() {
        insta::assert_snapshot!(opening(20_261_115, &Plan::new(20_261_115).first_calls(3_000)));
    }

    #[test]
    fn the_table_the_legend_and_the_verdict_close_it() {
        insta::assert_snapshot!(closing(&rows(), &[]));
    }

    #[test]
    fn a_failed_run_says_which_rule_broke_and_by_how_many() {
        let broken = ["onefold has 2 duplicate effects, and must have none".to_owned()];
        assert!(closing(&rows(), &broken).ends_with("FAILED: onefold has 2 duplicate effects, and must have none"));
        let json = json(1, Plan::new(1).first_calls(6), &rows(), &broken);
        assert!(json.contains(r#""passed":false,"broken":["onefold has 2 duplicate effects, and must have none"]"#));
    }
}
