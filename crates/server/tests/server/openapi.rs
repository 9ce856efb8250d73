//! The description that is committed is the one that is served.

use serde_json::Value;

use crate::description::{CODES, file};
use crate::fixture::Workdir;

#[test]
fn the_committed_description_is_the_served_one() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let described = server.get("/openapi.json").ok();
    let file = file();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&file, serde_json::to_string_pretty(&described).unwrap() + "\n").unwrap();
    }
    let committed: Value = serde_json::from_slice(&std::fs::read(&file).unwrap_or_default()).unwrap_or_default();
    assert!(
        committed == described,
        "docs/openapi.json is not what the server serves; renew it and look at what changed:\n  \
         UPDATE_OPENAPI=1 cargo test -p onefold-server --test server openapi"
    );
}

#[test]
fn every_route_is_described_with_its_problems() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let described = server.get("/openapi.json").ok();
    assert_eq!(described["openapi"].as_str().map(|version| &version[..3]), Some("3.1"));
    let paths = described["paths"].as_object().unwrap();
    assert!(paths.len() >= 20, "{:?}", paths.keys());
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.contains_key("200"), "{method} {path}");
            let open = ["/health", "/ready", "/errors/{code}", "/runbooks/{name}"].contains(&path.as_str());
            assert!(open || responses.contains_key("401"), "{method} {path}");
            let ranges = responses.keys().any(|status| status.ends_with("XX"));
            assert!(!ranges && !operation[CODES].as_array().unwrap().is_empty(), "{method} {path}");
        }
    }
}
