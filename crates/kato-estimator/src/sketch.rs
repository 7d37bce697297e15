//! Counting of the sightings of every pattern, in bounded memory.

use crate::FrequencyCounts;
use crate::hash::{HashTable, finish};
use crate::recapture::Holders;

/// Frequencies of the patterns whose hash is in a slice of all hashes.
///
/// The slice is everything until there are more than `max_types` patterns, then a half, a quarter,
/// and so on. What is in it does not depend on the order of the documents, and every pattern in it
/// has its exact frequency.
#[derive(Debug, Clone)]
pub(crate) struct TypeSketch {
    types: HashTable<Seen>,
    max_types: usize,
    /// The slice is one in 2^shift.
    shift: u32,
    /// The segment of the store that holds what is added.
    segment: u32,
}

/// What a segment of the store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) patterns: u64,
    /// Those of them that are in it more than once.
    pub(crate) repeated: u64,
    pub(crate) symbols: u64,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    times: u32,
    n_symbols: u32,
    /// Documents that hold it, and the last of them.
    documents: u32,
    last_document: u64,
    /// Sum of the hashes of these documents.
    holders: u64,
    /// A bit for each segment of the store that holds it.
    segments: u64,
}

/// Returns whether a slice of one in 2^`shift` of all hashes holds this one.
pub(crate) fn is_in_slice(hash: u64, shift: u32) -> bool {
    // The low bits of the hash are random, so the slice is a random part of all patterns.
    hash.trailing_zeros() >= shift
}

impl TypeSketch {
    /// Creates an empty sketch that holds at most `max_types` patterns, at least 1.
    pub(crate) fn new(max_types: usize) -> Self {
        Self {
            types: HashTable::default(),
            max_types: max_types.max(1),
            shift: 0,
            segment: 0,
        }
    }

    /// Sets the segment of the store, below 64, that holds what is added from now on.
    pub(crate) fn set_segment(&mut self, segment: u32) {
        self.segment = segment;
    }

    /// Returns what each of the first segments of the store holds, scaled to all patterns where only a
    /// slice is counted.
    pub(crate) fn held(&self, segments: u32) -> Vec<Held> {
        let mut all = vec![Held::default(); segments as usize];
        for seen in self.types.values() {
            // Sightings beyond one for each of its segments may be in any of them. In 1/256, as sums of
            // integers do not depend on the order of the table.
            let held = seen.segments.count_ones().max(1);
            let more = seen.times.saturating_sub(held);
            let once = (1.0 - 1.0 / f64::from(held)).powf(f64::from(more));
            let repeated = (256.0 * (1.0 - once)).round() as u64;
            for (at, all) in all.iter_mut().enumerate() {
                if seen.segments >> at & 1 == 1 {
                    all.patterns += 1;
                    all.repeated += repeated;
                    all.symbols += u64::from(seen.n_symbols);
                }
            }
        }
        for all in &mut all {
            all.repeated /= 256;
            all.patterns <<= self.shift;
            all.repeated <<= self.shift;
            all.symbols <<= self.shift;
        }
        all
    }

    /// Returns the share of sightings that are the first of their pattern in the document; 1
    /// without sightings.
    pub(crate) fn first_share(&self) -> f64 {
        let (first, all) = self.types.values().fold((0, 0), |(first, all), seen| {
            (
                first + u64::from(seen.documents),
                all + u64::from(seen.times),
            )
        });
        if all == 0 {
            1.0
        } else {
            first as f64 / all as f64
        }
    }

    /// Adds sightings in a document, numbered from 1 in the order in which they come.
    pub(crate) fn add(&mut self, hash: u64, times: u32, document: u64, n_symbols: u32) {
        if !is_in_slice(hash, self.shift) {
            return;
        }
        let seen = self.types.entry(hash).or_insert(Seen {
            times: 0,
            n_symbols,
            documents: 0,
            last_document: 0,
            holders: 0,
            segments: 0,
        });
        seen.segments |= 1 << (self.segment % u64::BITS);
        // Documents come one after the other, so the last one is all that has to be kept. 0 is
        // none.
        let is_first = seen.last_document != document;
        seen.last_document = document;
        if is_first {
            seen.documents = seen.documents.saturating_add(1);
            seen.holders = seen.holders.wrapping_add(finish(document, 0));
        }
        seen.times = seen.times.saturating_add(times);
        // A slice is part of every slice before it. A pattern that is in it was therefore counted
        // from its first sighting, and one that is dropped never comes back with a part of its
        // frequency.
        while self.types.len() > self.max_types && self.shift < 63 {
            self.narrow(self.shift + 1);
        }
    }

    /// Counts no more than a slice of one in 2^`shift`.
    pub(crate) fn narrow(&mut self, shift: u32) {
        if shift > self.shift {
            self.shift = shift;
            self.types.retain(|&hash, _| is_in_slice(hash, shift));
        }
    }

