//! How many n-grams have each of the counts that discounts are estimated from.

use serde::{Deserialize, Serialize};

/// Numbers of n-grams whose count is 1, 2, 3 and 4.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spectrum([u64; 4]);

impl Spectrum {
    /// Counts the counts of a column.
    pub(crate) fn of(counts: impl Iterator<Item = u32>) -> Self {
        let mut spectrum = Self::default();
        for count in counts {
            spectrum.replace(0, count);
        }
        spectrum
    }

    /// Returns how many n-grams have this count, which is 1 to 4.
    pub(crate) const fn n_with(self, count: usize) -> u64 {
        self.0[count - 1]
    }

    /// Replaces a count by another.
    pub(crate) fn replace(&mut self, before: u32, after: u32) {
        if let Some(n) = self.place(before) {
            *n = n.saturating_sub(1);
        }
        if let Some(n) = self.place(after) {
            *n += 1;
        }
    }

    fn place(&mut self, count: u32) -> Option<&mut u64> {
        self.0.get_mut((count as usize).checked_sub(1)?)
    }
}
