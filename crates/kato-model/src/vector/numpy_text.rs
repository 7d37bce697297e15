//! The text that numpy prints for a one-dimensional array of 64-bit floats by default.

use crate::shortest;

/// Number of elements above which an array is abbreviated.
const SUMMARIZE_ABOVE: usize = 1000;
/// Number of elements printed at either end of an abbreviated array.
const EDGE_ITEMS: usize = 3;
/// Largest number of digits after the point.
const MAX_PRECISION: usize = 8;
/// Width of a line: 75 columns, one of them kept for the closing bracket.
const LINE_WIDTH: usize = 74;

/// Appends the text numpy prints for the array, over several lines when it is long.
///
/// Positional or scientific form is chosen from the finite values together; all elements get the
/// same width. Digits are the shortest that read back as the same number, cut to 8 after the point
/// by rounding the exact value half to even.
///
/// # Examples
///
/// ```
/// let mut text = String::new();
/// kato_model::vector::write_numpy_text(&[1.5, 2.0, -3.25], &mut text);
/// assert_eq!(text, "[ 1.5   2.   -3.25]");
/// ```
pub fn write_numpy_text(array: &[f64], out: &mut String) {
    let (head, tail) = if array.len() > SUMMARIZE_ABOVE {
        (&array[..EDGE_ITEMS], &array[array.len() - EDGE_ITEMS..])
    } else {
        (array, [].as_slice())
    };
    // Elements that are left out decide nothing, not even the format: so vectors that differ only
    // in the middle have one name in KATO as well.
    let format = Format::choose(head.iter().chain(tail).copied());
    let mut lines = LineFiller::new(out);
    for element in head {
        lines.push(&format.write(*element));
    }
    if !tail.is_empty() {
        lines.push("...");
    }
    for element in tail {
        lines.push(&format.write(*element));
    }
    lines.close();
}

/// The format in which every element of one array is written.
#[derive(Debug, Clone, Copy, Default)]
struct Format {
    /// `Some(p)`: scientific, with exactly so many digits after the point. `None`: positional.
    precision: Option<usize>,
    /// Characters before the point, sign included.
    left: usize,
    /// Characters after the point, exponent included.
    right: usize,
    /// Digits of the exponent, in scientific form.
    exponent: usize,
}

impl Format {
    /// Chooses the format for the elements that are printed.
    fn choose(elements: impl Iterator<Item = f64> + Clone) -> Self {
        let finite = elements.clone().filter(|element| element.is_finite());
        let mut format = if needs_exponent(finite.clone()) {
            Self::scientific(finite)
        } else {
            Self::positional(finite)
        };
        // Words without a point may reach over its place.
        for element in elements.filter(|element| !element.is_finite()) {
            format.left = format.left.max(
                nonfinite_word(element)
                    .len()
                    .saturating_sub(format.right + 1),
            );
        }
        format
    }

    /// Returns the format without exponent.
    fn positional(finite: impl Iterator<Item = f64>) -> Self {
        let mut format = Self::default();
        for element in finite {
            let (integer, fraction) = positional_parts(element);
            format.left = format.left.max(integer.len());
            format.right = format.right.max(fraction.len());
        }
        format
    }

    /// Returns the format with exponent.
    fn scientific(finite: impl Iterator<Item = f64>) -> Self {
        let mut format = Self::default();
        let mut precision = 0;
        for element in finite {
            let (integer, fraction, exponent) = shortest_scientific(element);
            precision = precision.max(fraction.len());
            format.left = format.left.max(integer.len());
            // Without its sign, which has a place of its own.
            format.exponent = format.exponent.max(exponent.len() - 1);
        }
        Self {
            precision: Some(precision),
            right: precision + "e+".len() + format.exponent,
            ..format
        }
    }

