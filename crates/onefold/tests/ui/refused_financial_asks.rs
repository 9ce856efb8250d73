use onefold::{Answer, Ask, Kind};

fn main() {
    let _ = Kind::financial_or_legal("sanction.register").on_unknown(Ask::with(|_| async { Answer::did_not() }));
}
