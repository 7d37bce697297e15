//! One level in memory: names in order, a number for each.

use std::collections::BTreeMap;

use kato_model::PatternName;
use kato_store::PatternStore;

use crate::analysis::AnalysisError;

/// Names and frequencies of a node: 24 bytes a pattern.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) node: String,
    pub(crate) names: Names,
    /// Parallel to the names.
    pub(crate) frequencies: Counts,
    /// Frequency → patterns.
    pub(crate) histogram: BTreeMap<u64, u64>,
    /// BLAKE3 of name and frequency of every pattern in name order, as hexadecimal digits.
    pub(crate) digest: String,
}

impl Level {
    /// Reads names and frequencies of a node in one pass.
    pub(crate) fn load(store: &dyn PatternStore, node_idx: usize) -> Result<Self, AnalysisError> {
        // The scan below reports the error if the node does not exist.
        let node = store.nodes().get(node_idx).cloned().unwrap_or_default();
        let mut level = Self {
            names: Names(Vec::new()),
            frequencies: Counts::default(),
            histogram: BTreeMap::new(),
            digest: String::new(),
            node,
        };
        let mut digest = LevelDigest::default();
        let read = || AnalysisError::read(&level.node);
        for item in store.scan_frequencies(node_idx).map_err(read())? {
            let (name, frequency) = item.map_err(read())?;
            digest.update(name, frequency);
            // The store scans in name order, each name once, which `Names` relies on.
            level.names.0.push(name);
            level.frequencies.push(frequency);
            *level.histogram.entry(frequency).or_default() += 1;
        }
        level.digest = digest.finish();
        Ok(level)
    }
}

/// The digest of a node's content, computed without holding it.
///
/// A name is the SHA-1 of a pattern's content, so names and frequencies represent all that was
/// learned except attributes.
#[derive(Debug, Default)]
pub(crate) struct LevelDigest(blake3::Hasher);

impl LevelDigest {
    /// Reads a node and returns its digest as hexadecimal digits.
    pub(crate) fn compute(
        store: &dyn PatternStore,
        node_idx: usize,
    ) -> Result<String, AnalysisError> {
        let node = store.nodes().get(node_idx).map_or("", String::as_str);
        let mut digest = Self::default();
        for item in store
            .scan_frequencies(node_idx)
            .map_err(AnalysisError::read(node))?
        {
            let (name, frequency) = item.map_err(AnalysisError::read(node))?;
            digest.update(name, frequency);
        }
        Ok(digest.finish())
    }

    /// Adds a pattern.
    fn update(&mut self, name: PatternName, frequency: u64) {
        // Both parts have a fixed length and a fixed byte order, so no two sequences of patterns
        // have the same bytes, on any platform.
        self.0.update(name.as_bytes());
        self.0.update(&frequency.to_le_bytes());
    }

    /// Returns the digest as hexadecimal digits.
    fn finish(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}

/// Names in ascending order, each once.
#[derive(Debug)]
pub(crate) struct Names(Vec<PatternName>);

impl Names {
    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the position of a name; `None` if it is not there.
    pub(crate) fn position(&self, name: &PatternName) -> Option<usize> {
        self.0.binary_search(name).ok()
    }

    /// Returns the names in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = PatternName> {
        self.0.iter().copied()
    }
}

/// Numbers for a sequence of things, of which few are large: 4 bytes each.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    small: Vec<u32>,
    /// Numbers that do not fit, by position; `small` holds `u32::MAX` there.
    large: BTreeMap<usize, u64>,
}

impl Counts {
    /// Creates `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        Self {
            small: vec![0; len],
            large: BTreeMap::new(),
        }
    }

    /// Appends a number.
    fn push(&mut self, count: u64) {
        self.small.push(0);
        self.set(self.small.len() - 1, count);
    }

    /// Adds to one of the numbers, which stays at the largest `u64`.
    pub(crate) fn add(&mut self, position: usize, more: u64) {
        self.set(position, self.get(position).saturating_add(more));
    }

    /// Returns the number at a position.
    pub(crate) fn get(&self, position: usize) -> u64 {
        match self.small[position] {
            u32::MAX => self.large.get(&position).copied().unwrap_or_default(),
            small => u64::from(small),
        }
    }

    /// Returns the numbers in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        (0..self.small.len()).map(|position| self.get(position))
    }

    /// Replaces the number at a position.
    fn set(&mut self, position: usize, count: u64) {
        self.small[position] = match u32::try_from(count) {
            // `u32::MAX` itself marks a large number, so it is kept among the large ones.
            Ok(small) if small < u32::MAX => small,
            _ => {
                self.large.insert(position, count);
                u32::MAX
            }
        };
    }
}

/// A bit for each of a sequence of things.
#[derive(Debug, Clone)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// Creates `len` bits that are not set.
    pub(crate) fn zeros(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    /// Returns whether a bit is set.
    pub(crate) fn get(&self, position: usize) -> bool {
        self.0[position / 64] >> (position % 64) & 1 == 1
    }

    /// Sets a bit and returns whether it was not set before.
    pub(crate) fn set(&mut self, position: usize) -> bool {
        let is_new = !self.get(position);
        self.0[position / 64] |= 1 << (position % 64);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_any_size_add_up() {
        let mut counts = Counts::default();
        for count in [0, 7, u64::from(u32::MAX) - 1, u64::from(u32::MAX), u64::MAX] {
            counts.push(count);
        }
        counts.add(0, 5);
        counts.add(2, 3);
        counts.add(3, 1 << 40);
        counts.add(4, 1);
        let expected = [
            5,
            7,
            u64::from(u32::MAX) + 2,
            u64::from(u32::MAX) + (1 << 40),
            u64::MAX,
        ];
        assert_eq!(counts.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn bits_are_set_once() {
        let mut bits = Bits::zeros(130);
        for position in [0, 63, 64, 129] {
            assert!(!bits.get(position));
            assert!(bits.set(position) && !bits.set(position));
        }
        assert_eq!((0..130).filter(|&position| bits.get(position)).count(), 4);
    }
}
