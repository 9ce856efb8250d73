//! A line plot as one SVG file: light and dark, with labelled axes and lines, and nothing to load from elsewhere.

use std::fmt::Write as _;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
/// The area of the lines; labels of the lines are to its right.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 616.0;
const MIDDLE: f64 = f64::midpoint(LEFT, RIGHT);
const TOP: f64 = 64.0;
const BOTTOM: f64 = 372.0;
/// Labels of lines are at least this far apart.
const LABEL_HEIGHT: f64 = 18.0;
/// Steps of the axis of values, about.
const STEPS: f64 = 5.0;

/// Colours of the lines, light and dark; further lines begin anew.
const COLOURS: [(&str, &str); 5] = [
    ("#1f6fd6", "#6cb0ff"),
    ("#c2560a", "#ff9f57"),
    ("#1b7f4b", "#5fd394"),
    ("#8a3fc4", "#cf9bff"),
    ("#6b6b6b", "#b0b0b0"),
];

/// What is drawn: values from zero on, over an axis whose steps are equal factors.
#[derive(Debug)]
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    /// What the horizontal axis counts.
    pub(super) across: &'a str,
    /// What the vertical axis measures, with its unit.
    pub(super) up: &'a str,
    pub(super) lines: Vec<Line<'a>>,
}

/// One line and its label.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) label: &'a str,
    pub(super) points: Vec<(f64, f64)>,
}

/// A line that has points, with the colour of its place among all.
struct Drawn<'a> {
    colour: usize,
    label: &'a str,
    points: Vec<(f64, f64)>,
}

impl Plot<'_> {
    /// The file's text.
    pub(super) fn svg(&self) -> String {
        let mut svg = String::new();
        self.head(&mut svg);
        let lines: Vec<Drawn<'_>> = self.lines.iter().enumerate().filter_map(drawn).collect();
        match Scales::over(lines.iter().flat_map(|line| line.points.iter().copied())) {
            Some(scales) => body(&mut svg, &scales, &lines),
            None => {
                let _ = writeln!(svg, "{}", text(MIDDLE, f64::midpoint(TOP, BOTTOM), "middle", "no figures"));
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn head(&self, svg: &mut String) {
        let title = escaped(self.title);
        let _ = writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">"
        );
        let _ = writeln!(svg, "<title>{title}</title>\n<style>\n{}</style>", style());
        let _ = writeln!(svg, "<rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\"/>");
        let _ = writeln!(svg, "<text class=\"title\" x=\"20\" y=\"28\">{title}</text>");
        let _ = writeln!(svg, "{}", text(LEFT - 64.0, TOP - 14.0, "start", self.up));
        let _ = writeln!(svg, "{}", text(MIDDLE, BOTTOM + 48.0, "middle", self.across));
    }
}

/// Paper, ink and lines change together, so that the plot is readable on any page.
fn style() -> String {
    let mut light =
        "text { font: 13px system-ui, sans-serif; fill: #24292f }\n.title { font-size: 15px; font-weight: 600 }\n\
         .tick { fill: #57606a }\n.paper { fill: #ffffff }\n.grid { stroke: #d8dee4 }\n.axis { stroke: #6e7781 }\n\
         polyline { fill: none; stroke-width: 2.5; stroke-linejoin: round }\n"
            .to_owned();
    let mut dark =
        "text { fill: #e6edf3 } .tick { fill: #9ba5b0 } .paper { fill: #12161c } .grid { stroke: #2b323b } .axis { stroke: #8b949e }\n"
            .to_owned();
    for (number, (in_light, in_dark)) in COLOURS.iter().enumerate() {
        for (style, colour) in [(&mut light, in_light), (&mut dark, in_dark)] {
            let _ = writeln!(
                style,
                ".line{number} {{ fill: {colour} }} polyline.line{number} {{ fill: none; stroke: {colour} }}"
            );
        }
    }
    format!("{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n")
}

/// What can be drawn, from left to right: the horizontal axis has no place for zero.
fn drawn<'a>((number, line): (usize, &Line<'a>)) -> Option<Drawn<'a>> {
    let fits = |(x, y): &(f64, f64)| x.is_finite() && *x > 0.0 && y.is_finite() && *y >= 0.0;
    let mut points: Vec<(f64, f64)> = line.points.iter().copied().filter(fits).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    (!points.is_empty()).then_some(Drawn { colour: number % COLOURS.len(), label: line.label, points })
}

