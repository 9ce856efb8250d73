//! The cost of an operation by the rows that the ledger has, from a thousand on, with rising and with random ids.

use onefold_bench::{Scale, growth, growth_postgres, side};

fn main() {
    if let Some(args) = side::asked() {
        return growth::serve(&args);
    }
    let scale = Scale::from_args();
    let args: Vec<String> = std::env::args().collect();
    match args.iter().position(|arg| arg == "--store").and_then(|at| args.get(at + 1)).map(String::as_str) {
        None | Some("sqlite") => growth::on_sqlite(scale),
        Some("postgres") => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
            runtime.block_on(growth_postgres::run(scale));
        }
        Some(other) => panic!("there is no store {other}"),
    }
}
