//! Rectangles out of rows of uneven length, with the mask that says what is padding.

use serde::{Deserialize, Serialize};

use crate::GradientError;
use crate::error::{require, require_length};

/// The side on which short rows are filled up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PadSide {
    /// Before the row: its last element is in the last column.
    Left,
    /// After the row: its first element is in the first column.
    #[default]
    Right,
}

/// How rows become a rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PadOptions {
    /// The side of the padding (default: right).
    pub side: PadSide,
    /// What the number of columns is a multiple of (default 1); some kernels are faster with 8.
    pub multiple_of: usize,
    /// How many elements of each row are taken, from its beginning; none for all (the default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
}

impl Default for PadOptions {
    fn default() -> Self {
        Self {
            side: PadSide::Right,
            // No padding but what the longest row asks for: it costs time and teaches nothing.
            multiple_of: 1,
            max_length: None,
        }
    }
}

impl PadOptions {
    /// Sets the side of the padding.
    #[must_use]
    pub const fn with_side(mut self, side: PadSide) -> Self {
        self.side = side;
        self
    }

    /// Sets what the number of columns is a multiple of.
    #[must_use]
    pub const fn with_multiple_of(mut self, multiple_of: usize) -> Self {
        self.multiple_of = multiple_of;
        self
    }

    /// Sets how many elements of each row are taken.
    #[must_use]
    pub const fn with_max_length(mut self, max_length: usize) -> Self {
        self.max_length = Some(max_length);
        self
    }

    fn taken(&self, length: usize) -> usize {
        self.max_length.map_or(length, |max| length.min(max))
    }
}

/// A rectangle of rows that were filled up.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Padded<T> {
    /// The elements, row by row: shape `[n_rows, n_columns, width]`.
    pub values: Vec<T>,
    /// 1 where there is an element and 0 where there is padding: shape `[n_rows, n_columns]`.
    pub mask: Vec<f32>,
    /// How many rows there are.
    pub n_rows: usize,
    /// How many elements the longest row has, as a multiple of what was asked for.
    pub n_columns: usize,
    /// How many numbers an element has: 1 for tokens.
    pub width: usize,
    /// How many elements each row has.
    pub lengths: Vec<usize>,
    /// How many elements `max_length` left out, of all rows together.
    pub n_cut: usize,
    /// The side of the padding.
    pub side: PadSide,
}

impl<T> Padded<T> {
    /// Returns how many elements there are without the padding.
    #[must_use]
    pub fn n_elements(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// Returns the column of a row's last element; none for a row without elements, and after the
    /// last row.
    #[must_use]
    pub fn last_column(&self, row: usize) -> Option<usize> {
        // A row without elements has no last one, and 0 − 1 would be another row's.
        let last = self.lengths.get(row)?.checked_sub(1)?;
        Some(match self.side {
            PadSide::Left => self.n_columns - 1,
            PadSide::Right => last,
        })
    }
}

/// Makes a rectangle of rows of tokens, filled up with `padding`.
///
/// # Errors
///
/// [`GradientError::Setting`] when `multiple_of` is 0.
///
/// ```
/// use kato_gradient::collate::{PadOptions, PadSide, pad_tokens};
///
/// let padded = pad_tokens(&[&[7, 8, 9][..], &[5]], 0, PadOptions::default())?;
/// assert_eq!(padded.values, [7, 8, 9, 5, 0, 0]);
/// assert_eq!(padded.mask, [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
/// let left = PadOptions::default().with_side(PadSide::Left);
/// assert_eq!(pad_tokens(&[&[7, 8, 9][..], &[5]], 0, left)?.values, [7, 8, 9, 0, 0, 5]);
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
pub fn pad_tokens<T: Copy>(
    rows: &[impl AsRef<[T]>],
    padding: T,
    options: PadOptions,
) -> Result<Padded<T>, GradientError> {
    pad(rows, 1, padding, options)
}

/// Makes a block of rows of vectors, filled up with zeros.
///
/// Each row holds its vectors one after the other, `width` numbers each.
///
/// # Errors
///
/// - [`GradientError::Setting`] when `multiple_of` or `width` is 0.
/// - [`GradientError::Length`] when a row is no whole number of vectors.
///
/// ```
/// use kato_gradient::collate::{PadOptions, pad_vectors};
///
/// let padded = pad_vectors(&[&[1.0, 2.0, 3.0, 4.0][..], &[5.0, 6.0]], 2, PadOptions::default())?;
/// assert_eq!(padded.values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0]);
/// assert_eq!((padded.n_rows, padded.n_columns, padded.lengths), (2, 2, vec![2, 1]));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
pub fn pad_vectors(
    rows: &[impl AsRef<[f32]>],
    width: usize,
    options: PadOptions,
) -> Result<Padded<f32>, GradientError> {
    require(width > 0, "width", width, "at least 1")?;
    pad(rows, width, 0.0, options)
}

fn pad<T: Copy>(
    rows: &[impl AsRef<[T]>],
    width: usize,
    padding: T,
    options: PadOptions,
) -> Result<Padded<T>, GradientError> {
    let multiple_of = options.multiple_of;
    require(multiple_of > 0, "multiple_of", multiple_of, "at least 1")?;
    let mut n_cut = 0;
    let mut lengths = Vec::with_capacity(rows.len());
    for row in rows {
        let n_numbers = row.as_ref().len();
        // Rows of tokens have width 1 and always fit.
        let length = n_numbers / width;
        require_length("a row of vectors", n_numbers, length * width)?;
        n_cut += length - options.taken(length);
        lengths.push(options.taken(length));
    }
    // No rows give a rectangle without columns rather than an error: an empty part of a replica
    // is no fault.
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let n_columns = longest.next_multiple_of(multiple_of);
    // Filled with padding first, so that each row is copied once, wherever it stands.
    let mut values = vec![padding; rows.len() * n_columns * width];
    let mut mask = vec![0.0; rows.len() * n_columns];
    for (index, (row, length)) in rows.iter().zip(&lengths).enumerate() {
        let begin = index * n_columns
            + match options.side {
                PadSide::Left => n_columns - length,
                PadSide::Right => 0,
            };
        let place = begin * width..(begin + length) * width;
        values[place].copy_from_slice(&row.as_ref()[..length * width]);
        // Floats, as losses are multiplied by the mask.
        mask[begin..begin + length].fill(1.0);
    }
    Ok(Padded {
        values,
        mask,
        n_rows: rows.len(),
        n_columns,
        width,
        lengths,
        n_cut,
        side: options.side,
    })
}