/// The axes, the lines and their labels.
fn body(svg: &mut String, scales: &Scales, lines: &[Drawn<'_>]) {
    scales.axes(svg);
    let mut labels = Vec::new();
    for Drawn { colour, label, points } in lines {
        let places: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (scales.across(x), scales.up(y))).collect();
        draw(svg, *colour, &places);
        labels.extend(places.last().map(|&(_, y)| (*colour, *label, y)));
    }
    for (colour, label, y) in apart(labels) {
        let label = format!("<tspan class=\"line{colour}\">●</tspan> {}", escaped(label));
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\">{label}</text>", RIGHT + 16.0, y + 4.0);
    }
}

/// Where figures lie on the paper.
#[derive(Debug)]
struct Scales {
    /// Every value of the horizontal axis, once.
    ticks: Vec<f64>,
    /// The end of the vertical axis, and its step.
    top: f64,
    step: f64,
}

impl Scales {
    fn over(points: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let (mut ticks, values): (Vec<f64>, Vec<f64>) = points.unzip();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let highest = values.into_iter().reduce(f64::max)?;
        let step = round_step(highest / STEPS);
        Some(Self { ticks, top: step * (highest / step).ceil().max(1.0), step })
    }

    /// Equal factors are equally far apart; a single value is in the middle.
    fn across(&self, x: f64) -> f64 {
        let (first, last) = (self.ticks[0], self.ticks[self.ticks.len() - 1]);
        let share = if last > first { (x / first).ln() / (last / first).ln() } else { 0.5 };
        LEFT + 16.0 + share * (RIGHT - LEFT - 32.0)
    }

    /// From zero, so that heights compare as the figures do.
    fn up(&self, y: f64) -> f64 {
        BOTTOM - y / self.top * (BOTTOM - TOP)
    }

    fn axes(&self, svg: &mut String) {
        let mut value = 0.0;
        while value <= self.top + self.step / 2.0 {
            let y = self.up(value);
            let class = if value == 0.0 { "axis" } else { "grid" };
            let _ = writeln!(svg, "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>");
            let _ = writeln!(svg, "{}", tick(LEFT - 10.0, y + 4.0, "end", value));
            value += self.step;
        }
        for &x in &self.ticks {
            let place = self.across(x);
            let _ = writeln!(svg, "<path class=\"axis\" d=\"M{place:.1} {BOTTOM}v6\"/>");
            let _ = writeln!(svg, "{}", tick(place, BOTTOM + 22.0, "middle", x));
        }
    }
}

/// The least of 1, 2, 2.5, 5 and their multiples by ten that is not below.
fn round_step(least: f64) -> f64 {
    if least <= 0.0 {
        return 1.0;
    }
    let unit = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * unit >= least).unwrap_or(10.0);
    factor * unit
}

fn draw(svg: &mut String, colour: usize, places: &[(f64, f64)]) {
    if places.len() > 1 {
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(svg, "<polyline class=\"line{colour}\" points=\"{}\"/>", path.join(" "));
    }
    for (x, y) in places {
        let _ = writeln!(svg, "<circle class=\"line{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
    }
}

/// Labels at the height of their line's end, pushed apart where they would cover each other.
fn apart(mut labels: Vec<(usize, &str, f64)>) -> Vec<(usize, &str, f64)> {
    labels.sort_by(|a, b| a.2.total_cmp(&b.2));
    let mut lowest = f64::INFINITY;
    // From below, so that none leaves the paper.
    for (_, _, y) in labels.iter_mut().rev() {
        *y = y.min(lowest - LABEL_HEIGHT);
        lowest = *y;
    }
    labels
}

fn tick(x: f64, y: f64, anchor: &str, value: f64) -> String {
    format!("<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", figure(value))
}

fn text(x: f64, y: f64, anchor: &str, says: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(says))
}

