use onefold::policy::{ProviderAnswer, Void};
use onefold::Kind;

fn main() {
    let _ = Kind::human_notification("mail.send").on_unknown(Void::with(|_| async { ProviderAnswer::did_not() }));
}
