//! Draws dropout masks that are functions of where they are used, so that nothing is stored.

use kato_random::SplitMix64;

/// Seed and step of a draw: equal ones give equal masks, on any number of threads, and again when
/// a forward pass is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the optimiser's step, or of the batch.
    pub step: u64,
    /// Number of the first sequence, where a batch is one part of a larger one: each sequence then
    /// gets the mask that it gets in the whole.
    pub first_row: u64,
}

impl Draw {
    /// Place of the dropout before a decoder's projection; that after layer `l` is `l`.
    pub const OUTPUT: u64 = 1 << 32;

    /// Returns the place of what a transformer block adds to its rows: attention for `branch` 0, the
    /// net for 1.
    #[must_use]
    pub const fn block(block: u32, branch: u64) -> u64 {
        // Recurrent nets have the places below.
        (1 << 33) + 2 * block as u64 + branch
    }

    /// Makes the draw of a whole batch.
    #[must_use]
    pub const fn new(seed: u64, step: u64) -> Self {
        Self {
            seed,
            step,
            first_row: 0,
        }
    }

    /// Writes what the values of sequence `row` at time `t` are multiplied by at a place, as the
    /// recurrent nets and blocks do it: 0 or one over the share that is kept.
    ///
    /// ```
    /// let mut factors = [9.0; 4];
    /// kato_kernels::Draw::new(1, 2).factors(0.0, 0, 3, 4, &mut factors);
    /// assert_eq!(factors, [1.0; 4]);
    /// ```
    pub fn factors(self, rate: f32, place: u64, row: usize, t: usize, factors: &mut [f32]) {
        let Some(dropout) = Dropout::new(Some(self), rate, place) else {
            factors.fill(1.0);
            return;
        };
        let mask = dropout.row(number(t, row));
        for (j, factor) in factors.iter_mut().enumerate() {
            *factor = mask.factor(j);
        }
    }
}

/// Returns a number that no other sequence of the batch and no other step has.
pub(crate) const fn number(t: usize, row: usize) -> u64 {
    ((t as u64) << 32) | row as u64
}

/// Dropout at one place: which elements are kept, and what they are multiplied by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropout {
    key: u64,
    /// Kept where the draw, of 32 bits, is at least this.
    threshold: u32,
    scale: f32,
    first_row: u64,
}

impl Dropout {
    /// Makes the mask of one place (a layer, say); `None` where nothing is dropped.
    pub(crate) fn new(draw: Option<Draw>, rate: f32, place: u64) -> Option<Self> {
        let draw = draw.filter(|_| rate > 0.0)?;
        let key = mix(mix(mix(draw.seed).wrapping_add(draw.step)).wrapping_add(place));
        // Rates are below 1 (options are checked), so the product fits.
        let threshold = (f64::from(rate) * 4_294_967_296.0) as u32;
        Some(Self {
            key,
            threshold,
            scale: 1.0 / (1.0 - rate),
            first_row: draw.first_row,
        })
    }

    /// Returns the mask of one row, which `row` numbers.
    pub(crate) const fn row(self, row: u64) -> RowMask {
        let key = mix(self.key.wrapping_add(row).wrapping_add(self.first_row));
        RowMask {
            key: (key >> 32) as u32,
            threshold: self.threshold,
            scale: self.scale,
        }
    }
}

/// Mask of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowMask {
    key: u32,
    threshold: u32,
    scale: f32,
}

impl RowMask {
    /// Returns the factor of element `j`: 0, or one over the share that is kept.
    #[inline(always)]
    pub(crate) const fn factor(self, j: usize) -> f32 {
        // The finalizer of MurmurHash3, whose every output bit depends on every input bit.
        let mut hash = self.key.wrapping_add((j as u32).wrapping_mul(0x9e37_79b9));
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^= hash >> 16;
        if hash >= self.threshold {
            self.scale
        } else {
            0.0
        }
    }
}

/// Mixes 64 bits.
const fn mix(value: u64) -> u64 {
    SplitMix64::from_seed(value).next_u64()
}
