//! `onefold completions`: what a shell completes.

use std::process::ExitCode;

use clap_complete::Shell;

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
    clap_complete::generate(args.shell, command, "onefold", &mut std::io::stdout());
    ExitCode::SUCCESS
}
