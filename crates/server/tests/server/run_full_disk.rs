//! `onefold run` when the ledger cannot be written: the outcome is kept, said to be, and recorded later.

use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use crate::fixture::{Ran, Workdir, until};
use crate::run::{run, started, status, times};

const SCRIPT: &str = "echo x >> ran; while [ ! -e go ]; do sleep 0.05; done; echo done";

/// A run whose command waits for the file `go`, and that may write no file beyond its first pages from then on.
fn run_without_room(dir: &Workdir, id: &str) -> Child {
    // Ignored signals stay ignored: a write beyond the limit fails instead of killing.
    let line = format!("trap '' XFSZ; exec \"$0\" run --id {id} -- sh -c '{SCRIPT}'");
    let mut command = Command::new("sh");
    command.args(["-c", &line]).arg(env!("CARGO_BIN_EXE_onefold")).current_dir(dir.folder());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the command runs", || times(dir) == 1);
    let limit = Rlimit { current: Some(4096), maximum: None };
    prlimit(Some(Pid::from_child(&child)), Resource::Fsize, limit).unwrap();
    child
}

fn assert_kept(ended: &Ran) {
    assert_eq!(ended.code, Some(80), "{}", ended.err());
    assert!(ended.err().contains("OUTCOME_NOT_RECORDED") && ended.err().contains("waits in"), "{}", ended.err());
}

/// The files that outcomes wait in.
fn waiting(dir: &Workdir) -> usize {
    let entries = std::fs::read_dir(dir.folder()).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "outcome")).count()
}

#[test]
fn an_outcome_that_the_ledger_does_not_take_is_kept_and_recorded_by_the_next_command() {
    let dir = Workdir::new();
    let running = run_without_room(&dir, "job:1");
    std::fs::write(dir.path("go"), "").unwrap();
    let began = std::time::Instant::now();
    let ended = Ran::from(running.wait_with_output().unwrap());
    assert_kept(&ended);
    // Recording is given up after 15 seconds: the caller of a run is not kept waiting for a ledger.
    assert!(began.elapsed() < std::time::Duration::from_mins(2), "{:?}: {}", began.elapsed(), ended.err());
    assert!(ended.err().contains("the ledger does not take the outcome"), "not in silence: {}", ended.err());
    assert_eq!(waiting(&dir), 1);
    let looked = dir.run(&["operations", "show", "job:1", "--json"]);
    assert_eq!(looked.json()["operation"]["status"], "COMPLETED");
    assert!(looked.err().contains("the outcome of an earlier run is recorded now"), "{}", looked.err());
    assert_eq!(waiting(&dir), 0);
    assert_eq!((run(&dir, "job:1", &[], SCRIPT).code, times(&dir)), (Some(0), 1));
}

#[test]
fn a_server_records_what_a_run_left_behind() {
    let dir = Workdir::new();
    let running = run_without_room(&dir, "job:1");
    std::fs::write(dir.path("go"), "").unwrap();
    assert_kept(&Ran::from(running.wait_with_output().unwrap()));
    let server = dir.serve(&["--sweep-every", "100ms"]);
    until("it is recorded", || waiting(&dir) == 0);
    assert_eq!(server.get("/v1/operations?id=job:1").ok()["items"][0]["status"], "COMPLETED");
}

#[test]
fn a_signal_ends_a_run_that_cannot_record() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let dir = Workdir::new();
        let mut running = run_without_room(&dir, "job:1");
        std::fs::write(dir.path("go"), "").unwrap();
        let mut said = String::new();
        let mut stderr = std::io::BufReader::new(running.stderr.take().unwrap());
        while !said.contains("the ledger does not take the outcome") {
            assert!(std::io::BufRead::read_line(&mut stderr, &mut said).unwrap() > 0, "{said}");
        }
        let began = std::time::Instant::now();
        kill_process(Pid::from_child(&running), signal).unwrap();
        std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
        assert_eq!(running.wait().unwrap().code(), Some(80), "{said}");
        assert!(said.contains(&format!("signal {}", signal.as_raw())), "{said}");
        // Without the signal it would have gone on for 15 seconds.
        assert!(began.elapsed() < std::time::Duration::from_secs(14), "{said}");
        assert_eq!(status(&dir, "job:1")["status"], "COMPLETED");
    }
}

#[test]
fn an_outcome_fits_although_the_command_itself_filled_the_disk() {
    let dir = Workdir::new();
    let disk = "mkdir disk && mount -t tmpfs -o size=3m tmpfs disk";
    let tried = Command::new("unshare")
        .args(["-rm", "sh", "-c", disk])
        .current_dir(dir.folder())
        .stderr(Stdio::null())
        .status();
    let _ = std::fs::remove_dir(dir.path("disk"));
    if !tried.is_ok_and(|status| status.success()) {
        // Nothing may be mounted here: a limit on the size of files stands for the full disk.
        let running = run_without_room(&dir, "job:1");
        std::fs::write(dir.path("go"), "").unwrap();
        assert_kept(&Ran::from(running.wait_with_output().unwrap()));
        assert_eq!(status(&dir, "job:1")["status"], "COMPLETED");
        return;
    }
    let script = format!(
        "{disk} || exit 9
        \"$0\" run --database sqlite:disk/onefold.db --id job:1 -- sh -c 'echo x >> ran; cat /dev/zero > disk/more; echo done'
        echo ended $?
        rm disk/more
        \"$0\" operations show job:1 --json --database sqlite:disk/onefold.db"
    );
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script]).arg(env!("CARGO_BIN_EXE_onefold")).current_dir(dir.folder());
    let ran: Ran = command.stdin(Stdio::null()).output().unwrap().into();
    let (first, shown) = ran.out().split_once("ended ").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(first.contains("done") && ran.err().contains("OUTCOME_NOT_RECORDED"), "{}{}", ran.out(), ran.err());
    let (code, json) = shown.split_once('\n').unwrap();
    assert_eq!(code, "80");
    let shown: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!((&shown["operation"]["status"], times(&dir)), (&"COMPLETED".into(), 1), "{shown}");
}

#[test]
fn a_run_that_was_killed_leaves_nothing_that_could_be_taken_for_an_outcome() {
    let dir = Workdir::new();
    let mut running = started(&dir, "job:1", &["--lease", "1s"], SCRIPT);
    until("the command runs", || times(&dir) == 1);
    assert_eq!(waiting(&dir), 1, "room for the outcome is taken before the command is started");
    assert_eq!(status(&dir, "job:1")["status"], "STARTED");
    assert_eq!(waiting(&dir), 1, "the file of a living run is left alone");
    running.kill().unwrap();
    running.wait().unwrap();
    std::fs::write(dir.path("go"), "").unwrap();
    until("its lease has expired", || status(&dir, "job:1")["status"] == "UNKNOWN");
    assert_eq!(waiting(&dir), 0);
}
