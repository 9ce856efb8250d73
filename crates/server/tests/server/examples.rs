//! The examples in other languages run as their pages say.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::gateway_try::free_port;

/// Runs an example in a copy of its folder, on ports of its own.
fn run(language: &str, program: &str, script: &str, ports: [&str; 2]) {
    let there = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    assert!(there.is_ok(), "{program} is not installed, and the example in examples/{language} needs it: install it");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(language);
    let copy = tempfile::tempdir().unwrap();
    let free = [free_port().to_string(), free_port().to_string()];
    for file in std::fs::read_dir(example).unwrap().map(|file| file.unwrap()) {
        let text = std::fs::read_to_string(file.path()).unwrap();
        let text = ports.iter().zip(&free).fold(text, |text, (port, free)| text.replace(port, free));
        std::fs::write(copy.path().join(file.file_name()), text).unwrap();
    }
    let ran = Command::new(program)
        .arg(copy.path().join(script))
        .current_dir(copy.path())
        .env("ONEFOLD", env!("CARGO_BIN_EXE_onefold"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.ends_with("sent twice, charged 1 time\n"), "{said}");
}

#[test]
fn a_service_in_python_charges_once() {
    run("python", "python3", "run.py", ["8181", "7181"]);
}

#[test]
fn a_service_in_node_charges_once() {
    run("node", "node", "run.mjs", ["8182", "7182"]);
}

/// The service that a runner starts must not outlive it, whatever else cannot be started.
fn leaves_nothing_behind(language: &str, program: &str, script: &str, port: &str) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(language);
    let copy = tempfile::tempdir().unwrap();
    let free = free_port().to_string();
    for file in std::fs::read_dir(example).unwrap().map(|file| file.unwrap()) {
        let text = std::fs::read_to_string(file.path()).unwrap().replace(port, &free);
        std::fs::write(copy.path().join(file.file_name()), text).unwrap();
    }
    let mut runner = Command::new(program)
        .arg(copy.path().join(script))
        .current_dir(copy.path())
        .env("ONEFOLD", copy.path().join("no-such-program"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A process that still has its stderr was left behind: it ends when the last of them does.
    let (mut stderr, (ended, all_ended)) = (runner.stderr.take().unwrap(), std::sync::mpsc::channel());
    std::thread::spawn(move || ended.send(std::io::read_to_string(&mut stderr)));
    assert!(!runner.wait().unwrap().success());
    let said = all_ended.recv_timeout(Duration::from_secs(30));
    assert!(said.is_ok(), "{language}: the service outlives its runner");
    assert!(std::net::TcpStream::connect(format!("127.0.0.1:{free}")).is_err(), "the service still listens");
}

#[test]
fn a_runner_that_cannot_start_the_gateway_leaves_no_service_behind() {
    leaves_nothing_behind("python", "python3", "run.py", "8181");
    leaves_nothing_behind("node", "node", "run.mjs", "8182");
}
