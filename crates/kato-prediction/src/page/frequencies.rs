//! The column of frequencies of a page: four bytes each, as nearly all are small.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a page has at most 2¹⁶ patterns"
)]

use crate::collections::HashMap;

/// Numbers of learns by place.
#[derive(Debug, Clone, Default)]
pub(super) struct Frequencies {
    /// `u32::MAX` stands for a value in `large`.
    small: Vec<u32>,
    large: HashMap<u16, u64>,
}

impl Frequencies {
    pub(super) fn get(&self, place: u16) -> u64 {
        match self.small[usize::from(place)] {
            // `set` keeps an entry for every marker, so the default is never taken.
            u32::MAX => self.large.get(&place).copied().unwrap_or(u64::MAX),
            small => u64::from(small),
        }
    }

    /// Appends the frequency of the next place; there are at most 65,536 places.
    pub(super) fn push(&mut self, frequency: u64) {
        let place = self.small.len() as u16;
        self.small.push(0);
        self.set(place, frequency);
    }

    /// Adds to a frequency, which stops at `u64::MAX`: imported frequencies may be that large.
    pub(super) fn add(&mut self, place: u16, added: u64) {
        self.set(place, self.get(place).saturating_add(added));
    }

    /// Sets a frequency to 0.
    pub(super) fn clear(&mut self, place: u16) {
        self.large.remove(&place);
        self.small[usize::from(place)] = 0;
    }

    pub(super) fn reserve_exact(&mut self, n_patterns: usize) {
        self.small.reserve_exact(n_patterns);
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.small.shrink_to_fit();
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.small.capacity() * size_of::<u32>() + self.large.allocation_size()
    }

    fn set(&mut self, place: u16, frequency: u64) {
        let small = u32::try_from(frequency).unwrap_or(u32::MAX);
        self.small[usize::from(place)] = small;
        // A frequency of exactly `u32::MAX` needs an entry too, since it equals the marker. Entries
        // never go stale, as frequencies only grow, and what clears one removes it.
        if small == u32::MAX {
            self.large.insert(place, frequency);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_grow_past_four_bytes_and_saturate() {
        let mut frequencies = Frequencies::default();
        frequencies.push(1);
        frequencies.push(u64::from(u32::MAX) - 1);
        frequencies.add(0, 1);
        frequencies.add(1, 5);
        assert_eq!(frequencies.get(0), 2);
        assert_eq!(frequencies.get(1), u64::from(u32::MAX) + 4);
        frequencies.add(1, u64::MAX);
        assert_eq!(frequencies.get(1), u64::MAX);
    }
}
