//! What a benchmark says for programs: points of its curves, versions of its peers, and the last line.

/// What every benchmark must say in its last line.
const FIELDS: [&str; 3] = ["ratio", "ours", "peer"];

/// The figures of one run.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// The fields of the last line.
    pub(super) result: Vec<(String, String)>,
    pub(super) points: Vec<Point>,
    /// Versions that only a run can find out, by name.
    pub(super) versions: Vec<(String, String)>,
}

/// One point of a curve.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) series: String,
    pub(super) x: f64,
    pub(super) y: f64,
}

/// Reads a benchmark's output line by line.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    name: &'a str,
    figures: Figures,
    last: String,
    wrong: Option<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(name: &'a str) -> Self {
        Self { name, figures: Figures::default(), last: String::new(), wrong: None }
    }

    /// One line of the output; most are for people.
    pub(super) fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => return,
            ["point", name, fields @ ..] if *name == self.name => match point(fields) {
                Some(point) => self.figures.points.push(point),
                None => self.wrong = Some(format!("a point must be `point {name} series=… x=… y=…`: {line:?}")),
            },
            ["version", name, version @ ..] => {
                self.figures.versions.push(((*name).to_owned(), version.join(" ")));
            }
            _ => {}
        }
        line.clone_into(&mut self.last);
    }

    /// All of it, once the output has ended.
    pub(super) fn end(self) -> Result<Figures, String> {
        let result = last_line(self.name, &self.last)?;
        self.wrong.map_or(Ok(Figures { result, ..self.figures }), Err)
    }
}

fn point(fields: &[&str]) -> Option<Point> {
    let value = |key: &str| fields.iter().find_map(|field| field.strip_prefix(key)?.strip_prefix('='));
    let number = |key: &str| value(key)?.parse().ok().filter(|number: &f64| number.is_finite());
    Some(Point { series: value("series")?.to_owned(), x: number("x")?, y: number("y")? })
}

/// Reads `NAME ratio=… ours=… peer=…`.
fn last_line(name: &str, line: &str) -> Result<Vec<(String, String)>, String> {
    let wrong = |what: &str| format!("the last line must be `{name} ratio=… ours=… peer=…`, but {what}: {line:?}");
    let mut words = line.split_whitespace();
    if words.next() != Some(name) {
        return Err(wrong("it does not begin with the name"));
    }
    let fields: Vec<(String, String)> =
        words.filter_map(|word| word.split_once('=')).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    for needed in FIELDS {
        if !fields.iter().any(|(key, value)| key == needed && !value.is_empty()) {
            return Err(wrong(&format!("it has no {needed}")));
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<Figures, String> {
        let mut reader = Reader::new("replay");
        for line in lines {
            reader.line(line);
        }
        reader.end()
    }

    #[test]
    fn the_last_line_gives_the_result() {
        let figures = read(&["round 1: fine", "replay ratio=2.5 ours=500 peer=200", ""]).unwrap();
        assert_eq!(figures.result[0], ("ratio".to_owned(), "2.5".to_owned()));
        assert_eq!(figures.result.len(), 3);
    }

    #[test]
    fn a_last_line_of_another_form_is_refused() {
        for line in ["", "done", "growth ratio=1 ours=1 peer=1", "replay ratio=1 ours=1", "replay ratio= ours=1 peer=1"]
        {
            assert!(read(&[line]).is_err(), "{line}");
        }
    }

    #[test]
    fn points_and_versions_are_read_wherever_they_stand() {
        let figures = read(&[
            "version postgres 15.6 (Debian)",
            "point replay series=ours x=64 y=25200.5",
            "point of no concern",
            "replay ratio=1 ours=1 peer=1",
        ]);
        let figures = figures.unwrap();
        assert_eq!(figures.points, [Point { series: "ours".to_owned(), x: 64.0, y: 25_200.5 }]);
        assert_eq!(figures.versions, [("postgres".to_owned(), "15.6 (Debian)".to_owned())]);
    }

    #[test]
    fn a_point_without_its_numbers_is_refused() {
        for line in ["point replay series=ours x=64", "point replay x=1 y=1", "point replay series=ours x=1 y=inf"] {
            let wrong = read(&[line, "replay ratio=1 ours=1 peer=1"]).unwrap_err();
            assert!(wrong.contains("series=… x=… y=…"), "{wrong}");
        }
    }
}
