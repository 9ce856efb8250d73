use onefold::{Kind, Rerun};

fn main() {
    let _ = Kind::external_command("notice.issue").on_unknown(Rerun);
}
