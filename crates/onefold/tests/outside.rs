//! A crate outside the workspace, as a user would write it, needs nothing but `onefold`.

use std::path::Path;
use std::process::Command;

#[test]
fn a_crate_outside_the_workspace_is_built_and_its_tests_pass() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (workspace, outside) = (here.join("../.."), here.join("tests/outside"));
    // The versions that the workspace was built with.
    std::fs::copy(workspace.join("Cargo.lock"), outside.join("Cargo.lock")).expect("the lock file is copied");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), Into::into);
    let ended = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--manifest-path"])
        .arg(outside.join("Cargo.toml"))
        // A folder of its own: the one of the workspace may be locked by the process that runs this test.
        .env("CARGO_TARGET_DIR", target.join("outside"))
        .status()
        .expect("cargo starts");
    assert!(ended.success(), "{ended}");
}
