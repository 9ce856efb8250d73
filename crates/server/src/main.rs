//! `onefold`: one binary that makes side effects take hold once.

fn main() -> std::process::ExitCode {
    onefold_server::main()
}
