//! Plots as SVG: lines with bands, points, bars and heat maps, for pages that need no network and
//! no script.
//!
//! Small on purpose: texts are placed without measuring fonts, so that a page looks alike wherever
//! it is opened, and the crate needs no font and no drawing library.

use std::fmt::Write as _;

/// Size of a plot, and of the margins around its area, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 54.0;
/// Rows of a legend, and the width of a letter about.
const LEGEND_ROW: f64 = 17.0;
const LETTER: f64 = 6.6;

/// Colours that can be told apart with any kind of colour vision (Okabe and Ito).
const COLORS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];

/// One axis of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// Whether equal steps are equal factors.
    pub is_logarithmic: bool,
}

impl Axis {
    /// Creates an axis of equal steps.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            is_logarithmic: false,
        }
    }

    /// Creates an axis of equal factors; values that are not above 0 are left out.
    #[must_use]
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self {
            is_logarithmic: true,
            ..Self::linear(label)
        }
    }
}

/// What is drawn of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mark {
    /// A line from point to point.
    Line,
    /// A broken line.
    Dashes,
    /// Dots.
    Points,
}

/// Lines and points over two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    title: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    bands: Vec<Band>,
}

#[derive(Debug, Clone, PartialEq)]
struct Series {
    name: String,
    mark: Mark,
    points: Vec<(f64, f64)>,
}

/// The area between two ends, in the colour of the series that comes next.
#[derive(Debug, Clone, PartialEq)]
struct Band {
    before: usize,
    points: Vec<(f64, f64, f64)>,
}

impl Chart {
    /// Creates an empty chart.
    #[must_use]
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
            bands: Vec::new(),
        }
    }

    /// Adds a series; without a name it is not in the legend.
    #[must_use]
    pub fn with_series(
        mut self,
        name: impl Into<String>,
        mark: Mark,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        self.series.push(Series {
            name: name.into(),
            mark,
            points: points.into_iter().collect(),
        });
        self
    }

    /// Adds the area between lower and upper ends (x, low, high), in the colour of the next series.
    #[must_use]
    pub fn with_band(mut self, points: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        self.bands.push(Band {
            before: self.series.len(),
            points: points.into_iter().collect(),
        });
        self
    }

    /// Returns the SVG. Points that an axis cannot show are left out; without any point the area is
    /// empty.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let points = self
            .series
            .iter()
            .flat_map(|series| series.points.iter().copied());
        let ends = self.bands.iter().flat_map(|band| &band.points);
        let ends = ends.flat_map(|&(x, low, high)| [(x, low), (x, high)]);
        let all: Vec<(f64, f64)> = points.chain(ends).filter(|p| self.shows(*p)).collect();
        let x = Scale::of(
            &self.x,
            all.iter().map(|point| point.0),
            (LEFT, WIDTH - RIGHT),
        );
        let y = Scale::of(
            &self.y,
            all.iter().map(|point| point.1),
            (HEIGHT - BOTTOM, TOP),
        );
        let mut svg = open(&self.title);
        svg += &grid(&x, &y, &self.x.label, &self.y.label);
        for band in &self.bands {
            let shown = || {
                band.points
                    .iter()
                    .filter(|&&(x, low, high)| self.shows((x, low)) && self.shows((x, high)))
            };
            let forth = shown().map(|&(at, _, high)| (at, high));
            let back = shown().rev().map(|&(at, low, _)| (at, low));
            let path = path(forth.chain(back), &x, &y);
            let color = color(band.before);
            let _ = write!(
                svg,
                "<path d=\"{path}Z\" fill=\"{color}\" fill-opacity=\"0.18\"/>"
            );
        }
        for (idx, series) in self.series.iter().enumerate() {
            let shown = series
                .points
                .iter()
                .copied()
                .filter(|point| self.shows(*point));
            let color = color(idx);
            match series.mark {
                Mark::Points => {
                    for (at, value) in shown {
                        let (cx, cy) = (x.place(at), y.place(value));
                        let _ = write!(
                            svg,
                            "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\" fill=\"{color}\" fill-opacity=\"0.8\"/>"
                        );
                    }
                }
                Mark::Line | Mark::Dashes => {
                    let dashes = match series.mark {
                        Mark::Dashes => " stroke-dasharray=\"6 4\"",
                        _ => "",
                    };
                    let path = path(shown, &x, &y);
                    let _ = write!(
                        svg,
                        "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"{dashes}/>"
                    );
                }
            }
        }
        let names: Vec<(usize, &str)> = self
            .series
            .iter()
            .enumerate()
            .filter(|(_, series)| !series.name.is_empty())
            .map(|(idx, series)| (idx, series.name.as_str()))
            .collect();
        svg += &legend(&names);
        svg + "</svg>\n"
    }

    fn shows(&self, (x, y): (f64, f64)) -> bool {
        let fits =
            |axis: &Axis, value: f64| value.is_finite() && (!axis.is_logarithmic || value > 0.0);
        fits(&self.x, x) && fits(&self.y, y)
    }
}