/// With separators between thousands, and decimals only where they say something.
pub(super) fn figure(value: f64) -> String {
    let shown = if value.abs() < 10.0 && value.fract() != 0.0 { format!("{value:.2}") } else { format!("{value:.0}") };
    let (whole, decimals) = shown.split_once('.').map_or((shown.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let mut separated = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            separated.push(',');
        }
        separated.push(digit);
    }
    decimals.map_or_else(|| separated.clone(), |decimals| format!("{separated}.{decimals}"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(lines: Vec<Line<'_>>) -> String {
        Plot { title: "a < b", across: "callers", up: "operations a second", lines }.svg()
    }

    fn line(points: &[(f64, f64)]) -> Line<'static> {
        Line { label: "ours", points: points.to_vec() }
    }

    #[test]
    fn equal_factors_are_equally_far_apart_and_values_start_at_zero() {
        let scales = Scales::over([(1.0, 900.0), (16.0, 4_100.0), (256.0, 20_000.0)].into_iter()).unwrap();
        let places = [1.0, 16.0, 256.0].map(|x| scales.across(x));
        assert!((places[1] - places[0] - (places[2] - places[1])).abs() < 1e-9, "{places:?}");
        assert!((scales.up(0.0) - BOTTOM).abs() < 1e-9);
        assert!((scales.up(scales.top) - TOP).abs() < 1e-9);
        assert!((scales.top - 20_000.0).abs() < 1e-9 && (scales.step - 5_000.0).abs() < 1e-9, "{scales:?}");
    }

    #[test]
    fn steps_are_round() {
        let steps = [0.0, 0.03, 1.0, 1.1, 2.2, 4.0, 7.0, 90_000.0].map(round_step);
        for (step, expected) in steps.into_iter().zip([1.0, 0.05, 1.0, 2.0, 2.5, 5.0, 10.0, 100_000.0]) {
            assert!((step - expected).abs() < expected * 1e-9, "{steps:?}");
        }
    }

    #[test]
    fn without_points_it_says_so() {
        for lines in [vec![], vec![line(&[])], vec![line(&[(0.0, 1.0), (1.0, f64::NAN)])]] {
            let svg = plot(lines);
            assert!(svg.contains("no figures") && svg.ends_with("</svg>\n") && !svg.contains("<circle"), "{svg}");
        }
    }

    #[test]
    fn an_empty_line_has_no_label_beside_one_that_is_drawn() {
        let svg = plot(vec![line(&[(1.0, 1.0)]), Line { label: "absent", points: vec![] }]);
        assert!(svg.contains(" ours</text>") && !svg.contains("absent"), "{svg}");
    }

    #[test]
    fn one_point_is_a_mark_in_the_middle() {
        let svg = plot(vec![line(&[(64.0, 25_200.0)])]);
        assert!(svg.contains("<circle") && !svg.contains("<polyline"), "{svg}");
        assert!(svg.contains(&format!("cx=\"{MIDDLE:.1}\"")), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn values_that_are_all_zero_have_an_axis() {
        let svg = plot(vec![line(&[(1.0, 0.0), (2.0, 0.0)])]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn points_are_drawn_from_left_to_right() {
        let drawn = drawn((0, &line(&[(4.0, 2.0), (1.0, 1.0)]))).unwrap();
        assert_eq!(drawn.points, [(1.0, 1.0), (4.0, 2.0)]);
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let labels = apart(vec![(0, "a", 100.0), (1, "b", 101.0), (2, "c", 300.0)]);
        let heights: Vec<f64> = labels.iter().map(|(_, _, y)| *y).collect();
        assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= LABEL_HEIGHT - 1e-9), "{heights:?}");
        assert!((heights[2] - 300.0).abs() < 1e-9, "{heights:?}");
    }

    #[test]
    fn it_is_readable_in_light_and_dark_and_loads_nothing() {
        let svg = plot(vec![line(&[(1.0, 1.0), (4.0, 2.0)])]);
        assert!(svg.contains("prefers-color-scheme: dark") && svg.contains("a &lt; b"), "{svg}");
        let elsewhere = ["href", "url(", "@import", "<script", "<image"];
        assert!(elsewhere.iter().all(|word| !svg.contains(word)), "{svg}");
    }

    #[test]
    fn thousands_are_separated() {
        let shown = [0.0, 0.5, 12.4, 999.0, 1_000.0, 10_000_000.0].map(figure);
        assert_eq!(shown, ["0", "0.50", "12", "999", "1,000", "10,000,000"]);
    }
}
