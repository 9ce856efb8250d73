//! One living owner of an installation's name, across processes too.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use onefold_core::error::DATABASE_IN_USE;
use onefold_core::port::Store as _;

use crate::fixture::{Folder, open};

/// Names the file whose installation a child process holds.
const CHILD_HOLDS: &str = "ONEFOLD_TEST_CHILD_HOLDS";

#[tokio::test]
async fn a_second_owner_hears_who_the_first_one_is() {
    let folder = Folder::new();
    let (one, two) = (open(folder.path()).await.unwrap(), open(folder.path()).await.unwrap());
    let held = one.lock_installation("alpha").unwrap();
    for store in [&one, &two] {
        let refused = store.lock_installation("alpha").err().unwrap();
        assert_eq!(refused.code(), DATABASE_IN_USE);
        let said = refused.to_string();
        assert!(said.contains(&std::process::id().to_string()), "{said}");
        assert!(
            said.contains(&folder.path().display().to_string()) && said.contains("another installation name"),
            "{said}"
        );
    }
    drop(held);
    two.lock_installation("alpha").unwrap();
}

#[tokio::test]
async fn a_child_holds_what_its_parent_names() {
    let Ok(path) = std::env::var(CHILD_HOLDS) else {
        return;
    };
    let store = open(path.into()).await.unwrap();
    let _held = store.lock_installation("alpha").unwrap();
    println!("\nheld");
    // Until the parent kills it, or goes away.
    let _ = std::io::stdin().lines().next();
}

#[tokio::test]
async fn a_living_process_keeps_its_name_and_a_killed_one_does_not() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "owner::a_child_holds_what_its_parent_names", "--nocapture"])
        .env(CHILD_HOLDS, folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    assert!(said.lines().any(|line| line.unwrap() == "held"));
    let refused = store.lock_installation("alpha").err().unwrap();
    assert_eq!(refused.code(), DATABASE_IN_USE);
    assert!(refused.to_string().contains(&format!("process {}", child.id())), "{refused}");
    store.lock_installation("beta").unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    store.lock_installation("alpha").unwrap();
}
