//! Counting of the sightings of every pattern, in bounded memory.

use std::collections::HashMap;

use crate::FrequencyCounts;

/// Frequencies of the patterns whose hash is in a slice of all hashes, separate for `G` groups of
/// documents.
///
/// The slice is everything until there are more than `max_types` patterns, then a half, a quarter,
/// and so on. What is in it does not depend on the order of the documents, and every pattern in it
/// has its exact frequency.
#[derive(Debug, Clone)]
pub(crate) struct TypeSketch<const G: usize> {
    types: HashMap<u64, Seen<G>>,
    max_types: usize,
    /// The slice is one in 2^shift.
    shift: u32,

    /// Sightings within the slice of their time, and those of them that are the first in their
    /// document.
    sightings: u64,
    first_sightings: u64,
}

#[derive(Debug, Clone, Copy)]
struct Seen<const G: usize> {
    counts: [u32; G],
    n_symbols: u32,
    /// Documents that hold it, and the last of them.
    documents: u32,
    last_document: u64,
}

impl<const G: usize> TypeSketch<G> {
    /// Creates an empty sketch that holds at most `max_types` patterns, at least 1.
    pub(crate) fn new(max_types: usize) -> Self {
        Self {
            types: HashMap::new(),
            max_types: max_types.max(1),
            shift: 0,

            sightings: 0,
            first_sightings: 0,
        }
    }

    /// Returns the share of sightings that are the first of their pattern in the document; 1
    /// without sightings.
    pub(crate) fn first_share(&self) -> f64 {
        if self.sightings == 0 {
            1.0
        } else {
            self.first_sightings as f64 / self.sightings as f64
        }
    }

    /// Adds one sighting in a document, numbered from 1 in the order in which they come; `group`
    /// below `G`.
    pub(crate) fn add(&mut self, hash: u64, document: u64, group: usize, n_symbols: usize) {
        // The low bits of the hash are random, so the slice is a random part of all patterns.
        if hash.trailing_zeros() < self.shift {
            return;
        }
        let seen = self.types.entry(hash).or_insert(Seen {
            counts: [0; G],
            n_symbols: u32::try_from(n_symbols).unwrap_or(u32::MAX),
            documents: 0,
            last_document: 0,
        });
        // Documents come one after the other, so the last one is all that has to be kept. 0 is
        // none.
        let is_first = seen.last_document != document;
        seen.last_document = document;
        self.sightings += 1;
        self.first_sightings += u64::from(is_first);
        seen.documents = seen.documents.saturating_add(u32::from(is_first));
        if let Some(count) = seen.counts.get_mut(group) {
            *count = count.saturating_add(1);
        }
        // A slice is part of every slice before it. A pattern that is in it was therefore counted
        // from its first sighting, and one that is dropped never comes back with a part of its
        // frequency.
        while self.types.len() > self.max_types && self.shift < 63 {
            self.shift += 1;
            let shift = self.shift;
            self.types.retain(|hash, _| hash.trailing_zeros() >= shift);
        }
    }

    /// Returns whether every pattern is counted.
    pub(crate) fn is_exact(&self) -> bool {
        self.shift == 0
    }

    /// Returns the mean symbols of a distinct pattern; 0 without patterns.
    pub(crate) fn mean_symbols(&self) -> f64 {
        let sum: u64 = self
            .types
            .values()
            .map(|seen| u64::from(seen.n_symbols))
            .sum();
        sum as f64 / self.types.len().max(1) as f64
    }

    /// Returns frequencies of frequencies where a pattern counts once for a document, however often
    /// it is in it.
    pub(crate) fn once_a_document(&self) -> FrequencyCounts {
        // Each pattern of the slice stands for 2^shift patterns of its frequency. The order of the
        // table is random, but numbers of equal frequencies are added up as integers.
        let scale = 1u64 << self.shift;
        let counts = self
            .types
            .values()
            .map(|seen| (u64::from(seen.documents), scale));
        counts.collect()
    }

    /// Returns frequencies of frequencies, of all groups or of all but one, scaled to all patterns
    /// where only a slice is counted.
    pub(crate) fn frequencies(&self, without: Option<usize>) -> FrequencyCounts {
        let scale = 1u64 << self.shift;
        let counts = self.types.values().map(|seen| {
            let kept = seen
                .counts
                .iter()
                .enumerate()
                .filter(|(group, _)| Some(*group) != without);
            // A pattern of the group left out alone has the frequency 0, which is not counted.
            (kept.map(|(_, &count)| u64::from(count)).sum(), scale)
        });
        counts.collect()
    }
}

#[cfg(test)]
mod tests {
    use kato_random::SplitMix64;

    use super::*;

    #[test]
    fn frequencies_can_leave_a_group_out() {
        let mut sketch = TypeSketch::<2>::new(100);
        for (document, (hash, group)) in [(1, 0), (1, 1), (2, 0), (3, 1)].into_iter().enumerate() {
            sketch.add(hash, document as u64 + 1, group, 4);
        }
        assert!(sketch.is_exact());
        assert_eq!(
            sketch.frequencies(None),
            [(1, 2), (2, 1)].into_iter().collect()
        );
        assert_eq!(sketch.frequencies(Some(0)), [(1, 2)].into_iter().collect());
        assert_eq!(sketch.mean_symbols(), 4.0);
    }

    #[test]
    fn repeats_within_a_document_can_be_left_out() {
        let mut sketch = TypeSketch::<1>::new(100);
        for (hash, document) in [(1, 1), (1, 1), (2, 1), (1, 2)] {
            sketch.add(hash, document, 0, 4);
        }
        assert_eq!(
            sketch.once_a_document(),
            [(1, 1), (2, 1)].into_iter().collect()
        );
        assert_eq!(sketch.first_share(), 0.75);
    }

    #[test]
    fn a_full_sketch_keeps_a_slice_with_exact_frequencies() {
        let mut sketch = TypeSketch::<1>::new(1_000);
        let mut random = SplitMix64::from_seed(1);
        let hashes: Vec<u64> = (0..20_000).map(|_| random.next_u64()).collect();
        for &hash in hashes.iter().chain(&hashes) {
            sketch.add(hash, 1, 0, 2);
        }
        assert!(!sketch.is_exact() && sketch.types.len() <= 1_000);
        let frequencies = sketch.frequencies(None);
        let distinct = frequencies.distinct() as f64;
        assert!((distinct / 20_000.0 - 1.0).abs() < 0.15, "{distinct}");
        assert_eq!(frequencies.singletons(), 0, "every pattern was seen twice");
    }
}
