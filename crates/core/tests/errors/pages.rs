//! `docs/errors` is what the registry says, `docs/runbooks` what the binary shows. Renew it with `UPDATE_ERRORS=1 cargo test -p onefold-core --test errors`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use onefold_core::error::{ALL, registry_json, runbook};
use onefold_core::incident::{RUNBOOKS, runbook_page};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors"))
}

/// Every file that should be there, with its text.
fn wanted() -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = ALL.iter().map(|code| (format!("{code}.md"), runbook(*code))).collect();
    files.insert("registry.json".to_owned(), format!("{:#}\n", registry_json(ALL)));
    files
}

#[test]
fn every_code_has_its_page_and_no_page_is_left_over() {
    let folder = folder();
    if std::env::var_os("UPDATE_ERRORS").is_some() {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in wanted() {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
    let found: BTreeMap<String, String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    let renew = "renew with UPDATE_ERRORS=1 cargo test -p onefold-core --test errors";
    for (name, text) in wanted() {
        assert_eq!(found.get(&name), Some(&text), "docs/errors/{name}: {renew}");
    }
    assert_eq!(found.len(), wanted().len(), "a page is left over: {renew}");
}

#[test]
fn every_runbook_is_documented_as_the_binary_shows_it() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/runbooks"));
    for name in RUNBOOKS {
        let (path, page) = (folder.join(format!("{name}.md")), runbook_page(name).unwrap());
        if std::env::var_os("UPDATE_ERRORS").is_some() {
            std::fs::write(&path, page).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), page, "docs/runbooks/{name}.md");
        for part in ["**First check.**", "**Is a retry safe?**", "**What next.**", "**Never do.**", "**Escalation.**"] {
            assert!(page.contains(part), "{name} lacks {part}");
        }
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), RUNBOOKS.len(), "a runbook is left over");
    assert_eq!(runbook_page("../secrets"), None);
}
