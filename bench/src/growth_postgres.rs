//! The cost of an operation by rows on PostgreSQL: right after a checkpoint, when every page that is touched goes to
//! the log whole, and later.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::Scale;
use crate::growth::{Curve, Ids, MEASURED, RANDOM, RISING, is_filled_once, measure, show};
use crate::schemas::{Schemas, show_version, url};
use crate::side::Side;

const ROWS: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
/// Rows that one statement fills in.
const SLICE: usize = 250_000;

/// How the server makes ids for what is filled in: sorted, so that the index is packed as a bulk load leaves it.
const FILLED: [(Ids, &str); 2] = [(RISING, "'a-' || lpad(g::text, 12, '0')"), (RANDOM, "md5(g::text) || '-a-' || g")];

/// Fills, measures in turns, and says what the growth costs.
pub async fn run(scale: Scale) {
    let url = url();
    show_version(&url).await;
    let (mut later, mut after_checkpoint) = (vec![], vec![]);
    for (ids, sql) in FILLED {
        let growth = Growth { url: &url, ids, sql, scale };
        let [checkpoint, quiet] = growth.curves().await;
        after_checkpoint.push(checkpoint);
        later.push(quiet);
    }
    later.extend(after_checkpoint);
    show(&later);
}

/// One kind of ids, measured with every number of rows.
struct Growth<'a> {
    url: &'a str,
    ids: Ids,
    sql: &'static str,
    scale: Scale,
}

impl Growth<'_> {
    /// Right after a checkpoint, and later.
    async fn curves(&self) -> [Curve; 2] {
        let (name, sizes) = (self.ids.name, self.scale.sizes(&ROWS));
        let mut schemas = Schemas::fresh(self.url, &[]).await;
        let mut large = vec![];
        for &rows in sizes.iter().filter(|rows| is_filled_once(**rows)) {
            large.push((rows, self.filled(&mut schemas, format!("growth_{name}_{rows}"), rows).await));
        }
        let mut curves = [format!("{name}-after-checkpoint"), name.to_owned()].map(|series| Curve::new(&series, sizes));
        for round in 0..self.scale.rounds {
            for &rows in sizes {
                let mut fresh = None;
                let side = match large.iter_mut().find(|(of, _)| *of == rows) {
                    Some((_, side)) => side,
                    None => {
                        let schema = format!("growth_{name}_{rows}_{round}");
                        fresh.insert(self.filled(&mut schemas, schema, rows).await)
                    }
                };
                execute(self.url, "CHECKPOINT").await;
                let operations = self.scale.of(MEASURED);
                let rates = ["c", "l"].map(|when| measure(side, format!("b{round}{when}"), operations));
                let [checkpoint, later] = rates;
                println!(
                    "{name} · round {}: {checkpoint:.0}/s after a checkpoint, {later:.0}/s later with {rows} rows",
                    round + 1
                );
                curves.iter_mut().zip(rates).for_each(|(curve, rate)| curve.add(rows, rate));
            }
        }
        drop(large);
        schemas.drop().await;
        curves
    }

    /// A ledger of ours with so many completed operations, as ours leaves them.
    async fn filled(&self, schemas: &mut Schemas, schema: String, rows: usize) -> Side {
        schemas.add(&schema).await;
        let side = Side::start(&["postgres", &schema, self.ids.name]);
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
                id = self.sql,
            );
            execute(self.url, &sql).await;
            filled = upto;
            if rows > SLICE {
                println!("{}: filled {filled} of {rows} rows", self.ids.name);
            }
        }
        side
    }
}

async fn execute(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.expect("done");
}
