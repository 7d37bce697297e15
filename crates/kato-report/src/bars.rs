//! Bars of parts beside each other.

use crate::color::Color;
use crate::escape::escaped;
use crate::picture::{Picture, RIGHT, TOP, WIDTH, shortened};
use crate::scale::Axis;

/// Height of a row: a line of text and a bar below it.
const ROW: f64 = 34.0;

/// Draws a bar for each name, below each other; each has a value for each of the parts, and what is
/// not above 0 is left out.
#[must_use]
pub fn bars(title: &str, axis: &Axis, parts: &[&str], bars: &[(String, Vec<f64>)]) -> Picture {
    let shown = |values: &[f64]| -> Vec<(usize, f64)> {
        let values = values.iter().copied().enumerate();
        values.filter(|(_, v)| *v > 0.0 && axis.shows(*v)).collect()
    };
    let lengths = bars.iter().map(|(_, values)| {
        let values = shown(values);
        values.iter().map(|(_, value)| value).sum::<f64>()
    });
    let x = axis.scale(lengths.chain([0.0]), (RIGHT, WIDTH - RIGHT));
    let mut picture = Picture::new(title, TOP + ROW * bars.len() as f64, &axis.label);
    picture.x_axis(axis, &x);
    for (idx, (name, values)) in bars.iter().enumerate() {
        let top = TOP + ROW * idx as f64;
        let shown_name = shortened(name, WIDTH - 2.0 * RIGHT);
        picture.text((RIGHT, top + 13.0), "label", &shown_name);
        let mut before = 0.0;
        for (part, value) in shown(values) {
            let (left, right) = (x.place(before), x.place(before + value));
            before += value;
            let (class, width) = (Color::Nth(part).class(), right - left);
            let part = parts.get(part).filter(|_| parts.len() > 1);
            let part = part.map_or(String::new(), |part| format!(", {part}"));
            let told = format!("{name}{part}: {}", (axis.format)(value));
            let (tip, top) = (escaped(&told), top + 17.0);
            picture.draw(format_args!(
                "<rect class=\"area {class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"13\"><title>{tip}</title></rect>"
            ));
            picture.say(&told);
        }
    }
    if parts.len() > 1 {
        for (part, name) in parts.iter().enumerate() {
            picture.name(Color::Nth(part), name);
        }
    }
    picture
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_their_parts_and_nothing_else() {
        let values = vec![
            ("a".to_owned(), vec![1.0, f64::NAN, 2.0]),
            ("b".to_owned(), vec![0.0, -1.0, f64::INFINITY]),
        ];
        let svg = bars("t", &Axis::linear("y"), &["p", "q", "r"], &values).to_svg();
        assert_eq!(svg.matches("<title>a, ").count(), 2);
        assert_eq!(svg.matches("<title>b").count(), 0);
        assert!(svg.contains("<desc>a, p: 1. a, r: 2.</desc>"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        let empty = bars("t", &Axis::linear("y"), &[], &[]).to_svg();
        assert!(empty.ends_with("</svg>\n") && !empty.contains("NaN"));
    }

    #[test]
    fn a_part_begins_where_the_one_before_it_ends() {
        let values = [("a".to_owned(), vec![1.0, 3.0])];
        let svg = bars("t", &Axis::linear(""), &["p", "q"], &values).to_svg();
        let whole = WIDTH - 2.0 * RIGHT;
        let first = format!("x=\"{RIGHT:.1}\" y=\"27.0\" width=\"{:.1}\"", whole / 4.0);
        let next = format!("x=\"{:.1}\" y=\"27.0\"", RIGHT + whole / 4.0);
        assert!(svg.contains(&first) && svg.contains(&next), "{svg}");
    }
}
