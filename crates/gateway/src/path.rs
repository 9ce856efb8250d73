//! Paths: those that two servers could read differently are refused, the others are compared decoded.

/// The segments of a path, decoded; none where the path is ambiguous: another server could read it differently.
///
/// A slash at the end is not a segment: an upstream may not care about it, so neither does a guard.
pub(super) fn segments(path: &str) -> Option<Vec<String>> {
    let rest = path.strip_prefix('/')?;
    // What follows a semicolon belongs to the segment for some and is dropped by others.
    if path.contains("//") || path.contains(['\\', '#', ';']) || path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return None;
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() {
        return Some(Vec::new());
    }
    rest.split('/').map(segment).collect()
}

/// The segments of a path as they were sent, for one that [`segments`] takes.
pub(super) fn raw(path: &str) -> Vec<&str> {
    let rest = path.strip_prefix('/').unwrap_or(path);
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() { Vec::new() } else { rest.split('/').collect() }
}

/// Where in a path a segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Within,
    Last,
}

/// Whether some server would take one segment for the other: they differ only in case, in blanks around them, or, at the
/// end of a path, in a suffix behind a dot.
pub(super) fn looks_like(wanted: &str, segment: &str, position: Position) -> bool {
    let (wanted, segment) = (folded(wanted), folded(segment));
    let suffixed = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
    let ends = position == Position::Last;
    wanted == segment || ends && (suffixed(&segment, &wanted) || suffixed(&wanted, &segment))
}

/// Some letters have another lower case than the one that their upper case has; both ways make them one.
fn folded(segment: &str) -> String {
    segment.trim().chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

fn segment(raw: &str) -> Option<String> {
    if raw == "." || raw == ".." {
        return None;
    }
    let mut decoded = Vec::with_capacity(raw.len());
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let byte = hex(bytes.next()?)? << 4 | hex(bytes.next()?)?;
        // A dot, a slash, a semicolon or a percent sign that is encoded is one that somebody else would decode.
        if matches!(byte, b'.' | b'/' | b'\\' | b';' | b'%') || byte < b' ' || byte == 0x7f {
            return None;
        }
        decoded.push(byte);
    }
    String::from_utf8(decoded).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_could_mean_another_one_is_refused() {
        let bad = [
            "/a/../b",
            "/..",
            "/.",
            "/a/.",
            "/a/%2e%2e/b",
            "/%2E/b",
            "/a%2fb",
            "/a%2Fb",
            "//a",
            "/a//b",
            "/a\\b",
            "/a%5cb",
            "/a%00",
            "/a%",
            "/a%2",
            "/a%zz",
            "/a%252e",
            "/..;/a",
            "/a;b",
            "/a;/b",
            "/a/;v=1",
            "/a%3bb",
            "/a%3B/b",
            "a",
            "",
            "*",
            "/a%0d%0ab",
            "/%ff",
        ];
        for path in bad {
            assert_eq!(segments(path), None, "{path}");
        }
    }

    #[test]
    fn a_segment_looks_like_another_that_differs_in_spelling_only() {
        let alike = ["charges", "CHARGES", "Charge\u{17f}", "charges ", " charges", "charges\u{a0}"];
        for segment in alike {
            assert!(looks_like("charges", segment, Position::Within), "{segment:?}");
        }
        for segment in ["charges.json", "charges.", "CHARGES.XML", "charges.tar.gz"] {
            assert!(looks_like("charges", segment, Position::Last), "{segment:?}");
            assert!(looks_like(segment, "charges", Position::Last), "{segment:?}");
            assert!(!looks_like("charges", segment, Position::Within), "{segment:?}");
        }
        for segment in ["charge", "chargess", "charges-json", "x.charges", "ch arges"] {
            assert!(!looks_like("charges", segment, Position::Last), "{segment:?}");
        }
        assert!(!looks_like("v1.0", "v1.5", Position::Last));
    }

    #[test]
    fn other_paths_are_compared_decoded() {
        assert_eq!(segments("/").unwrap(), [""; 0]);
        assert_eq!(segments("/p%61yments/a b".replace(' ', "%20").as_str()).unwrap(), ["payments", "a b"]);
        assert_eq!(segments("/payments/").unwrap(), ["payments"]);
        assert_eq!(segments("/v1.2/a..b/caf%C3%A9").unwrap(), ["v1.2", "a..b", "café"]);
    }
}
