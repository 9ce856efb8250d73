//! A disk that is full: refused with a code, nothing acknowledged is lost, and it goes on once there is room.

use std::fs::File;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::fixture::{Granted, Server, Workdir, attempt, claim, merged, until};
use crate::wire::Call;

/// Where the disk ends: a small file system of its own, or a limit on the size of files where none may be mounted.
enum Disk {
    Small,
    Limited,
}

/// Takes the mount away again with its namespace, which ends with the server.
const SMALL: &str = "mkdir disk && mount -t tmpfs -o size=3m tmpfs disk && head -c 1000000 /dev/zero > disk/filler";

fn disk(dir: &Workdir) -> Disk {
    let tried = Command::new("unshare")
        .args(["-rm", "sh", "-c", SMALL])
        .current_dir(dir.folder())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let _ = std::fs::remove_dir_all(dir.path("disk"));
    if tried.is_ok_and(|status| status.success()) { Disk::Small } else { Disk::Limited }
}

fn serve(dir: &Workdir, disk: &Disk) -> Server {
    let serve = "exec \"$0\" serve --listen 127.0.0.1:0 --json --database sqlite:disk/onefold.db --token-file t";
    let mut command = match disk {
        Disk::Small => Command::new("unshare"),
        Disk::Limited => Command::new("sh"),
    };
    match disk {
        Disk::Small => command.args(["-rm", "sh", "-c", &format!("{SMALL} && {serve}")]),
        // Ignored signals stay ignored: a write beyond the limit fails instead of killing.
        Disk::Limited => command.args(["-c", &format!("mkdir -p disk; trap '' XFSZ; {serve}")]),
    };
    let log = dir.path("server.log");
    command.arg(env!("CARGO_BIN_EXE_onefold")).current_dir(dir.folder());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log).unwrap());
    let server = Server::start(command, log);
    limit(disk, &server, Some(1_500_000));
    server
}

fn limit(disk: &Disk, server: &Server, bytes: Option<u64>) {
    if matches!(disk, Disk::Limited) {
        let pid = Pid::from_raw(i32::try_from(server.pid()).unwrap());
        prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
    }
}

fn make_room(dir: &Workdir, disk: &Disk, server: &Server) {
    match disk {
        Disk::Small => {
            let inside = format!("/proc/{}/root{}", server.pid(), dir.path("disk/filler").display());
            std::fs::remove_file(inside).unwrap();
        }
        Disk::Limited => limit(disk, server, None),
    }
}

#[test]
fn a_full_disk_is_answered_with_a_code_and_loses_nothing_that_was_acknowledged() {
    let dir = Workdir::new();
    let disk = disk(&dir);
    fill_and_make_room(&dir, &disk);
}

#[test]
fn a_file_that_may_not_grow_is_answered_with_a_code_and_loses_nothing_that_was_acknowledged() {
    fill_and_make_room(&Workdir::new(), &Disk::Limited);
}

/// The grant that this answer gave.
fn granted(claim: &Value, answer: &Value) -> Granted {
    let grant = json!({ "fence": answer["fence"], "attemptId": claim["attemptId"] });
    Granted { operation: answer["operation"].as_str().unwrap().to_owned(), grant }
}

fn fill_and_make_room(dir: &Workdir, disk: &Disk) {
    let server = serve(dir, disk);
    let result = json!({ "result": "x".repeat(50_000) });
    let mut acknowledged: Vec<Value> = Vec::new();
    let (refused, unrecorded) = loop {
        let next = claim(&format!("OP-{}", acknowledged.len()));
        let answer = server.post("/v1/claims", &next);
        if answer.status != 200 {
            break (answer, None);
        }
        let granted = granted(&next, &answer.ok());
        let recorded = server.record(&granted, "complete", &result);
        if recorded.status != 200 {
            break (recorded, Some(granted));
        }
        acknowledged.push(next);
        assert!(acknowledged.len() < 1000, "the disk never became full");
    };
    let code = refused.json()["code"].as_str().unwrap().to_owned();
    refused.problem(503, &code);
    assert!(code.starts_with("DATABASE_"), "{code}");
    assert!(acknowledged.len() > 5, "{}", acknowledged.len());
    let ready = || server.send(&Call::get("/ready")).status;
    for _ in 0..3 {
        assert_eq!(ready(), 503, "nothing can be claimed");
    }
    make_room(dir, disk, &server);
    until("it is ready again", || ready() == 200);
    until("there is room again", || server.post("/v1/claims", &claim("AFTER")).status == 200);
    if let Some(granted) = unrecorded {
        server.record(&granted, "complete", &result).ok();
    }
    for known in &acknowledged {
        let answer = server.claim(&merged(known, &json!({ "attemptId": attempt() })));
        assert_eq!((&answer["claim"], &answer["outcome"]["result"]), (&json!("replay"), &result["result"]));
    }
}