    /// Returns the text of one element, padded to the common width.
    fn write(&self, element: f64) -> String {
        let Self { left, right, .. } = *self;
        if !element.is_finite() {
            return format!("{:>1$}", nonfinite_word(element), left + 1 + right);
        }
        let Some(precision) = self.precision else {
            let (integer, fraction) = positional_parts(element);
            return format!("{integer:>left$}.{fraction:<right$}");
        };
        let (integer, fraction, exponent) = scientific_parts(&format!("{element:.precision$e}"));
        let (sign, digits) = exponent.split_at(1);
        format!(
            "{integer:>left$}.{fraction}e{sign}{digits:0>0$}",
            self.exponent
        )
    }
}

/// Returns whether the values are too large, too small or too far apart to be written without an
/// exponent.
fn needs_exponent(finite: impl Iterator<Item = f64>) -> bool {
    let sizes = finite.filter(|element| *element != 0.0).map(f64::abs);
    let Some((min, max)) = sizes.fold(None, |range, size| {
        let (min, max) = range.unwrap_or((size, size));
        Some((size.min(min), size.max(max)))
    }) else {
        return false;
    };
    // numpy's limits for arrays of floats.
    max >= 1e8 || min < 1e-4 || max / min > 1000.0
}

/// Returns the parts before and after the point, trailing zeros dropped.
fn positional_parts(element: f64) -> (String, String) {
    let mut text = shortest::positional(element);
    if text
        .split_once('.')
        .is_some_and(|(_, fraction)| fraction.len() > MAX_PRECISION)
    {
        // Rounds the exact value half to even, as numpy does, and not the shortest decimal.
        text = format!("{element:.MAX_PRECISION$}");
    }
    let (integer, fraction) = text.split_once('.').unwrap_or((&text, ""));
    (
        integer.to_owned(),
        fraction.trim_end_matches('0').to_owned(),
    )
}

/// Returns what [`scientific_parts`] does, with as few digits as needed and at most 8 after the
/// point.
fn shortest_scientific(element: f64) -> (String, String, String) {
    let parts = scientific_parts(&shortest::scientific(element));
    if parts.1.len() <= MAX_PRECISION {
        return parts;
    }
    // Rounding may leave zeros at the end.
    let (integer, fraction, exponent) = scientific_parts(&format!("{element:.MAX_PRECISION$e}"));
    (integer, fraction.trim_end_matches('0').to_owned(), exponent)
}

/// Splits text that Rust wrote into the digits before and after the point and the signed exponent
/// of at least two digits.
fn scientific_parts(text: &str) -> (String, String, String) {
    let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (sign, digits) = exponent
        .strip_prefix('-')
        .map_or(('+', exponent), |digits| ('-', digits));
    (
        integer.to_owned(),
        fraction.to_owned(),
        format!("{sign}{digits:0>2}"),
    )
}

/// Returns numpy's word for a value that is not finite.
fn nonfinite_word(element: f64) -> &'static str {
    match element {
        f64::INFINITY => "inf",
        f64::NEG_INFINITY => "-inf",
        _ => "nan",
    }
}

/// A writer that sets words one blank apart, in lines of limited width.
struct LineFiller<'a> {
    out: &'a mut String,
    /// Columns of the current line in use, with the blank behind its last word; 1 when it has no
    /// word yet.
    used: usize,
}

impl<'a> LineFiller<'a> {
    /// Opens the bracket, which stands where every later line has a blank.
    fn new(out: &'a mut String) -> Self {
        out.push('[');
        Self { out, used: 1 }
    }

    /// Appends a word, on a new line if the current one has no room for it.
    fn push(&mut self, word: &str) {
        let is_first = self.used == 1;
        if !is_first && self.used + word.len() > LINE_WIDTH {
            // Elements are padded with blanks on the right, which numpy removes at the end of a
            // line.
            self.out.truncate(self.out.trim_end_matches(' ').len());
            self.out.push_str("\n ");
            self.used = 1;
        } else if !is_first {
            self.out.push(' ');
        }
        self.out.push_str(word);
        self.used += word.len() + 1;
    }

    /// Closes the bracket.
    fn close(self) {
        self.out.push(']');
    }
}
