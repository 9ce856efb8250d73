//! The pages, and the blocks and commands in them.

use std::path::{Path, PathBuf};

/// A page with its fenced blocks.
pub(super) struct Page {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) blocks: Vec<Block>,
}

/// A fenced block.
pub(super) struct Block {
    /// `page:line` of its first line.
    pub(super) at: String,
    /// What stands behind the fence: its language.
    pub(super) language: String,
    pub(super) text: String,
    /// The last line of text before it.
    pub(super) before: String,
}

/// A command of a `console` block, and what the page shows under it.
pub(super) struct Step {
    pub(super) command: String,
    pub(super) shown: String,
}

/// The folder of the project.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The README and every guide.
pub(super) fn pages() -> Vec<Page> {
    let guides = std::fs::read_dir(root().join("docs/guides")).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<String> = guides.map(|name| format!("docs/guides/{}", name.to_string_lossy())).collect();
    names.sort();
    names.insert(0, "README.md".to_owned());
    names.into_iter().map(page).collect()
}

fn page(name: String) -> Page {
    let text = std::fs::read_to_string(root().join(&name)).unwrap();
    let (mut blocks, mut before, mut open) = (Vec::new(), String::new(), None::<Block>);
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                let at = format!("{name}:{}", number + 2);
                let before = std::mem::take(&mut before);
                open = Some(Block { at, language: language.to_owned(), text: String::new(), before });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) if line.trim().is_empty() => {}
            (None, None) => line.clone_into(&mut before),
        }
    }
    assert!(open.is_none(), "{name}: a block is not closed");
    Page { name, text, blocks }
}

impl Block {
    /// The commands of a `console` block. One that ends in a backslash or inside quotes goes on in the next line.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for line in self.text.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                steps.push(Step { command: command.to_owned(), shown: String::new() });
                continue;
            }
            let step = steps.last_mut().unwrap_or_else(|| panic!("{}: output without a command before it", self.at));
            let unfinished = step.command.ends_with('\\') || step.command.matches('\'').count() % 2 == 1;
            if unfinished && step.shown.is_empty() {
                step.command.push('\n');
                step.command.push_str(line);
            } else {
                step.shown.push_str(line);
                step.shown.push('\n');
            }
        }
        steps
    }
}
