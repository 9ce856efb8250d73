//! Every pair of the table.

use std::time::Duration;

use onefold::policy::{AcceptDuplicate, Ask, Escalate, InTransaction, ProviderAnswer, Rerun, SameKey, Void};
use onefold::Kind;

fn ask() -> Ask {
    Ask::with(|_| async { ProviderAnswer::cannot_tell() }).settle(Duration::from_secs(900))
}

fn void() -> Void {
    Void::with(|_| async { ProviderAnswer::did_not() })
}

fn main() {
    let same_key = SameKey::remembered_for(Duration::from_secs(86_400));
    let aloud = AcceptDuplicate::because("a second reminder harms nobody");

    let _ = Kind::pure("k").on_unknown(Rerun);

    let _ = Kind::converging("k").on_unknown(Rerun);
    let _ = Kind::converging("k").on_unknown(same_key);
    let _ = Kind::converging("k").on_unknown(ask());
    let _ = Kind::converging("k").on_unknown(Escalate);

    let _ = Kind::local("k").on_unknown(InTransaction);

    let _ = Kind::external_command("k").on_unknown(same_key);
    let _ = Kind::external_command("k").on_unknown(ask());
    let _ = Kind::external_command("k").on_unknown(void());
    let _ = Kind::external_command("k").on_unknown(Escalate);

    let _ = Kind::message_publish("k", same_key);

    let _ = Kind::human_notification("k").on_unknown(same_key);
    let _ = Kind::human_notification("k").on_unknown(ask());
    let _ = Kind::human_notification("k").on_unknown(Escalate);
    let _ = Kind::human_notification("k").on_unknown(aloud);

    let _ = Kind::financial_or_legal("k").on_unknown(same_key);
    let _ = Kind::financial_or_legal("k").on_unknown(void());
    let _ = Kind::financial_or_legal("k").on_unknown(Escalate);
}
