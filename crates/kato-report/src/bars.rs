//! Bars of parts upon each other.

use crate::color::Color;
use crate::escape::escaped;
use crate::picture::{BOTTOM, LEFT, Picture, RIGHT, TOP, WIDTH};
use crate::scale::Axis;

/// Draws a bar for each name; each has a value for each of the parts, and what is not above 0 is
/// left out.
#[must_use]
pub fn bars(title: &str, axis: &Axis, parts: &[&str], bars: &[(String, Vec<f64>)]) -> Picture {
    let shown = |values: &[f64]| -> Vec<(usize, f64)> {
        let values = values.iter().copied().enumerate();
        values.filter(|(_, v)| *v > 0.0 && axis.shows(*v)).collect()
    };
    let heights = bars.iter().map(|(_, values)| {
        let values = shown(values);
        values.iter().map(|(_, value)| value).sum::<f64>()
    });
    let y = axis.scale(heights.chain([0.0]), (BOTTOM, TOP));
    let mut picture = Picture::new(title, BOTTOM, "");
    picture.y_axis(axis, &y);
    let step = (WIDTH - LEFT - RIGHT) / bars.len().max(1) as f64;
    for (idx, (name, values)) in bars.iter().enumerate() {
        let left = LEFT + step * (idx as f64 + 0.15);
        let mut below = 0.0;
        for (part, value) in shown(values) {
            let (bottom, top) = (y.place(below), y.place(below + value));
            below += value;
            let (width, height, class) = (step * 0.7, bottom - top, Color::Nth(part).class());
            let part = parts.get(part).filter(|_| parts.len() > 1);
            let part = part.map_or(String::new(), |part| format!(", {part}"));
            let told = format!("{name}{part}: {}", (axis.format)(value));
            let tip = escaped(&told);
            picture.draw(format_args!(
                "<rect class=\"area {class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>{tip}</title></rect>"
            ));
            picture.say(&told);
        }
        picture.column_name(left + step * 0.35, step, name);
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
}
