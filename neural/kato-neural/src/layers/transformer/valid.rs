//! Which rows of a batch of sequences hold something.

use std::borrow::Cow;

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};

use crate::layers::check_lengths;

/// Which rows of sequences `[batch, rows, width]` hold something; the others are padding.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Valid<'a> {
    /// All of them.
    All,
    /// The first so many of each sequence.
    Lengths(&'a [usize]),
    /// Those with `true`, `[batch · rows]`, sequence after sequence.
    Mask(&'a [bool]),
}

impl<'a> Valid<'a> {
    /// Counts the valid rows of each sequence.
    ///
    /// # Panics
    ///
    /// Panics if this describes other sequences.
    pub(super) fn lengths(self, batch: usize, n_rows: usize) -> Cow<'a, [usize]> {
        let lengths: Cow<'_, [usize]> = match self {
            Self::All => Cow::Owned(vec![n_rows; batch]),
            Self::Lengths(lengths) => Cow::Borrowed(lengths),
            Self::Mask(mask) => {
                assert_eq!(mask.len(), batch * n_rows, "one entry of the mask a row");
                // Sequences without rows have no part of the mask, and still a length.
                let count = |row: usize| {
                    let part = &mask[row * n_rows..(row + 1) * n_rows];
                    part.iter().filter(|&&valid| valid).count()
                };
                Cow::Owned((0..batch).map(count).collect())
            }
        };
        check_lengths(&lengths, batch, n_rows);
        lengths
    }

    /// Says which row goes where so that valid ones come first, each part in its order; `None`
    /// where they do already.
    pub(super) fn order(self, n_rows: usize) -> Option<Vec<usize>> {
        let Self::Mask(mask) = self else { return None };
        let is_sorted = |part: &[bool]| part.windows(2).all(|pair| pair[0] || !pair[1]);
        if mask.chunks_exact(n_rows.max(1)).all(is_sorted) {
            return None;
        }
        let mut order: Vec<usize> = (0..mask.len()).collect();
        // Stable, so that rows keep their order and draws do not depend on the method.
        order.sort_by_key(|&row| (row / n_rows, !mask[row]));
        Some(order)
    }

    /// `true` at padding, `[batch, rows]`.
    pub(super) fn padding(self, batch: usize, n_rows: usize, device: &Device) -> Tensor<2, Bool> {
        if let Self::Mask(mask) = self {
            assert_eq!(mask.len(), batch * n_rows, "one entry of the mask a row");
            let padding = mask.iter().map(|valid| !valid).collect();
            return Tensor::from_data(TensorData::new(padding, [batch, n_rows]), device);
        }
        padding(&self.lengths(batch, n_rows), n_rows, device)
    }
}

/// `true` behind a sequence's end, `[batch, rows]`.
pub(super) fn padding(lengths: &[usize], n_rows: usize, device: &Device) -> Tensor<2, Bool> {
    let rows = lengths
        .iter()
        .flat_map(|&length| (0..n_rows).map(move |row| row >= length));
    let padding: Vec<bool> = rows.collect();
    Tensor::from_data(TensorData::new(padding, [lengths.len(), n_rows]), device)
}

/// Puts zeros behind the sequences' ends, whatever is there.
pub(super) fn covered(rows: Tensor<3>, lengths: &[usize]) -> Tensor<3> {
    let ([_, n_rows, _], device) = (rows.dims(), rows.device());
    cover(rows, padding(lengths, n_rows, &device))
}

/// Puts zeros where `padding` is true.
pub(super) fn cover(rows: Tensor<3>, padding: Tensor<2, Bool>) -> Tensor<3> {
    let shape = rows.dims();
    // Chosen and not multiplied: padding may hold anything, and zero times NaN is NaN.
    rows.mask_fill(padding.unsqueeze_dim::<3>(2).expand(shape), 0.0)
}

/// Moves row `order[i]` to place `i`, all sequences taken as one.
pub(super) fn moved(rows: Tensor<3>, order: &[usize]) -> Tensor<3> {
    let ([batch, n_rows, width], device) = (rows.dims(), rows.device());
    let order: Vec<i64> = order.iter().map(|&row| row as i64).collect();
    let order = Tensor::<1, Int>::from_data(TensorData::new(order, [batch * n_rows]), &device);
    let moved = rows.reshape([batch * n_rows, width]).select(0, order);
    moved.reshape([batch, n_rows, width])
}

/// Returns the order that undoes this one.
pub(super) fn inverse(order: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; order.len()];
    for (place, &row) in order.iter().enumerate() {
        inverse[row] = place;
    }
    inverse
}
