//! `onefold completions`: what a shell completes.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::table::say;

/// For which shell.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  onefold completions bash > /etc/bash_completion.d/onefold\n  onefold completions zsh > ~/.zfunc/_onefold"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(args: &CompletionsArgs, command: &mut clap::Command) -> ExitCode {
    // Written at once: the generator panics on a reader that has seen enough.
    let mut made = Vec::new();
    clap_complete::generate(args.shell, command, "onefold", &mut made);
    say!("{}", String::from_utf8_lossy(&made));
    ExitCode::SUCCESS
}
