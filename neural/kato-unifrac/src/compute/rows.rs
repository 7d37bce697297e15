//! Which pairs of samples are summed over, and where their sums lie.

use std::ops::Range;

use rayon::prelude::*;

/// Rows of sums: one for each sample asked for.
#[derive(Debug, Clone)]
pub(super) enum Rows {
    /// All pairs once: the row of each sample has the samples behind it.
    Upper {
        /// Samples.
        n_samples: usize,
    },
    /// Whole rows of some samples.
    Given {
        /// The samples, by their number.
        samples: Vec<u32>,
        /// Samples in a row.
        n_samples: usize,
    },
}

/// Sums of rows that follow each other, which one thread works on.
pub(super) struct Block<'a, T> {
    pub(super) rows: Range<usize>,
    pub(super) sums: &'a mut [T],
}

/// Bytes of sums in a block, so that they stay in a core's cache.
const BLOCK_BYTES: usize = 256 << 10;

impl Rows {
    pub(super) fn n_rows(&self) -> usize {
        match self {
            Self::Upper { n_samples } => *n_samples,
            Self::Given { samples, .. } => samples.len(),
        }
    }

    pub(super) fn n_samples(&self) -> usize {
        match self {
            Self::Upper { n_samples } | Self::Given { n_samples, .. } => *n_samples,
        }
    }

    pub(super) fn n_sums(&self) -> usize {
        self.offset(self.n_rows())
    }

    /// Where a row's sums begin.
    pub(super) fn offset(&self, row: usize) -> usize {
        match self {
            // Row r has n − 1 − r sums.
            Self::Upper { n_samples } => (row * (2 * n_samples - row).saturating_sub(1)) / 2,
            Self::Given { n_samples, .. } => row * n_samples,
        }
    }

    /// The sample that a row belongs to.
    pub(super) fn sample(&self, row: usize) -> usize {
        match self {
            Self::Upper { .. } => row,
            Self::Given { samples, .. } => samples[row] as usize,
        }
    }

    /// The sample of a row's first sum.
    pub(super) fn first_column(&self, row: usize) -> usize {
        match self {
            Self::Upper { .. } => row + 1,
            Self::Given { .. } => 0,
        }
    }

    /// The first of a branch's holders that a row has a sum for, where the row's own sample is in
    /// `place`.
    pub(super) fn first_other(&self, place: usize) -> usize {
        match self {
            Self::Upper { .. } => place + 1,
            Self::Given { .. } => 0,
        }
    }

    /// Gives blocks of rows to the threads. Their size changes no result, as each sum is made by
    /// one thread, in the order of the branches.
    pub(super) fn for_each_block<T: Send>(
        &self,
        sums: &mut [T],
        work: impl Fn(Block<'_, T>) + Sync + Send,
    ) {
        let n_rows = self.n_rows();
        let row_bytes = (self.n_samples() * size_of::<T>()).max(1);
        // Some blocks for each thread, as their work differs.
        let most = n_rows.div_ceil(4 * rayon::current_num_threads());
        let height = (BLOCK_BYTES / row_bytes).clamp(1, most.max(1));
        let mut blocks = Vec::with_capacity(n_rows.div_ceil(height));
        let mut rest = sums;
        for first in (0..n_rows).step_by(height) {
            let rows = first..(first + height).min(n_rows);
            let n_sums = self.offset(rows.end) - self.offset(first);
            let (sums, behind) = rest.split_at_mut(n_sums);
            rest = behind;
            blocks.push(Block { rows, sums });
        }
        blocks.into_par_iter().for_each(work);
    }
}

impl<T> Block<'_, T> {
    /// Returns the sums of a row of the block.
    pub(super) fn row(&mut self, rows: &Rows, row: usize) -> &mut [T] {
        let start = rows.offset(self.rows.start);
        &mut self.sums[rows.offset(row) - start..rows.offset(row + 1) - start]
    }
}
