use onefold::policy::Rerun;
use onefold::Kind;

fn main() {
    let _ = Kind::external_command("notice.issue").on_unknown(Rerun);
}
