//! A command that is told of a server acts on that server, or refuses; a server that is told to read again goes on.

use crate::fixture::{Workdir, until};

#[test]
fn what_cannot_act_on_a_server_refuses_and_leaves_the_local_ledger_alone() {
    let (there, here) = (Workdir::new(), Workdir::new());
    let server = there.serve(&[]);
    here.run(&["migrate"]).done();
    let before = std::fs::read(here.path("onefold.db")).unwrap();
    let token = there.path("onefold.token").display().to_string();
    let to = ["--server", &server.url(), "--token-file", &token];
    let commands: [&[&str]; 5] = [
        &["migrate"],
        &["token", "show"],
        &["token", "list"],
        &["token", "add", "someone", "--role", "reader"],
        &["token", "remove", "someone"],
    ];
    for command in commands {
        let refused = here.run(&[command, &to].concat());
        assert_eq!(refused.code, Some(78), "{command:?}: {}", refused.err());
        assert!(refused.err().contains("cannot act through") && refused.err().contains("next: "), "{}", refused.err());
    }
    let archived = here.run(&[&["prune", "--archive", "kept"][..], &to].concat());
    assert_eq!(archived.code, Some(65), "{}", archived.err());
    assert_eq!(std::fs::read(here.path("onefold.db")).unwrap(), before);
    assert!(!here.path("kept").exists());
}

#[test]
fn pruning_through_a_server_prunes_its_ledger_and_needs_its_administrator() {
    let (there, here) = (Workdir::new(), Workdir::new());
    let server = there.serve(&[]);
    let token = there.path("onefold.token").display().to_string();
    let pruned = here.run(&["prune", "--server", &server.url(), "--token-file", &token, "--json"]).json();
    assert_eq!((&pruned["ledger"], &pruned["operations"]), (&server.url().into(), &0.into()), "{pruned}");
    let secret = there.run(&["token", "add", "someone", "--role", "operator"]).done();
    let operator = || {
        let mut command = here.command(&["prune", "--dry-run", "--server", &server.url()]);
        command.env("ONEFOLD_TOKEN", secret.trim()).output().unwrap().status.code()
    };
    until("the token is known", || operator() == Some(77));
    assert_eq!(std::fs::read_dir(here.folder()).unwrap().count(), 0, "nothing local was touched");
}

#[test]
fn a_server_without_routes_goes_on_when_it_is_told_to_read_again() {
    let dir = Workdir::with_config("log = \"info\"\n");
    let server = dir.serve(&[]);
    server.reload();
    until("it says that it did", || server.log().contains("configuration reloaded"));
    std::fs::write(dir.path("onefold.toml"), "databse = \"x\"\n").unwrap();
    server.reload();
    until("it says that the file is broken", || server.log().contains("the old one stays in force"));
    let route = "[[route]]\nname = \"pay\"\nmatch = \"POST /p\"\nupstream = \"http://127.0.0.1:1\"\nclass = \"external-command\"\ncaller = \"anonymous\"\n";
    std::fs::write(dir.path("onefold.toml"), route).unwrap();
    server.reload();
    until("it says that routes need a start", || server.log().contains("restart the server to start or end a part"));
    server.get("/ready").ok();
}
