use onefold::{Escalate, Kind};

fn main() {
    let _ = Kind::pure("risk.score").on_unknown(Escalate);
}
