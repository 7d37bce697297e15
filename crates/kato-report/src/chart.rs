//! Lines, points, bands, steps and stacks over two axes.

use std::fmt::Write;

use crate::color::Color;
use crate::escape::escaped;
use crate::picture::{BOTTOM, LEFT, Picture, RIGHT, TOP, WIDTH};
use crate::scale::{Axis, Scale};

/// A value that holds over a stretch of the horizontal axis; without a value there is a gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartSpan {
    /// Where it begins.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
    /// The value.
    pub value: Option<f64>,
}

/// What is drawn, from the left to the right.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line from point to point.
    Line(Vec<(f64, f64)>),
    /// A broken line from point to point.
    Dashes(Vec<(f64, f64)>),
    /// Dots.
    Points(Vec<(f64, f64)>),
    /// The area between lower and upper ends: x, low, high.
    Band(Vec<(f64, f64, f64)>),
    /// A line of steps.
    Steps(Vec<ChartSpan>),
    /// An area of steps upon the stacks before it, whose stretches are the same.
    Stack(Vec<ChartSpan>),
}

impl Shape {
    /// Returns the stretches of steps and stacks.
    fn spans(&self) -> &[ChartSpan] {
        match self {
            Self::Steps(spans) | Self::Stack(spans) => spans,
            _ => &[],
        }
    }

    /// Returns the points that have to be on the axes, apart from the heights of stacks.
    fn points(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Line(points) | Self::Dashes(points) | Self::Points(points) => points.clone(),
            Self::Band(points) => points
                .iter()
                .flat_map(|&(x, low, high)| [(x, low), (x, high)])
                .collect(),
            Self::Steps(spans) | Self::Stack(spans) => spans
                .iter()
                .filter_map(|span| Some((span, span.value?)))
                .flat_map(|(span, value)| [(span.start, value), (span.end, value)])
                .collect(),
        }
    }
}

/// Shapes over two axes.
///
/// ```
/// use kato_report::{Axis, Chart, Color, Shape};
///
/// let line = Shape::Line(vec![(1.0, 2.0), (10.0, 30.0)]);
/// let svg = Chart::new("Time by size", Axis::logarithmic("bytes"), Axis::linear("seconds"))
///     .with(Color::Nth(0), "measured", line)
///     .draw()
///     .to_svg();
/// assert!(svg.starts_with("<svg") && svg.contains("measured"));
/// ```
#[derive(Debug, Clone)]
pub struct Chart {
    title: String,
    x: Axis,
    y: Axis,
    layers: Vec<Layer>,
}

#[derive(Debug, Clone)]
struct Layer {
    color: Color,
    name: String,
    shape: Shape,
}

