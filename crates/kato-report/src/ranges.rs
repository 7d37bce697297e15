//! Intervals in rows, to choose between them.

use crate::color::Color;
use crate::escape::escaped;
use crate::picture::{Picture, RIGHT, TOP, WIDTH, shortened, width};
use crate::scale::Axis;

/// Height of a row: a line of text and a bar below it.
const ROW: f64 = 38.0;

/// One row.
#[derive(Debug, Clone)]
pub struct Range {
    /// What it is of.
    pub name: String,
    /// Its lower end, what is expected, and its upper end.
    pub ends: (f64, f64, f64),
    /// Its colour.
    pub color: Color,
    /// What the colour means, in words.
    pub meaning: String,
}

/// Intervals below each other over one axis.
#[derive(Debug, Clone)]
pub struct Ranges {
    /// What they show.
    pub title: String,
    /// The axis.
    pub axis: Axis,
    /// The rows, from the top.
    pub rows: Vec<Range>,
    /// A limit to compare them with, and its name.
    pub limit: Option<(f64, String)>,
}

impl Ranges {
    /// Draws them. A row that the axis cannot show has its words alone.
    #[must_use]
    pub fn draw(&self) -> Picture {
        let top = if self.limit.is_some() {
            TOP + 16.0
        } else {
            TOP
        };
        let bottom = top + ROW * self.rows.len() as f64;
        let rows = self.rows.iter();
        let values = rows.flat_map(|row| [row.ends.0, row.ends.1, row.ends.2]);
        let limits = self.limit.iter().map(|limit| limit.0);
        let x = self
            .axis
            .scale(values.chain(limits), (RIGHT, WIDTH - RIGHT));
        let mut picture = Picture::new(&self.title, bottom, &self.axis.label);
        picture.x_axis(&self.axis, &x);
        let shown = self.limit.iter().filter(|limit| self.axis.shows(limit.0));
        for (limit, name) in shown {
            let at = x.place(*limit);
            picture.draw(format_args!(
                "<path class=\"line dashes limit\" d=\"M{at:.1} {TOP}V{bottom:.1}\"/>"
            ));
            let class = if at > WIDTH / 2.0 { "tick end" } else { "tick" };
            let beside = if at > WIDTH / 2.0 { -5.0 } else { 5.0 };
            picture.text((at + beside, TOP + 8.0), class, name);
            picture.say(name);
        }
        for (idx, row) in self.rows.iter().enumerate() {
            self.row(&mut picture, row, top + ROW * idx as f64, |value| {
                x.place(value)
            });
        }
        let mut meanings: Vec<(Color, &str)> = Vec::new();
        for row in &self.rows {
            let meaning = (row.color, &*row.meaning);
            if !row.meaning.is_empty() && !meanings.contains(&meaning) {
                meanings.push(meaning);
                picture.name(row.color, &row.meaning);
            }
        }
        picture
    }

    fn row(&self, picture: &mut Picture, row: &Range, top: f64, place: impl Fn(f64) -> f64) {
        let (low, value, high) = row.ends;
        let format = self.axis.format;
        let figures = match low == high {
            true => format(value),
            false => format!("{} ({} to {})", format(value), format(low), format(high)),
        };
        let meaning = match row.meaning.is_empty() {
            true => String::new(),
            false => format!(", {}", row.meaning),
        };
        let told = format!("{}: {figures}{meaning}", row.name);
        picture.say(&told);
        let middle = top + 25.0;
        let (x0, x1) = match self.axis.shows(value) {
            true => (place(low.max(f64::MIN_POSITIVE)), place(high)),
            false => (RIGHT - 8.0, RIGHT - 8.0),
        };
        // The figures stand behind the bar, before it, or behind the name, wherever they are whole.
        let needed = width(&figures) + 8.0;
        let line = top + 14.0;
        let (at, class, name_room) = match (x1 + needed <= WIDTH, x0 >= needed) {
            (true, _) => ((x1 + 8.0, middle + 4.0), "tick", WIDTH - 2.0 * RIGHT),
            (_, true) => ((x0 - 8.0, middle + 4.0), "tick end", WIDTH - 2.0 * RIGHT),
            _ => (
                (WIDTH - RIGHT, line),
                "tick end",
                WIDTH - 2.0 * RIGHT - needed,
            ),
        };
        picture.text((RIGHT, line), "label", &shortened(&row.name, name_room));
        picture.text(at, class, &figures);
        if self.axis.shows(value) {
            let (class, tip, at) = (row.color.class(), escaped(&told), place(value));
            picture.draw(format_args!(
                "<g><title>{tip}</title><rect class=\"area band {class}\" x=\"{x0:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"9\" rx=\"4\"/>\
                 <circle class=\"dot {class}\" cx=\"{at:.1}\" cy=\"{middle:.1}\" r=\"5\"/></g>",
                middle - 4.5,
                (x1 - x0).max(1.0),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::count;

    fn range(name: &str, ends: (f64, f64, f64)) -> Range {
        Range {
            name: name.to_owned(),
            ends,
            color: Color::Good,
            meaning: "does it".to_owned(),
        }
    }

    #[test]
    fn each_row_has_its_interval_in_the_picture_and_in_words() {
        let ranges = Ranges {
            title: "Time".to_owned(),
            axis: Axis::logarithmic("hours"),
            rows: vec![range("a", (1.0, 2.0, 4.0)), range("b", (0.0, 0.0, 0.0))],
            limit: Some((3.0, "wanted: 3".to_owned())),
        };
        let svg = ranges.draw().to_svg();
        assert!(
            svg.contains("wanted: 3. a: 2 (1 to 4), does it. b: 0, does it."),
            "{svg}"
        );
        // A logarithm of 0 has no place.
        assert_eq!(svg.matches("<circle").count(), 1);
        assert_eq!(
            svg.matches(">does it</text>").count(),
            1,
            "one meaning, one entry"
        );
    }

    #[test]
    fn a_name_that_is_too_long_is_cut_and_its_figures_are_not() {
        let ranges = Ranges {
            title: String::new(),
            axis: Axis::linear(""),
            rows: vec![range(&"n".repeat(200), (1.0, 2.0, 4.0))],
            limit: None,
        };
        let svg = ranges.draw().to_svg();
        assert!(svg.contains("n…</text>") && svg.contains("2 (1 to 4)</text>"));
    }

    #[test]
    fn figures_are_whole_however_wide_the_bar_is() {
        for (low, high) in [(1.0, 2.0), (900.0, 1000.0), (1.0, 1000.0)] {
            let ranges = Ranges {
                title: String::new(),
                axis: Axis::logarithmic(""),
                rows: vec![
                    range("the row", (low, low, high)),
                    range("another", (1.0, 1.0, 1000.0)),
                ],
                limit: None,
            };
            let svg = ranges.draw().to_svg();
            let figures = format!("{} ({0} to {})</text>", count(low), count(high));
            let (before, _) = svg.split_once(&figures).unwrap();
            let (_, head) = before.rsplit_once("<text class=\"").unwrap();
            let (_, x) = head.split_once("x=\"").unwrap();
            let x: f64 = x.split('"').next().unwrap().parse().unwrap();
            let width = width(&figures) - width("</text>");
            let is_whole = match head.starts_with("tick end") {
                true => x >= width,
                false => x + width <= WIDTH,
            };
            assert!(is_whole, "{figures} at {x}");
        }
    }
}
