use onefold::{Answer, Kind, Void};

fn main() {
    let _ = Kind::human_notification("mail.send").on_unknown(Void::with(|_| async { Answer::did_not() }));
}
