//! Time and chance come in through ports: nothing else asks the system.

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
        let text = std::fs::read_to_string(file).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in product.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in asks {
                assert!(!code.contains(word), "{}:{}: {word}", file.display(), number + 1);
            }
        }
    }
}
