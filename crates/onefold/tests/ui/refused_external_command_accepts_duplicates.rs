use onefold::policy::AcceptDuplicate;
use onefold::Kind;

fn main() {
    let _ = Kind::external_command("notice.issue").on_unknown(AcceptDuplicate::because("it is only a notice"));
}