/// Returns bars, each of parts on top of each other, as SVG; `parts` names them, and each bar has a
/// value a part.
#[must_use]
pub fn bars(title: &str, label: &str, parts: &[&str], bars: &[(String, Vec<f64>)]) -> String {
    let height = |values: &[f64]| {
        values
            .iter()
            .copied()
            .filter(|v| v.is_finite() && *v > 0.0)
            .sum::<f64>()
    };
    let highest = bars
        .iter()
        .map(|(_, values)| height(values))
        .fold(0.0, f64::max);
    let y = Scale::of(
        &Axis::linear(label),
        [0.0, highest].into_iter(),
        (HEIGHT - BOTTOM, TOP),
    );
    let mut svg = open(title);
    svg += &y.ticks_of_y();
    svg += &axis_label(label, false);
    let step = (WIDTH - LEFT - RIGHT) / bars.len().max(1) as f64;
    for (idx, (name, values)) in bars.iter().enumerate() {
        let left = LEFT + step * (idx as f64 + 0.15);
        let mut below = 0.0;
        for (part, value) in values
            .iter()
            .enumerate()
            .filter(|(_, v)| v.is_finite() && **v > 0.0)
        {
            let (bottom, top) = (y.place(below), y.place(below + value));
            below += value;
            let (width, height, color) = (step * 0.7, bottom - top, color(part));
            let _ = write!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{color}\"><title>{}: {}</title></rect>",
                escaped(name),
                tick(*value)
            );
        }
        // As much of a name as there is room for.
        let letters = (step / LETTER).floor().max(1.0) as usize;
        let shown: String = name.chars().take(letters).collect();
        svg += &text(left + step * 0.35, HEIGHT - BOTTOM + 18.0, "middle", &shown);
    }
    let names: Vec<(usize, &str)> = parts.iter().copied().enumerate().collect();
    if parts.len() > 1 {
        svg += &legend(&names);
    }
    svg + "</svg>\n"
}

