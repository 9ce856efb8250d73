use onefold::policy::Escalate;
use onefold::Kind;

fn main() {
    let _ = Kind::pure("risk.score").on_unknown(Escalate);
}
