//! Draws charts as SVG: steps over time, stacked shares, and rows of shades.

use std::fmt::Write;

use super::units;

/// Size and margins, in the units of the drawing, which a browser scales to the page.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;

/// A stretch of time on the horizontal axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: f64,
    pub(crate) end: f64,
}

/// Values over the spans.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// The class that gives it its colour.
    pub(crate) class: String,
    pub(crate) values: Vec<Option<f64>>,
}

/// The words of a chart and its way to write values.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    /// Description for readers who do not see it.
    pub(crate) description: String,
    pub(crate) format: fn(f64) -> String,
    pub(crate) spans: &'a [Span],
}

impl Chart<'_> {
    /// Draws each series as steps: a value holds for its whole span.
    pub(crate) fn steps(&self, series: &[Series]) -> String {
        let greatest = series
            .iter()
            .flat_map(|series| series.values.iter().flatten())
            .fold(0.0f64, |a, b| a.max(*b));
        let (top, ticks) = axis(greatest);
        let mut svg = self.open();
        self.frame(&mut svg, top, &ticks);
        for series in series {
            let mut path = String::new();
            let mut is_drawn = false;
            for (span, value) in self.spans.iter().zip(&series.values) {
                // A gap ends the line, so that nothing is drawn over what is not known.
                let Some(value) = value else {
                    is_drawn = false;
                    continue;
                };
                // One path for each series: a step is a vertical line to the value and a horizontal
                // one along the span.
                let (x0, x1, y) = (self.x(span.start), self.x(span.end), y(*value, top));
                let _ = match is_drawn {
                    true => write!(path, "V{y:.1}H{x1:.1}"),
                    false => write!(path, "M{x0:.1} {y:.1}H{x1:.1}"),
                };
                is_drawn = true;
            }
            let _ = write!(
                svg,
                "<path class=\"line {}\" d=\"{path}\"/>",
                escaped(&series.class)
            );
        }
        self.tips(&mut svg, series);
        svg.push_str("</svg>");
        self.figure(&svg, series)
    }

    /// Draws series stacked upon each other, as shares of 1.
    pub(crate) fn stacked(&self, series: &[Series]) -> String {
        let mut svg = self.open();
        self.frame(&mut svg, 1.0, &[0.0, 0.25, 0.5, 0.75, 1.0]);
        // The height at which the next series begins, for each span.
        let mut floor = vec![0.0; self.spans.len()];
        for series in series {
            let mut path = String::new();
            for ((span, value), floor) in self.spans.iter().zip(&series.values).zip(&mut floor) {
                let value = value.unwrap_or(0.0);
                if value > 0.0 {
                    let (x0, x1) = (self.x(span.start), self.x(span.end));
                    // Rounding may take the sum of the shares above 1.
                    let (low, high) = (y(*floor, 1.0), y((*floor + value).min(1.0), 1.0));
                    let _ = write!(path, "M{x0:.1} {low:.1}V{high:.1}H{x1:.1}V{low:.1}Z");
                }
                *floor += value;
            }
            let _ = write!(
                svg,
                "<path class=\"area {}\" d=\"{path}\"/>",
                escaped(&series.class)
            );
        }
        self.tips(&mut svg, series);
        svg.push_str("</svg>");
        self.figure(&svg, series)
    }

    /// Draws a row for each series, the darker the greater its share of 1.
    pub(crate) fn shades(&self, series: &[Series]) -> String {
        let mut svg = self.open();
        let rows = series.len().max(1) as f64;
        let row = (HEIGHT - TOP - BOTTOM) / rows;
        self.times(&mut svg);
        for (at, series) in series.iter().enumerate() {
            let top = TOP + at as f64 * row;
            // Rows lower than their label get one label in eight.
            if row >= 10.0 || at % 8 == 0 {
                let _ = write!(
                    svg,
                    "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                    LEFT - 6.0,
                    top + 0.5 * row + 3.5,
                    escaped(&series.name)
                );
            }
            for (span, value) in self.spans.iter().zip(&series.values) {
                let Some(value) = value else { continue };
                let (x0, x1) = (self.x(span.start), self.x(span.end));
                let _ = write!(
                    svg,
                    "<rect class=\"shade\" x=\"{x0:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                     fill-opacity=\"{:.2}\"><title>{} – {}: {}</title></rect>",
                    (x1 - x0).max(0.5),
                    (row - 1.0).max(0.5),
                    // A core that did nothing is still visible as a cell.
                    0.06 + 0.94 * value.clamp(0.0, 1.0),
                    escaped(&units::seconds(span.start)),
                    escaped(&series.name),
                    escaped(&(self.format)(*value)),
                );
            }
        }
        svg.push_str("</svg>");
        self.figure(&svg, &[])
    }

    /// Begins the drawing, with its title and description for screen readers.
    fn open(&self) -> String {
        format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\"><title>{}</title><desc>{}</desc>",
            escaped(self.title),
            escaped(self.title),
            escaped(&self.description)
        )
    }

    /// Returns the drawing with caption and legend.
    fn figure(&self, svg: &str, legend: &[Series]) -> String {
        let mut html = format!(
            "<figure><figcaption>{}</figcaption>{svg}",
            escaped(self.title)
        );
        if !legend.is_empty() {
            html.push_str("<ul class=\"legend\">");
            for series in legend {
                let _ = write!(
                    html,
                    "<li><i class=\"{}\"></i>{}</li>",
                    escaped(&series.class),
                    escaped(&series.name)
                );
            }
            html.push_str("</ul>");
        }
        html.push_str("</figure>");
        html
    }

    /// Draws lines and labels of both axes.
    fn frame(&self, svg: &mut String, top: f64, ticks: &[f64]) {
        for tick in ticks {
            let y = y(*tick, top);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 3.5,
                escaped(&(self.format)(*tick))
            );
        }
        self.times(svg);
    }

    /// Draws the labels of the time axis.
    fn times(&self, svg: &mut String) {
        let (start, end) = self.ends();
        for tick in 0..=4 {
            let time = start + (end - start) * f64::from(tick) / 4.0;
            // The first snapshot is taken a moment after the beginning.
            let shown = if time < 1e-3 * end { 0.0 } else { time };
            let anchor = match tick {
                0 => "start",
                4 => "end",
                _ => "middle",
            };
            let _ = write!(
                svg,
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                self.x(time),
                HEIGHT - 8.0,
                escaped(&units::seconds(shown))
            );
        }
    }

    /// Draws areas that show values under the pointer.
    fn tips(&self, svg: &mut String, series: &[Series]) {
        for (at, span) in self.spans.iter().enumerate() {
            let (x0, x1) = (self.x(span.start), self.x(span.end));
            let mut text = units::seconds(span.start);
            for series in series {
                if let Some(Some(value)) = series.values.get(at) {
                    let _ = write!(text, "\n{}: {}", series.name, (self.format)(*value));
                }
            }
            // Over the lines and without colour; a minimum of width, so that the pointer can find
            // it.
            let _ = write!(
                svg,
                "<rect class=\"tip\" x=\"{x0:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
                (x1 - x0).max(0.5),
                HEIGHT - TOP - BOTTOM,
                escaped(&text)
            );
        }
    }

    /// Returns beginning and end of the time axis.
    fn ends(&self) -> (f64, f64) {
        let start = self.spans.first().map_or(0.0, |span| span.start);
        let end = self.spans.last().map_or(0.0, |span| span.end);
        // Never equal, as positions are divided by the difference.
        (start, end.max(start + 1e-9))
    }

    /// Returns the horizontal position of a time.
    fn x(&self, time: f64) -> f64 {
        let (start, end) = self.ends();
        LEFT + (WIDTH - LEFT - RIGHT) * (time - start) / (end - start)
    }
}

