//! The layout of text in the lines of a terminal.

use std::fmt::{Display, Write as _};

use console::{Term, measure_text_width, truncate_str};

/// Blocks that fill a column by eighths, for the ends of bars.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Columns of a line where standard output is no terminal.
pub(crate) const DEFAULT_WIDTH: usize = 100;

/// Returns the columns of the terminal that standard output is, or the default.
#[must_use]
pub(crate) fn terminal_width() -> usize {
    let size = Term::stdout().size_checked();
    size.map_or(DEFAULT_WIDTH, |(_, columns)| usize::from(columns))
}

/// Returns text in quotes on one line of at most `width` columns, but 3 at least; what is cut off is marked.
pub(crate) fn quoted(text: &str, width: usize) -> String {
    format!("\"{}\"", one_line(text, width.max(3) - 2))
}

/// Returns text on one line of at most `width` columns, control characters escaped; what is cut off
/// is marked.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    // A text may be a whole document, so it is escaped only as far as it can be shown.
    let mut line = String::new();
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
        // Measuring takes as long as the line is, so it begins when there are bytes enough.
        if line.len() > 8 * width && measure_text_width(&line) > width {
            break;
        }
    }
    truncate_str(&line, width, "…").into_owned()
}

/// Returns a cell of a table: a value, or a dash where it is not known.
pub(crate) fn cell(value: Option<impl Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Returns rows under a header, as wide as needed: the first column left, the others right.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widths = cells.map(|cell| measure_text_width(cell));
        widths
            .chain([measure_text_width(header[column])])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            // By columns: the padding of `format!` counts characters, some of which take two
            // columns or none.
            let space = " ".repeat(width.saturating_sub(measure_text_width(cell)));
            // Writing into a string cannot fail.
            let _ = match column {
                0 => write!(line, "{cell}{space}"),
                _ => write!(line, "  {space}{cell}"),
            };
        }
        line.truncate(line.trim_end().len());
        line
    };
    let mut text = heading(&line(header));
    for row in rows {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        text += &line(&cells);
        text.push('\n');
    }
    text
}

/// Draws a bar of a share of `room` columns; it is visible if the share is more than nothing.
pub(crate) fn bar(share: f64, room: usize) -> String {
    if share <= 0.0 {
        return String::new();
    }
    let eighths = (share * (8 * room) as f64).round() as usize;
    // At least an eighth, so that what is rare is seen.
    let eighths = eighths.clamp(1, 8 * room);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Returns a line that stands above others, bold on a terminal.
pub(crate) fn heading(text: &str) -> String {
    format!("{}\n", console::style(text).bold())
}

/// Returns text that people may skip, dim on a terminal.
pub(crate) fn dim(text: &str) -> String {
    console::style(text).dim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_control_characters_escaped_and_no_more_columns_than_allowed() {
        assert_eq!(one_line("a\nb\u{1b}[1m", 80), r"a\nb\u{1b}[1m");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("東京東京", 5), "東京…");
        assert_eq!(quoted("abcdef", 6), "\"abc…\"");
        assert_eq!(quoted("abcdef", 0), "\"…\"");
        assert_eq!(
            measure_text_width(&one_line(&"x".repeat(1 << 20), 100)),
            100
        );
    }

    #[test]
    fn tables_align_their_columns() {
        let rows = [["a", "1"], ["bcd", "1,000"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(
            table(&["x", "n"], &rows),
            "x        n\na        1\nbcd  1,000\n"
        );
    }
}
