//! What users see, pinned: whatever differs from run to run is replaced by its name.

use serde_json::{Map, Value};

/// Shapes of what differs: `0` is a digit, `x` a hexadecimal one, `*` the rest of a word.
const SHAPES: &[(&str, &str)] = &[
    ("0000-00-00T00:00:00", "[time]"),
    ("0000-00-00 00:00:00", "[time]"),
    ("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "[uuid]"),
    ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "[digest]"),
    ("inc_*", "[incident]"),
    ("rpl_*", "[replay]"),
    ("onefold_*", "[token]"),
    ("127.0.0.1:*", "[address]"),
];

/// Numbers that depend on the clock.
const CLOCKED: &[&str] = &["deadlineInSeconds", "retryAfterSeconds"];

/// A text without what differs from run to run.
pub(crate) fn masked(text: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut seen = String::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(next) = rest.chars().next() {
        let found = SHAPES.iter().find_map(|(shape, name)| Some((length(shape, rest)?, name)));
        let Some((length, name)) = found.filter(|_| !before.is_ascii_alphanumeric()) else {
            seen.push(next);
            rest = &rest[next.len_utf8()..];
            before = next;
            continue;
        };
        seen.push_str(name);
        rest = &rest[length..];
        before = ']';
        if *name == "[time]" {
            rest = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
            rest = rest.strip_prefix('Z').unwrap_or(rest);
        }
    }
    seen.replace(version, "[version]")
}

/// How much of a text has this shape.
fn length(shape: &str, text: &str) -> Option<usize> {
    let word = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let mut chars = text.char_indices();
    for expected in shape.chars() {
        let (at, c) = chars.next()?;
        match expected {
            '*' => return (word(c)).then(|| at + text[at..].find(|c| !word(c)).unwrap_or(text.len() - at)),
            '0' if c.is_ascii_digit() => {}
            'x' if c.is_ascii_hexdigit() => {}
            other if other == c && !"0x".contains(other) => {}
            other if other == c && c.is_ascii_digit() => {}
            _ => return None,
        }
    }
    Some(shape.len())
}

/// JSON without what differs from run to run, its fields in alphabetical order.
pub(crate) fn masked_json(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(masked(text)),
        Value::Array(items) => items.iter().map(masked_json).collect(),
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            let shown = |name: &str| match &fields[name] {
                Value::Number(_) if CLOCKED.contains(&name) => "[seconds]".into(),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)
                | Value::Object(_) => masked_json(&fields[name]),
            };
            Value::Object(names.into_iter().map(|name| (name.clone(), shown(name))).collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

/// Holds JSON against its snapshot.
pub(crate) fn json_is(name: &str, value: &Value) {
    settings().bind(|| insta::assert_json_snapshot!(name, masked_json(value)));
}

/// Holds a text against its snapshot.
pub(crate) fn text_is(name: &str, text: &str) {
    settings().bind(|| insta::assert_snapshot!(name, masked(text)));
}

#[test]
fn what_differs_from_run_to_run_is_replaced_and_the_rest_stays() {
    let rows = [
        ("at 2026-11-15T08:00:00.123456Z it", "at [time] it"),
        ("2026-11-15 08:00:00  x", "[time]  x"),
        ("inc_6mAb-0lS_z, then", "[incident], then"),
        ("http://127.0.0.1:4711/x", "http://[address]/x"),
        ("7 operations on 2026-11", "7 operations on 2026-11"),
    ];
    for (text, seen) in rows {
        assert_eq!(masked(text), seen);
    }
}