    /// Returns the slice that is counted, as one in 2^shift.
    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    /// Returns the relative standard deviation of the distinct patterns; 0 where the slice is
    /// everything.
    pub(crate) fn relative_error(&self) -> f64 {
        // Each pattern is in the slice by itself, with probability 1 in 2^shift.
        let left_out = 1.0 - (-f64::from(self.shift)).exp2();
        (left_out / self.types.len().max(1) as f64).sqrt()
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

    /// Returns how many documents hold each pattern, scaled to all patterns where only a slice is
    /// counted.
    pub(crate) fn holders(&self) -> Holders {
        let counts = |seen: &Seen| (u64::from(seen.documents), 1 << self.shift);
        let numbers = self.types.values().map(counts).collect();
        // Patterns that the same documents hold were drawn together.
        let mut together: Vec<(u64, u32)> = self
            .types
            .values()
            .map(|seen| (seen.holders, seen.documents))
            .collect();
        together.sort_unstable();
        let [mut alone, mut shared] = [Independent::default(); 2];
        for same in together.chunk_by(|a, b| a.0 == b.0) {
            let number = f64::from(same[0].1);
            let kind = if number > 1.0 {
                &mut shared
            } else {
                &mut alone
            };
            kind.add(number * same.len() as f64);
        }
        let all = alone.sum + shared.sum;
        let [of_alone, of_shared] = [(&alone, 0.0), (&shared, 1.0)]
            .map(|(kind, more)| (kind.number() + more) * all / kind.sum.max(1.0));
        let independent = match (alone.sum > 0.0, shared.sum > 0.0) {
            // Documents differ in what they share, and every pair of them says something of its own.
            (true, true) => of_shared.min((of_alone * of_shared).sqrt()),
            (true, false) => of_alone,
            (false, _) => of_shared.min(all),
        };
        Holders {
            numbers,
            independent,
        }
    }

    /// Returns frequencies of frequencies, scaled to all patterns where only a slice is counted.
    pub(crate) fn frequencies(&self) -> FrequencyCounts {
        // Each pattern of the slice stands for 2^shift patterns of its frequency. The order of the
        // table is random, but numbers of equal frequencies are added up as integers.
        let counts = |seen: &Seen| (u64::from(seen.times), 1 << self.shift);
        self.types.values().map(counts).collect()
    }
}

/// Sums of weights that tell how many equal ones they are worth.
#[derive(Debug, Clone, Copy, Default)]
struct Independent {
    sum: f64,
    squares: f64,
}

impl Independent {
    fn add(&mut self, weight: f64) {
        self.sum += weight;
        self.squares += weight * weight;
    }

    fn number(&self) -> f64 {
        self.sum * self.sum / self.squares.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use kato_random::SplitMix64;

    use super::*;
    use crate::hash::hash_names;

    #[test]
    fn repeats_within_a_document_do_not_count_as_holders() {
        let mut sketch = TypeSketch::new(100);
        for (hash, document) in [(1, 1), (1, 1), (2, 1), (1, 2)] {
            sketch.add(hash, 1, document, 4);
        }
        let holders = sketch.holders();
        assert_eq!(holders.numbers, [(1, 1), (2, 1)].into_iter().collect());
        assert_eq!(sketch.first_share(), 0.75);
        assert_eq!(sketch.frequencies(), [(1, 1), (3, 1)].into_iter().collect());
    }

    #[test]
    fn a_segment_holds_what_was_added_to_it() {
        let mut sketch = TypeSketch::new(100);
        for (segment, hash) in [(0, 1), (0, 1), (0, 2), (1, 2), (2, 3)] {
            sketch.set_segment(segment);
            sketch.add(hash, 1, 1, 4);
        }
        let held = sketch.held(3).into_iter();
        let held: Vec<_> = held.map(|h| (h.patterns, h.repeated, h.symbols)).collect();
        assert_eq!(held, [(2, 1, 8), (1, 0, 4), (1, 0, 4)]);
    }

    #[test]
    fn patterns_of_one_document_are_no_more_than_it() {
        let mut sketch = TypeSketch::new(100_000);
        for document in 1..=20 {
            for pattern in 0..1_000 {
                sketch.add(hash_names(&[document, pattern]), 1, document, 4);
            }
        }
        let holders = sketch.holders();
        assert_eq!(holders.numbers.distinct(), 20_000);
        assert!((holders.independent - 20.0).abs() < 1e-6, "{holders:?}");
    }

    #[test]
    fn a_full_sketch_keeps_a_slice_with_exact_frequencies() {
        let mut sketch = TypeSketch::new(1_000);
        let mut random = SplitMix64::from_seed(1);
        let hashes: Vec<u64> = (0..20_000).map(|_| random.next_u64()).collect();
        for &hash in hashes.iter().chain(&hashes) {
            sketch.add(hash, 1, 1, 2);
        }
        assert!(sketch.shift() > 0 && sketch.types.len() <= 1_000);
        let frequencies = sketch.frequencies();
        let distinct = frequencies.distinct() as f64;
        assert!((distinct / 20_000.0 - 1.0).abs() < 0.15, "{distinct}");
        assert_eq!(frequencies.singletons(), 0, "every pattern was seen twice");
    }
}
