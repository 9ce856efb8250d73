use onefold::{Escalate, Kind};

fn main() {
    let _ = Kind::message_publish("case.event").on_unknown(Escalate);
}
