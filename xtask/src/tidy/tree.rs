//! The files that a change consists of: tracked, or new and not ignored.

use std::path::Path;
use std::process::Command;

/// The repository's files, in the order of their paths.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
}

/// One file; the path is relative to the root, with slashes.
pub(super) struct File {
    pub(super) path: String,
    /// Empty when the file is not text.
    pub(super) text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let mut paths = listed_by_git(root).map_or_else(|| walked(root), Ok)?;
        paths.sort();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            // Git also lists files that were deleted and links to folders.
            if root.join(&path).is_file() {
                let bytes = std::fs::read(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
                files.push(File { path, text: String::from_utf8(bytes).unwrap_or_default() });
            }
        }
        Ok(Self { files })
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        Self { files: files.iter().map(file).collect() }
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let paths = String::from_utf8_lossy(&listed.stdout);
    Some(paths.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

/// For a copy of the sources without git: everything but what is built.
fn walked(root: &Path) -> Result<Vec<String>, String> {
    eprintln!("tidy: git cannot list the files, so every file outside target/ is looked at");
    let mut paths = Vec::new();
    walk(root, "", &mut paths)?;
    Ok(paths)
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{folder}: {error}");
    for entry in std::fs::read_dir(root.join(folder)).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_file() {
            paths.push(path);
        } else if kind.is_dir() && name != "target" && name != ".git" {
            walk(root, &path, paths)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_git_everything_but_what_is_built_is_looked_at() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let paths = walked(here).unwrap();
        assert!(paths.contains(&"src/tidy/tree.rs".to_owned()), "{paths:?}");
        assert!(!paths.iter().any(|path| path.starts_with("target/")), "{paths:?}");
    }
}