/// Returns a heat map as SVG: a value for each pair of a row and a column, `None` where there is
/// none. Darker is more.
#[must_use]
pub fn heat_map(
    title: &str,
    (x_label, columns): (&str, &[String]),
    (y_label, rows): (&str, &[String]),
    values: &[Vec<Option<f64>>],
) -> String {
    let known = || {
        values
            .iter()
            .flatten()
            .flatten()
            .copied()
            .filter(|value| value.is_finite())
    };
    let (least, most) = (
        known().fold(f64::INFINITY, f64::min),
        known().fold(f64::NEG_INFINITY, f64::max),
    );
    let (width, height) = (
        (WIDTH - LEFT - RIGHT) / columns.len().max(1) as f64,
        (HEIGHT - TOP - BOTTOM) / rows.len().max(1) as f64,
    );
    let mut svg = open(title);
    svg += &axis_label(x_label, true);
    svg += &axis_label(y_label, false);
    for (row, name) in rows.iter().enumerate() {
        let top = TOP + height * row as f64;
        svg += &text(LEFT - 6.0, top + height / 2.0 + 4.0, "end", name);
        for column in 0..columns.len() {
            let left = LEFT + width * column as f64;
            let value = values
                .get(row)
                .and_then(|row| row.get(column).copied().flatten());
            let (fill, ink, shown) = match value.filter(|value| value.is_finite()) {
                Some(value) => {
                    let share = if most > least {
                        (value - least) / (most - least)
                    } else {
                        0.5
                    };
                    let lightness = 94.0 - 62.0 * share;
                    let ink = if share > 0.55 { "#fff" } else { "#222" };
                    (format!("hsl(205,75%,{lightness:.0}%)"), ink, tick(value))
                }
                None => ("#f4f4f4".to_owned(), "#888", "–".to_owned()),
            };
            let _ = write!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\" stroke=\"#fff\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{ink}\">{shown}</text>",
                left + width / 2.0,
                top + height / 2.0 + 4.0,
            );
        }
    }
    for (column, name) in columns.iter().enumerate() {
        let center = LEFT + width * (column as f64 + 0.5);
        svg += &text(center, HEIGHT - BOTTOM + 18.0, "middle", name);
    }
    svg + "</svg>\n"
}

/// Returns a text with the letters that HTML gives a meaning written out.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Returns a number that is short enough for an axis: 0.25, 500, 20 k, 1.5 M.
#[must_use]
pub fn tick(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        ..1e3 => (value, ""),
        1e3..1e6 => (value / 1e3, " k"),
        1e6..1e9 => (value / 1e6, " M"),
        1e9..1e12 => (value / 1e9, " G"),
        _ => (value / 1e12, " T"),
    };
    match scaled.abs() {
        0.0 => "0".to_owned(),
        ..0.01 => format!("{scaled:.1e}"),
        ..10.0 => format!("{}{unit}", (scaled * 100.0).round() / 100.0),
        _ => format!("{}{unit}", (scaled * 10.0).round() / 10.0),
    }
}

/// Where values lie on an axis.
struct Scale {
    is_logarithmic: bool,
    low: f64,
    high: f64,
    pixels: (f64, f64),
}

impl Scale {
    fn of(axis: &Axis, values: impl Iterator<Item = f64>, pixels: (f64, f64)) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = match (low <= high, axis.is_logarithmic) {
            (false, _) => (1.0, 10.0),
            // Whole powers of ten, and at least one of them.
            (true, true) => {
                let (first, last) = (low.log10().floor(), high.log10().ceil());
                (10f64.powf(first), 10f64.powf(last.max(first + 1.0)))
            }
            (true, false) => {
                let high = if high > 0.0 { high * 1.05 } else { 1.0 };
                (low.min(0.0), high)
            }
        };
        Self {
            is_logarithmic: axis.is_logarithmic,
            low,
            high,
            pixels,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let share = match self.is_logarithmic {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// Returns the values that get a line and a number.
    fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let decades = (self.high / self.low).log10().round() as i32;
            // No more than about eight numbers.
            let step = (decades / 8 + 1).max(1);
            return (0..=decades)
                .step_by(step as usize)
                .map(|n| self.low * 10f64.powi(n))
                .collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let magnitude = 10f64.powf(rough.log10().floor());
        let nice = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * magnitude);
        let step = nice
            .into_iter()
            .find(|&step| step >= rough)
            .unwrap_or(rough);
        let first = (self.low / step).ceil();
        (0..=10)
            .map(|n| (first + f64::from(n)) * step)
            .take_while(|&value| value <= self.high)
            .collect()
    }

    fn ticks_of_y(&self) -> String {
        let mut svg = String::new();
        for value in self.ticks() {
            let y = self.place(value);
            let right = WIDTH - RIGHT;
            let _ = write!(
                svg,
                "<path d=\"M{LEFT:.1} {y:.1}H{right:.1}\" stroke=\"#e1e1e1\"/>"
            );
            svg += &text(LEFT - 6.0, y + 4.0, "end", &tick(value));
        }
        svg
    }

