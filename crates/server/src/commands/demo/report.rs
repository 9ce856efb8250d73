//! What is printed: the plan before, the closing table, its legend and the verdict after.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::ledger::SETTLE;
use super::plan::{AGE_MAX, CALL_TIMEOUT, FirstCalls};
use super::tally::Row;
use super::verdict::Rows;

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
    let FirstCalls { requests, same_key, ask, escalate, .. } = plan;
    format!(
        "{requests} requests, the same for three sides: {same_key} same key (the provider acts once for a key), \
         {ask} ask (it can be looked up; a \"no\" is believed {settle:?} after the deadline), {escalate} escalate (it offers nothing)\n\
         planned by seed {seed} for the first calls: {} answers lost, {} slower than the timeout of {CALL_TIMEOUT:?}, \
         {} acted on only after it, {} workers killed after acting, {} connections refused, {} rejected for good; \
         {} requests delivered twice, and an operator retries what looks failed\n",
        plan.answers_lost,
        plan.answers_slow,
        plan.acts_late,
        plan.workers_killed,
        plan.refused,
        plan.rejected,
        plan.delivered_twice,
        settle = SETTLE,
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
         table      the same with a table of processed operations: looks, calls, writes that it was processed\n\
         onefold    performs through the ledger\n\
         attempts   calls, refused connections included; the n-th call for a request meets the same fault on each side\n\
         effects    counted by the provider in its own process; duplicate: beyond the first of a request\n\
         lost       reported done or given up, yet no effect, though the provider does not reject it\n\
         unknown    nobody can know: not lost, not repeated, an incident says what to check; only for escalate\n\
         known      recorded done, and the provider counted one effect: a record of two as one is no knowledge\n\
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
