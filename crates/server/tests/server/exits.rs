//! Exit codes that a shell can act on.

use crate::fixture::{Ran, Workdir, claim, claim_of};

#[test]
fn each_kind_of_failure_has_its_exit_code() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let incident = server.unknown(&claim("CASE-1"));
    server.granted(&claim_of("letter.send", "CASE-1"));
    let early = ["incidents", "resolve", &incident, "--did-not-happen", "--why", "because"];
    let bulk = ["incidents", "retry", "--kind", "notice.issue", "--why", "because"];
    let rows: &[(i32, &[&str])] = &[
        (2, &["nosuch"]),
        (2, &["run", "--", "true"]),
        (2, &["run", "--id", "x"]),
        (2, &["token", "add", "x"]),
        (2, &["token", "add", "x", "--role", "king"]),
        (2, &["incidents", "resolve", "--why", "x"]),
        (2, &["incidents", "resolve", &incident, "--failed", "X", "--did-not-happen", "--why", "x"]),
        (2, &["incidents", "retry", &incident]),
        (2, &["operations", "--limit", "many"]),
        (2, &["completions", "tcsh"]),
        (65, &["operations", "--status", "DONE"]),
        (65, &["operations", "--limit", "0"]),
        (65, &["operations", "show", "CASE-1"]),
        (65, &["token", "add", "two words", "--role", "reader"]),
        (65, &["token", "add", "owner", "--role", "reader"]),
        (65, &["run", "--id", "x", "--deadline", "soon", "--", "true"]),
        (65, &["run", "--id", "", "--", "true"]),
        (65, &["explain", "nonsense"]),
        (66, &["operations", "show", "NEVER"]),
        (66, &["operations", "show", "op_bm90aWNlLmlzc3VlAE5FVkVS"]),
        (66, &["incidents", "show", "inc_never"]),
        (66, &["incidents", "retry", "inc_never", "--why", "x"]),
        (66, &["token", "remove", "nobody"]),
        (1, &early),
        (1, &bulk),
        (69, &["operations", "--server", "http://127.0.0.1:1"]),
        (78, &["operations", "--server", "127.0.0.1:1"]),
        (78, &["operations", "--database", "mysql://x"]),
        (78, &["run", "--id", "x", "--kind", "new", "--class", "harmless", "--", "true"]),
        (
            78,
            &[
                "run",
                "--id",
                "x",
                "--kind",
                "new",
                "--class",
                "financial-or-legal",
                "--on-unknown",
                "rerun",
                "--",
                "true",
            ],
        ),
        (127, &["run", "--id", "x", "--", "./no-such-command"]),
    ];
    for (code, args) in rows {
        let ran = dir.run(args);
        assert_eq!(ran.code, Some(*code), "{args:?}: {}{}", ran.out(), ran.err());
        assert!(ran.out().is_empty() || *code == 1, "what is wrong is said on stderr: {args:?} {}", ran.out());
        let helps = ["next: ", "Usage", "tip: ", "--help"].iter().any(|word| ran.err().contains(word));
        assert!(helps || args == &bulk, "{args:?}: {}", ran.err());
    }
}

#[test]
fn a_token_that_does_not_allow_it_ends_with_77() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let incident = server.unknown(&claim("CASE-1"));
    let made = dir.run(&["token", "add", "someone", "--role", "reader", "--json"]).json();
    let reader = made["token"].as_str().unwrap();
    let with = |token: &str, args: &[&str]| -> Ran {
        dir.command(args).env("ONEFOLD_TOKEN", token).env("ONEFOLD_SERVER", server.url()).output().unwrap().into()
    };
    crate::fixture::until("the token is known", || with(reader, &["operations"]).code == Some(0));
    let decide = ["incidents", "resolve", &incident, "--failed", "NO", "--why", "because"];
    for (token, args) in [
        ("0123456789abcdef", &["operations"][..]),
        (reader, &decide),
        (reader, &["operations", "result", "CASE-1"]),
        (reader, &["run", "--id", "x", "--", "true"]),
    ] {
        let refused = with(token, args);
        assert_eq!(refused.code, Some(77), "{args:?}: {}", refused.err());
        assert!(refused.err().contains("next: "), "{}", refused.err());
    }
}