    fn ticks_of_x(&self) -> String {
        let mut svg = String::new();
        for value in self.ticks() {
            let x = self.place(value);
            let bottom = HEIGHT - BOTTOM;
            let _ = write!(
                svg,
                "<path d=\"M{x:.1} {TOP:.1}V{bottom:.1}\" stroke=\"#e1e1e1\"/>"
            );
            svg += &text(x, bottom + 18.0, "middle", &tick(value));
        }
        svg
    }
}

fn color(idx: usize) -> &'static str {
    COLORS[idx % COLORS.len()]
}

fn open(title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {HEIGHT:.0}\" width=\"{WIDTH:.0}\" height=\"{HEIGHT:.0}\" \
         role=\"img\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\"><title>{0}</title>\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
         <text x=\"{LEFT:.0}\" y=\"22\" font-size=\"15\" font-weight=\"bold\">{0}</text>",
        escaped(title)
    )
}

fn grid(x: &Scale, y: &Scale, x_label: &str, y_label: &str) -> String {
    x.ticks_of_x() + &y.ticks_of_y() + &axis_label(x_label, true) + &axis_label(y_label, false)
}

fn axis_label(label: &str, is_x: bool) -> String {
    let label = escaped(label);
    let (x, y) = ((LEFT + WIDTH - RIGHT) / 2.0, (TOP + HEIGHT - BOTTOM) / 2.0);
    match is_x {
        true => format!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"13\">{label}</text>",
            HEIGHT - 12.0
        ),
        false => format!(
            "<text transform=\"translate(16 {y:.1}) rotate(-90)\" text-anchor=\"middle\" font-size=\"13\">{label}</text>"
        ),
    }
}

fn legend(names: &[(usize, &str)]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let letters = names
        .iter()
        .map(|(_, name)| name.chars().count())
        .max()
        .unwrap_or(0);
    let (width, height) = (
        letters as f64 * LETTER + 34.0,
        names.len() as f64 * LEGEND_ROW + 8.0,
    );
    let (left, top) = (LEFT + 10.0, TOP + 8.0);
    let mut svg = format!(
        "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"#fff\" fill-opacity=\"0.85\" stroke=\"#bebebe\"/>"
    );
    for (row, (idx, name)) in names.iter().enumerate() {
        let y = top + 4.0 + LEGEND_ROW * row as f64;
        let color = color(*idx);
        let _ = write!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"10\" fill=\"{color}\"/>",
            left + 8.0,
            y + 3.0
        );
        svg += &text(left + 26.0, y + 12.0, "start", name);
    }
    svg
}

fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escaped(text)
    )
}

fn path(points: impl Iterator<Item = (f64, f64)>, x: &Scale, y: &Scale) -> String {
    let mut path = String::new();
    for (idx, (at, value)) in points.enumerate() {
        let letter = if idx == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{:.1} {:.1}", x.place(at), y.place(value));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.25, 7.0, 500.0, 20_000.0, 1.5e6, 2e13, 0.0004].map(tick);
        assert_eq!(
            shown,
            ["0", "0.25", "7", "500", "20 k", "1.5 M", "20 T", "4.0e-4"]
        );
    }

    #[test]
    fn what_an_axis_cannot_show_is_left_out_and_an_empty_chart_is_a_chart() {
        let chart = Chart::new("a < b", Axis::logarithmic("n"), Axis::linear("s"));
        assert!(chart.to_svg().contains("a &lt; b"));
        let points = [(0.0, 1.0), (10.0, f64::NAN), (100.0, 3.0)];
        let svg = chart.with_series("dots", Mark::Points, points).to_svg();
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        for svg in [
            bars("none", "y", &[], &[]),
            bars("one", "y", &["p"], &[("a".to_owned(), vec![f64::NAN, 0.0])]),
            heat_map("none", ("x", &[]), ("y", &[]), &[]),
            heat_map(
                "one",
                ("x", &["1".to_owned()]),
                ("y", &["2".to_owned()]),
                &[vec![Some(3.0)]],
            ),
        ] {
            assert!(
                svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"),
                "{svg}"
            );
        }
    }
}