/// Returns the vertical position of a value on an axis that ends at `top`.
fn y(value: f64, top: f64) -> f64 {
    HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top
}

/// Returns the top of an axis from 0, and its ticks: steps of 1, 2 or 5 by a power of ten.
fn axis(greatest: f64) -> (f64, Vec<f64>) {
    // An axis without length could not be divided.
    if greatest.is_nan() || greatest <= 0.0 || greatest.is_infinite() {
        return (1.0, vec![0.0]);
    }
    // At most four steps.
    let rough = greatest / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= rough)
        // Rounding of the logarithm may leave all of them too small; then the step is not round.
        .unwrap_or(rough);
    let n = (greatest / step).ceil().max(1.0);
    let ticks = (0..=n as u32).map(|tick| f64::from(tick) * step).collect();
    (n * step, ticks)
}

/// Returns text as part of HTML.
pub(crate) fn escaped(text: &str) -> String {
    // Quotes as well, because the result also stands in attributes.
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_axis_holds_its_values_with_few_ticks(greatest in 1e-9f64..1e15) {
            let (top, ticks) = axis(greatest);
            prop_assert!(top >= greatest * (1.0 - 1e-12) && top <= 2.1 * greatest, "{top}");
            prop_assert!((2..=6).contains(&ticks.len()), "{ticks:?}");
        }
    }

    #[test]
    fn an_axis_of_nothing_is_drawn_all_the_same() {
        for nothing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(axis(nothing).0, 1.0);
        }
    }

    #[test]
    fn no_name_breaks_out_of_the_page() {
        assert_eq!(escaped("<a b='&\">"), "&lt;a b=&#39;&amp;&quot;&gt;");
    }
}
