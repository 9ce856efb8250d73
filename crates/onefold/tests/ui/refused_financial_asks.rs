use onefold::policy::{Ask, ProviderAnswer};
use onefold::Kind;

fn main() {
    let _ = Kind::financial_or_legal("sanction.register").on_unknown(Ask::with(|_| async { ProviderAnswer::did_not() }));
}
