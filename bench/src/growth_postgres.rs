//! The cost of an operation with a thousand and with ten million rows on PostgreSQL: right after a checkpoint, when
//! every page that is touched goes to the log whole, and later.

use std::sync::Arc;

use onefold::store::Postgres;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::ours::{Ours, callers};
use crate::schemas::Schemas;
use crate::{Scale, median, random_id, rate, rising_id, timed};

const CALLERS: usize = 64;
const MEASURED: usize = 10_000;
/// Rows that one statement fills in.
const SLICE: usize = 250_000;

/// How ids are made: here, and by the server for what is filled in.
#[derive(Clone, Copy)]
struct Ids {
    name: &'static str,
    make: fn(&str, usize) -> String,
    sql: &'static str,
}

/// What is filled in is sorted, so that the index is packed as a bulk load leaves it.
const RISING: Ids = Ids { name: "rising", make: rising_id, sql: "'a-' || lpad(g::text, 12, '0')" };
const RANDOM: Ids = Ids { name: "random", make: random_id, sql: "md5(g::text) || '-a-' || g" };

/// Fills, measures in turns, and says what the growth costs.
pub async fn run(scale: Scale) {
    let url = std::env::var("ONEFOLD_TEST_POSTGRES").expect("run `cargo xtask bench growth --store postgres`");
    let rows = 10_000_000 / scale.divide_by.pow(2);
    let rising = measure(&url, RISING, rows, scale).await;
    let random = measure(&url, RANDOM, rows, scale).await;
    for (ids, [checkpoint, later]) in [(RANDOM, random), (RISING, rising)] {
        println!(
            "{} ids: {:.2} times the cost with {rows} rows right after a checkpoint, {:.2} times later",
            ids.name,
            checkpoint.few / checkpoint.many,
            later.few / later.many
        );
    }
    let [_, later] = rising;
    // Ours is the large table, the peer the small one; the cost rises by the ratio.
    println!("growth ratio={:.2} ours={:.0}/s peer={:.0}/s", later.few / later.many, later.many, later.few);
}

/// Operations a second with few and with many rows.
#[derive(Clone, Copy)]
struct Rates {
    few: f64,
    many: f64,
}

async fn measure(url: &str, ids: Ids, rows: usize, scale: Scale) -> [Rates; 2] {
    let large = format!("growth_{}_many", ids.name);
    let mut names = vec![large.clone()];
    names.extend((0..scale.rounds).map(|round| format!("growth_{}_few_{round}", ids.name)));
    let schemas = Schemas::fresh(url, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let many = Arc::new(Ours::open_schema(url, &large).await);
    fill(url, &large, ids, rows).await;
    let mut rates: [[Vec<f64>; 2]; 2] = Default::default();
    for round in 0..scale.rounds {
        let few = Arc::new(Ours::open_schema(url, &names[round + 1]).await);
        fill(url, &names[round + 1], ids, 1_000).await;
        for (when, rates) in ["c", "l"].into_iter().zip(&mut rates) {
            for (side, rates) in [&few, &many].into_iter().zip(rates) {
                if when == "c" {
                    checkpoint(url).await;
                }
                rates.push(operations(side, &format!("b{round}{when}"), ids.make, scale.of(MEASURED)).await);
            }
        }
        let show = |rates: &[Vec<f64>; 2]| format!("{:.0}/s against {:.0}/s", rates[1][round], rates[0][round]);
        println!(
            "{} · round {}: {} after a checkpoint, {} later",
            ids.name,
            round + 1,
            show(&rates[0]),
            show(&rates[1])
        );
    }
    schemas.drop().await;
    rates.map(|[few, many]| Rates { few: median(few), many: median(many) })
}

async fn operations(ours: &Arc<Ours<Postgres>>, prefix: &str, id: fn(&str, usize) -> String, count: usize) -> f64 {
    let (shared, prefix) = (Arc::clone(ours), prefix.to_owned());
    let work = move |number| {
        let (ours, id) = (Arc::clone(&shared), id(&prefix, number));
        async move { ours.operation(&id).await }
    };
    rate(count, timed(callers(CALLERS, count, work)).await.1)
}

async fn checkpoint(url: &str) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    sqlx::raw_sql("CHECKPOINT").execute(&mut connection).await.expect("a checkpoint");
}

/// Fills in completed operations, as ours leaves them.
async fn fill(url: &str, schema: &str, ids: Ids, rows: usize) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    let mut filled = 0;
    while filled < rows {
        let upto = (filled + SLICE).min(rows);
        // Each slice is sorted over the whole key space of its rows.
        let sql = format!(
            "INSERT INTO {schema}.onefold_operations (tenant, kind, operation_id, fingerprint, created_at, status, \
             fence, attempt_id, worker, deadline, lease_until, terms, result, result_type, recorded, completed_at) \
             SELECT 'default', 'bench.pay', {id}, sha256(g::text::bytea), g, 'COMPLETED', 1, \
             decode(md5(g::text), 'hex'), 'host/1', g, g, '[\"raw.1\",1,\"api\",\"external-command\",\"escalate\"]', \
             '\\x224e54432d39393122', 'application/json', decode(md5(g::text), 'hex'), g \
             FROM generate_series({filled} + 1, {upto}) g ORDER BY 3",
            id = ids.sql,
        );
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("filled");
        filled = upto;
        if rows > SLICE {
            println!("{}: filled {filled} of {rows} rows", ids.name);
        }
    }
}