impl Chart {
    /// Creates an empty chart.
    #[must_use]
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            x,
            y,
            layers: Vec::new(),
        }
    }

    /// Adds a shape, over those before it; without a name it is not in the legend.
    #[must_use]
    pub fn with(mut self, color: Color, name: impl Into<String>, shape: Shape) -> Self {
        self.layers.push(Layer {
            color,
            name: name.into(),
            shape,
        });
        self
    }

    /// Draws it. Points that an axis cannot show are left out; without any point the area is empty.
    #[must_use]
    pub fn draw(&self) -> Picture {
        let all: Vec<(f64, f64)> = self
            .layers
            .iter()
            .flat_map(|layer| layer.shape.points())
            .chain(self.heights())
            .filter(|point| self.shows(*point))
            .collect();
        let (xs, ys) = (all.iter().map(|p| p.0), all.iter().map(|p| p.1));
        let x = self.x.scale(xs, (LEFT, WIDTH - RIGHT));
        let y = self.y.scale(ys, (BOTTOM, TOP));
        let mut picture = Picture::new(&self.title, BOTTOM, &self.x.label);
        picture.x_axis(&self.x, &x);
        picture.y_axis(&self.y, &y);
        let mut floor = Vec::new();
        for layer in &self.layers {
            self.layer(&mut picture, layer, (&x, &y), &mut floor);
            if !layer.name.is_empty() {
                picture.name(layer.color, &layer.name);
                self.describe(&mut picture, layer);
            }
        }
        self.tips(&mut picture, &x);
        picture
    }

    /// Returns the upper ends of the stacks.
    fn heights(&self) -> Vec<(f64, f64)> {
        let mut heights: Vec<(f64, f64)> = Vec::new();
        for layer in &self.layers {
            let Shape::Stack(spans) = &layer.shape else {
                continue;
            };
            heights.resize(heights.len().max(spans.len()), (0.0, 0.0));
            for (height, span) in heights.iter_mut().zip(spans) {
                *height = (span.start, height.1 + span.value.unwrap_or(0.0));
            }
        }
        heights
    }

    fn layer(
        &self,
        picture: &mut Picture,
        layer: &Layer,
        (x, y): (&Scale, &Scale),
        floor: &mut Vec<f64>,
    ) {
        let class = layer.color.class();
        let (kind, path) = match &layer.shape {
            Shape::Points(points) => {
                for &point in points.iter().filter(|point| self.shows(**point)) {
                    let (cx, cy) = (x.place(point.0), y.place(point.1));
                    let tip = escaped(&self.told(&layer.name, point));
                    picture.draw(format_args!(
                        "<circle class=\"dot {class}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\"><title>{tip}</title></circle>"
                    ));
                }
                return;
            }
            Shape::Line(points) => ("line", self.path(points.iter().copied(), x, y)),
            Shape::Dashes(points) => ("line dashes", self.path(points.iter().copied(), x, y)),
            Shape::Band(points) => {
                let shown = || {
                    let points = points.iter();
                    points
                        .filter(|&&(at, low, high)| self.shows((at, low)) && self.shows((at, high)))
                };
                // Forth along the upper ends and back along the lower ones.
                let forth = shown().map(|&(at, _, high)| (at, high));
                let back = shown().rev().map(|&(at, low, _)| (at, low));
                ("area band", self.path(forth.chain(back), x, y) + "Z")
            }
            Shape::Steps(spans) => ("line", self.steps(spans, x, y)),
            Shape::Stack(spans) => ("area", self.stack(spans, x, y, floor)),
        };
        // An area of nothing is no path.
        if path.len() > 1 {
            picture.draw(format_args!(
                "<path class=\"{kind} {class}\" d=\"{path}\"/>"
            ));
        }
    }

    fn path(&self, points: impl Iterator<Item = (f64, f64)>, x: &Scale, y: &Scale) -> String {
        let mut path = String::new();
        for (at, value) in points.filter(|point| self.shows(*point)) {
            let letter = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", x.place(at), y.place(value));
        }
        path
    }

    fn steps(&self, spans: &[ChartSpan], x: &Scale, y: &Scale) -> String {
        let mut path = String::new();
        let mut is_drawn = false;
        for span in spans {
            // A gap ends the line, so that nothing is drawn over what is not known.
            let Some(value) = span.value.filter(|value| self.y.shows(*value)) else {
                is_drawn = false;
                continue;
            };
            let (x0, x1, y) = (x.place(span.start), x.place(span.end), y.place(value));
            let _ = match is_drawn {
                true => write!(path, "V{y:.1}H{x1:.1}"),
                false => write!(path, "M{x0:.1} {y:.1}H{x1:.1}"),
            };
            is_drawn = true;
        }
        path
    }

    /// Returns the area upon `floor`, and raises that by it.
    fn stack(&self, spans: &[ChartSpan], x: &Scale, y: &Scale, floor: &mut Vec<f64>) -> String {
        let mut path = String::new();
        floor.resize(floor.len().max(spans.len()), 0.0);
        for (span, floor) in spans.iter().zip(floor) {
            let value = span
                .value
                .filter(|value| self.y.shows(*value) && *value > 0.0);
            if let Some(value) = value {
                let (x0, x1) = (x.place(span.start), x.place(span.end));
                let (low, high) = (y.place(*floor), y.place(*floor + value));
                let _ = write!(path, "M{x0:.1} {low:.1}V{high:.1}H{x1:.1}V{low:.1}Z");
                *floor += value;
            }
        }
        path
    }

    /// Draws areas that show the values of steps and stacks under the pointer.
    fn tips(&self, picture: &mut Picture, x: &Scale) {
        let layers = || {
            self.layers
                .iter()
                .filter(|layer| !layer.shape.spans().is_empty())
        };
        let spans = layers().next().map_or(&[][..], |layer| layer.shape.spans());
        for (at, span) in spans.iter().enumerate() {
            let (x0, x1) = (x.place(span.start), x.place(span.end));
            let mut text = (self.x.format)(span.start);
            for layer in layers() {
                let value = layer.shape.spans().get(at).and_then(|span| span.value);
                if let Some(value) = value {
                    let _ = write!(text, "\n{}: {}", layer.name, (self.y.format)(value));
                }
            }
            let text = escaped(&text);
            // Over the lines and without colour, and never too narrow for the pointer to find.
            let (width, height) = ((x1 - x0).max(0.5), BOTTOM - TOP);
            picture.draw(format_args!(
                "<rect class=\"tip\" x=\"{x0:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>{text}</title></rect>"
            ));
        }
    }

    /// Says a layer in words: its points where they are few, or else its least and its greatest
    /// value.
    fn describe(&self, picture: &mut Picture, layer: &Layer) {
        let points = layer.shape.points();
        let shown = || points.iter().copied().filter(|point| self.shows(*point));
        if matches!(layer.shape, Shape::Points(_)) && points.len() <= 8 {
            for point in shown() {
                picture.say(&self.told(&layer.name, point));
            }
            return;
        }
        let values = || shown().map(|point| point.1);
        if let (Some(least), Some(most)) = (values().reduce(f64::min), values().reduce(f64::max)) {
            let (least, most) = ((self.y.format)(least), (self.y.format)(most));
            picture.say(&format!("{}: {least} to {most}", layer.name));
        }
    }

    /// Returns a point in words.
    fn told(&self, name: &str, (x, y): (f64, f64)) -> String {
        let with_label = |axis: &Axis, value| {
            let value = (axis.format)(value);
            format!("{value} {}", axis.label).trim_end().to_owned()
        };
        format!(
            "{name}: {}, {}",
            with_label(&self.x, x),
            with_label(&self.y, y)
        )
    }

    fn shows(&self, (x, y): (f64, f64)) -> bool {
        self.x.shows(x) && self.y.shows(y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        Chart::new("a < b", Axis::logarithmic("n"), Axis::linear("s"))
    }

    fn spans(values: &[Option<f64>]) -> Vec<ChartSpan> {
        let values = values.iter().enumerate();
        values
            .map(|(at, &value)| ChartSpan {
                start: at as f64,
                end: at as f64 + 1.0,
                value,
            })
            .collect()
    }

    #[test]
    fn what_an_axis_cannot_show_is_left_out_and_an_empty_chart_is_a_chart() {
        assert!(chart().draw().to_svg().contains("a &lt; b"));
        let points = vec![
            (0.0, 1.0),
            (10.0, f64::NAN),
            (100.0, 3.0),
            (5.0, f64::INFINITY),
        ];
        for shape in [
            Shape::Points(points.clone()),
            Shape::Line(points.clone()),
            Shape::Dashes(points.clone()),
            Shape::Band(points.iter().map(|&(x, y)| (x, y, y)).collect()),
            Shape::Steps(spans(&[Some(f64::NAN), None, Some(1.0)])),
            Shape::Stack(spans(&[Some(f64::NAN), None, Some(1.0)])),
        ] {
            let svg = chart().with(Color::Bad, "x", shape).draw().to_svg();
            assert!(!svg.contains("inf"), "{svg}");
            // The tips say what was handed in.
            assert!(!svg.replace("x: NaN", "").contains("NaN"), "{svg}");
        }
        let svg = chart().with(Color::Bad, "x", Shape::Points(points)).draw();
        assert_eq!(svg.to_svg().matches("<circle").count(), 1);
    }

    #[test]
    fn a_gap_ends_a_line_of_steps() {
        let steps = Shape::Steps(spans(&[Some(1.0), Some(2.0), None, Some(3.0)]));
        let chart = Chart::new("t", Axis::time(), Axis::linear(""));
        let svg = chart.with(Color::Nth(0), "x", steps).draw().to_svg();
        let (_, path) = svg.split_once("class=\"line c0\" d=\"").unwrap();
        let (path, _) = path.split_once('"').unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
    }

    #[test]
    fn stacks_stand_upon_each_other() {
        let stack = |value| Shape::Stack(spans(&[Some(value)]));
        let svg = Chart::new("t", Axis::time(), Axis::share())
            .with(Color::Good, "a", stack(0.25))
            .with(Color::Bad, "b", stack(0.75))
            .draw()
            .to_svg();
        let bottom = BOTTOM;
        let quarter = bottom - 0.25 * (bottom - TOP);
        assert!(
            svg.contains(&format!("M{LEFT:.1} {bottom:.1}V{quarter:.1}")),
            "{svg}"
        );
        assert!(
            svg.contains(&format!("M{LEFT:.1} {quarter:.1}V{TOP:.1}")),
            "{svg}"
        );
    }

    #[test]
    fn a_chart_is_told_in_words() {
        let svg = chart()
            .with(
                Color::Nth(0),
                "law",
                Shape::Line(vec![(1.0, 2.0), (10.0, 30.0)]),
            )
            .with(Color::Nth(1), "run", Shape::Points(vec![(5.0, 6.0)]))
            .draw()
            .to_svg();
        assert!(
            svg.contains("<desc>law: 2 to 30. run: 5 n, 6 s.</desc>"),
            "{svg}"
        );
    }
}
