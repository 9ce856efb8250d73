use onefold::{Answer, Ask, Kind};

fn main() {
    let _ = Kind::local("order.place").on_unknown(Ask::with(|_| async { Answer::did_not() }));
}
