//! What `--help` says of every command.

use crate::fixture::Workdir;
use crate::seen::text_is;

const COMMANDS: &[&str] = &[
    "",
    "serve",
    "run",
    "demo",
    "gateway",
    "gateway try",
    "operations",
    "operations list",
    "operations show",
    "operations result",
    "incidents",
    "incidents groups",
    "incidents list",
    "incidents show",
    "incidents resolve",
    "incidents retry",
    "incidents ask",
    "outbox",
    "outbox status",
    "outbox parked",
    "outbox show",
    "outbox release",
    "outbox skip",
    "outbox edit",
    "outbox replay",
    "outbox replays",
    "outbox cancel-replay",
    "outbox start",
    "outbox retire",
    "outbox rebase",
    "events",
    "events list",
    "events show",
    "events check",
    "prune",
    "archive",
    "archive show",
    "migrate",
    "backup",
    "restore",
    "accept-restored",
    "token",
    "token show",
    "token add",
    "token list",
    "token remove",
    "config",
    "errors",
    "errors list",
    "errors explain",
    "errors openapi",
    "explain",
    "completions",
];

/// The heading of the options that every command takes.
const GLOBAL_HEADING: &str = "For every command:\n";

/// A help text without the options that every command takes, and those options on their own.
fn without_global_options(help: &str) -> (String, String) {
    let (before, rest) =
        help.split_once(GLOBAL_HEADING).unwrap_or_else(|| panic!("{GLOBAL_HEADING} is missing:\n{help}"));
    let in_section = |line: &&str| line.trim().is_empty() || line.starts_with(' ');
    let length: usize = rest.split_inclusive('\n').take_while(in_section).map(str::len).sum();
    let (options, after) = rest.split_at(length);
    (format!("{before}{after}"), options.to_owned())
}

/// The words alone: a command with long help has its options in a wider layout.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn every_command_explains_itself() {
    let dir = Workdir::new();
    let help = |command: &str| {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        dir.run(&words).done()
    };
    let (_, global) = without_global_options(&help(""));
    for command in COMMANDS {
        let shown = help(command);
        let (own, options) = without_global_options(&shown);
        assert_eq!(words(&options), words(&global), "{command}: the global options differ from those of `onefold`");
        let shown = if command.is_empty() { shown } else { own };
        text_is(&format!("help_{}", command.replace(' ', "_")), &shown);
    }
}

#[test]
fn global_options_end_where_the_next_text_begins() {
    let help = "Usage: x\n\nFor every command:\n  --json  Print\n          JSON\n\n  --log  Say\n\nExamples:\n  x\n";
    let (own, options) = without_global_options(help);
    assert_eq!(own, "Usage: x\n\nExamples:\n  x\n");
    assert_eq!(words(&options), ["--json", "Print", "JSON", "--log", "Say"]);
}

#[test]
fn no_command_is_missing_from_the_list() {
    let dir = Workdir::new();
    let named = |help: &str| -> Vec<String> {
        let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        commands
            .filter(|line| !line.starts_with("   "))
            .map(|line| line.trim().split(' ').next().unwrap().to_owned())
            .collect()
    };
    for above in ["", "gateway", "operations", "incidents", "outbox", "archive", "token", "errors"] {
        let words: Vec<&str> = above.split_whitespace().chain(["--help"]).collect();
        for name in named(&dir.run(&words).done()).iter().filter(|name| *name != "help") {
            let whole = format!("{above} {name}");
            assert!(COMMANDS.contains(&whole.trim()), "{whole}");
        }
    }
}

#[test]
fn the_version_is_told() {
    text_is("version", &Workdir::new().run(&["--version"]).done());
}

#[test]
fn completions_are_made_for_every_shell() {
    let dir = Workdir::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let made = dir.run(&["completions", shell]).done();
        assert!(made.contains("incidents") && !made.contains("panicked"), "{shell}");
    }
}
