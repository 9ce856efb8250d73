use onefold::policy::{Ask, ProviderAnswer};
use onefold::Kind;

fn main() {
    let _ = Kind::local("order.place").on_unknown(Ask::with(|_| async { ProviderAnswer::did_not() }));
}
