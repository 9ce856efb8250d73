//! What `--help` says of every command.

use crate::seen::text_is;
use crate::stage::Stage;

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

#[test]
fn every_command_explains_itself() {
    let stage = Stage::new();
    for command in COMMANDS {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let help = stage.run(&words).done();
        text_is(&format!("help_{}", command.replace(' ', "_")), &help);
    }
}

#[test]
fn no_command_is_missing_from_the_list() {
    let stage = Stage::new();
    let named = |help: &str| -> Vec<String> {
        let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        commands
            .filter(|line| !line.starts_with("   "))
            .map(|line| line.trim().split(' ').next().unwrap().to_owned())
            .collect()
    };
    for above in ["", "gateway", "operations", "incidents", "archive", "token", "errors"] {
        let words: Vec<&str> = above.split_whitespace().chain(["--help"]).collect();
        for name in named(&stage.run(&words).done()).iter().filter(|name| *name != "help") {
            let whole = format!("{above} {name}");
            assert!(COMMANDS.contains(&whole.trim()), "{whole}");
        }
    }
}

#[test]
fn the_version_is_told() {
    text_is("version", &Stage::new().run(&["--version"]).done());
}

#[test]
fn completions_are_made_for_every_shell() {
    let stage = Stage::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let made = stage.run(&["completions", shell]).done();
        assert!(made.contains("incidents") && !made.contains("panicked"), "{shell}");
    }
}
