//! A value for each pair of a row and a column.

use crate::color::Color;
use crate::escape::escaped;
use crate::figures;
use crate::picture::{BOTTOM, LEFT, LETTER, Picture, RIGHT, TOP, WIDTH};

/// A map of shades: the stronger, the more.
#[derive(Debug, Clone)]
pub struct HeatMap {
    /// What it shows.
    pub title: String,
    /// What the columns are, and their names.
    pub columns: (String, Vec<String>),
    /// What the rows are, and their names.
    pub rows: (String, Vec<String>),
    /// The values of each row; `None` where there is none.
    pub values: Vec<Vec<Option<f64>>>,
    /// The values of the weakest and of the strongest shade; `None` for the least and the greatest.
    pub range: Option<(f64, f64)>,
    /// How values are written.
    pub format: fn(f64) -> String,
}

impl Default for HeatMap {
    fn default() -> Self {
        Self {
            title: String::new(),
            columns: Default::default(),
            rows: Default::default(),
            values: Vec::new(),
            range: None,
            format: figures::count,
        }
    }
}

impl HeatMap {
    /// Draws it.
    #[must_use]
    pub fn draw(&self) -> Picture {
        let (columns, rows) = (&self.columns.1, &self.rows.1);
        let width = (WIDTH - LEFT - RIGHT) / columns.len().max(1) as f64;
        let height = (BOTTOM - TOP) / rows.len().max(1) as f64;
        let mut picture = Picture::new(&self.title, BOTTOM, &self.columns.0);
        picture.y_label(&self.rows.0);
        // Names that would run into each other are left out.
        let every = (16.0 / height).ceil() as usize;
        for (row, name) in rows.iter().enumerate().step_by(every.max(1)) {
            let middle = TOP + height * (row as f64 + 0.5);
            picture.text((LEFT - 5.0, middle + 4.0), "tick end", name);
        }
        let letters = columns.iter().map(|name| name.chars().count()).max();
        let name_width = (letters.unwrap_or(0) + 2) as f64 * LETTER;
        let every = (name_width.min(80.0) / width).ceil().max(1.0);
        for (column, name) in columns.iter().enumerate().step_by(every as usize) {
            let middle = LEFT + width * (column as f64 + 0.5);
            picture.column_name(middle, width * every, name);
        }
        for (row, values) in self.values.iter().take(rows.len()).enumerate() {
            for (column, value) in values.iter().take(columns.len()).enumerate() {
                let at = (LEFT + width * column as f64, TOP + height * row as f64);
                self.cell(&mut picture, (row, column), *value, (at, (width, height)));
            }
        }
        picture
    }

    fn cell(
        &self,
        picture: &mut Picture,
        (row, column): (usize, usize),
        value: Option<f64>,
        ((left, top), (width, height)): ((f64, f64), (f64, f64)),
    ) {
        let name = |names: &[String], at: usize| names.get(at).cloned().unwrap_or_default();
        let has_text = width >= 30.0 && height >= 14.0;
        // Text must stay readable over the strongest shade.
        let strongest = if has_text { 0.5 } else { 0.94 };
        let value = value.filter(|value| value.is_finite());
        let opacity = value.map_or(0.0, |value| 0.06 + strongest * self.share(value));
        let shown = value.map_or_else(|| "–".to_owned(), self.format);
        let (column, row) = (name(&self.columns.1, column), name(&self.rows.1, row));
        let told = format!("{column} – {row}: {shown}");
        let (tip, class) = (escaped(&told), Color::Nth(0).class());
        picture.draw(format_args!(
            "<rect class=\"area {class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             fill-opacity=\"{opacity:.2}\"><title>{tip}</title></rect>",
            (width - if has_text { 1.5 } else { 0.0 }).max(0.5),
            (height - 1.0).max(0.5),
        ));
        if has_text {
            let middle = (left + width / 2.0, top + height / 2.0 + 4.0);
            picture.text(middle, "cell mid", &shown);
            picture.say(&told);
        }
    }

    /// Returns where a value lies between what has no shade and the full one.
    fn share(&self, value: f64) -> f64 {
        let known = || {
            let values = self.values.iter().flatten().flatten().copied();
            values.filter(|value| value.is_finite())
        };
        let (low, high) = self.range.unwrap_or_else(|| {
            let low = known().fold(f64::INFINITY, f64::min);
            (low, known().fold(f64::NEG_INFINITY, f64::max))
        });
        match high > low {
            true => ((value - low) / (high - low)).clamp(0.0, 1.0),
            false => 0.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|n| n.to_string()).collect()
    }

    #[test]
    fn a_map_has_a_cell_for_each_value_and_says_where_there_is_none() {
        let map = HeatMap {
            columns: ("x".to_owned(), names(2)),
            rows: ("y".to_owned(), names(2)),
            values: vec![vec![Some(1.0), None], vec![Some(f64::NAN), Some(3.0)]],
            ..HeatMap::default()
        };
        let svg = map.draw().to_svg();
        assert_eq!(svg.matches("fill-opacity=\"").count(), 4);
        assert!(svg.contains("fill-opacity=\"0.06\"") && svg.contains("fill-opacity=\"0.56\""));
        assert!(
            svg.contains("1 – 0: –") && svg.contains("1 – 1: 3"),
            "{svg}"
        );
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn names_and_numbers_for_which_there_is_no_room_are_left_out() {
        let map = HeatMap {
            columns: (String::new(), names(100)),
            rows: (String::new(), names(64)),
            values: vec![vec![Some(0.5); 100]; 64],
            range: Some((0.0, 1.0)),
            ..HeatMap::default()
        };
        let svg = map.draw().to_svg();
        assert_eq!(svg.matches("fill-opacity=\"0.53\"").count(), 6400);
        assert!(svg.matches("<text").count() < 40);
        let empty = HeatMap::default().draw().to_svg();
        assert!(!empty.contains("NaN") && !empty.contains("inf"));
    }
}
