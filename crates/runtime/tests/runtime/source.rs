//! Time and chance come in through ports: nothing else asks the system, and the rules wait for nothing.

use std::path::{Path, PathBuf};

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The lines of a file with their numbers: without tests and comments.
fn product_lines(file: &Path) -> Vec<(usize, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let product = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    product.lines().enumerate().map(|(number, line)| (number + 1, code(line))).collect()
}

#[test]
fn the_rules_await_nothing() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    rust_files(&crates.join("core/src"), &mut files);
    assert!(files.len() > 60, "{} files", files.len());
    for file in files {
        for (number, code) in product_lines(&file) {
            let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
            let waits = words.into_iter().find(|word| ["async", "await"].contains(word));
            assert_eq!(waits, None, "{}:{number}: {code}", file.display());
        }
    }
}

#[test]
fn only_the_system_module_asks_the_system_for_time_and_chance() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["core/src", "runtime/src", "sqlite/src"] {
        rust_files(&crates.join(folder), &mut files);
    }
    assert!(files.len() > 60, "{} files", files.len());
    let asks =
        ["SystemTime::now", "Instant::now", "tokio::time", "clock_gettime", "getrandom::", "thread::sleep", "rand::"];
    for file in files.iter().filter(|file| !file.ends_with("runtime/src/system.rs")) {
        for (number, code) in product_lines(file) {
            for word in asks {
                assert!(!code.contains(word), "{}:{number}: {word}", file.display());
            }
        }
    }
}
