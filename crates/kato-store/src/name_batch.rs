//! Names of several sources in one order, some thousands at a time: sorted within the processor's
//! cache, which takes a fraction of what a heap does that moves by one name.

use kato_model::PatternName;

/// Names of several sources, which are numbered; each lies at a place of its source.
#[derive(Debug, Default)]
pub(crate) struct NameBatch {
    entries: Vec<Entry>,
    n_returned: usize,
    /// What sorting uses again and again: the entries by bucket, and where each bucket's go next.
    sorted: Vec<Entry>,
    ends: Vec<u32>,
}

/// Names of one bucket beyond which they are not spread evenly, and are sorted as anything else.
const MAX_BUCKET: u32 = 32;

/// A name of a batch as one number, which sorts fastest: its leading bytes, then its source, then
/// its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u128);

impl Entry {
    fn new(leading: u64, source: u32, place: u32) -> Self {
        Self(u128::from(leading) << 64 | u128::from(source) << 32 | u128::from(place))
    }

    fn leading(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// Returns the number of the source.
    pub(crate) fn source(self) -> usize {
        let [.., a, b, c, d, _, _, _, _] = self.0.to_be_bytes();
        u32::from_be_bytes([a, b, c, d]) as usize
    }

    /// Returns the place in the source.
    pub(crate) fn place(self) -> usize {
        let [.., a, b, c, d] = self.0.to_be_bytes();
        u32::from_be_bytes([a, b, c, d]) as usize
    }
}

impl NameBatch {
    /// Takes all names away.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.n_returned = 0;
    }

    /// Adds a name by its leading bytes.
    pub(crate) fn push(&mut self, leading: u64, source: u32, place: u32) {
        self.entries.push(Entry::new(leading, source, place));
    }

    /// Returns whether all names were returned.
    pub(crate) fn is_done(&self) -> bool {
        self.n_returned == self.entries.len()
    }

    /// Orders the names; `name` tells a whole one.
    pub(crate) fn sort(&mut self, name: impl Fn(Entry) -> PatternName) {
        if !self.sort_by_buckets() {
            self.entries.sort_unstable();
        }
        let same_leading = |a: &Entry, b: &Entry| a.leading() == b.leading();
        for same in self.entries.chunk_by_mut(same_leading) {
            if same.len() > 1 {
                // Stable, so that equal names stay in the order of the sources.
                same.sort_by_key(|entry| name(*entry));
            }
        }
    }

    /// Sorts names as digests are, spread evenly over the range that they span: each goes to its bucket,
    /// of which there are as many as names, and then it is nearly in its place. Returns `false`, and has
    /// done nothing, where they are not spread so.
    fn sort_by_buckets(&mut self) -> bool {
        let leading = || self.entries.iter().map(|entry| entry.leading());
        let (Some(least), Some(most), Ok(n)) = (
            leading().min(),
            leading().max(),
            u32::try_from(self.entries.len()),
        ) else {
            return false;
        };
        // Powers of two, so that a bucket is found by a shift.
        let n_buckets = 1_usize << n.ilog2();
        let span_bits = u64::BITS - (most - least).leading_zeros();
        let shift = span_bits.saturating_sub(n_buckets.ilog2());
        #[expect(
            clippy::cast_possible_truncation,
            reason = "no more bits are left than a bucket's number has"
        )]
        let bucket = |entry: &Entry| ((entry.leading() - least) >> shift) as usize;
        self.ends.clear();
        self.ends.resize(n_buckets + 1, 0);
        for entry in &self.entries {
            self.ends[bucket(entry) + 1] += 1;
        }
        if self.ends.iter().any(|&count| count > MAX_BUCKET) {
            return false;
        }
        for bucket in 1..self.ends.len() {
            self.ends[bucket] += self.ends[bucket - 1];
        }
        // Every place is written below, so what is there may stay until then.
        self.sorted.resize(self.entries.len(), Entry(0));
        for entry in &self.entries {
            let next = &mut self.ends[bucket(entry)];
            self.sorted[*next as usize] = *entry;
            *next += 1;
        }
        // Buckets ascend, so that none is moved beyond its own.
        for idx in 1..self.sorted.len() {
            let entry = self.sorted[idx];
            let mut at = idx;
            while at > 0 && self.sorted[at - 1] > entry {
                self.sorted[at] = self.sorted[at - 1];
                at -= 1;
            }
            self.sorted[at] = entry;
        }
        std::mem::swap(&mut self.entries, &mut self.sorted);
        true
    }

    /// Moves to the next name and returns it with all places where it lies, by source; `None` after
    /// the last.
    pub(crate) fn next_group(
        &mut self,
        name: impl Fn(Entry) -> PatternName,
    ) -> Option<(PatternName, &[Entry])> {
        let left = &self.entries[self.n_returned..];
        let first = *left.first()?;
        let first_name = name(first);
        let mut n_members = 1;
        // Nearly always the leading bytes are enough to tell names apart.
        while let Some(next) = left.get(n_members)
            && next.leading() == first.leading()
            && name(*next) == first_name
        {
            n_members += 1;
        }
        self.n_returned += n_members;
        Some((first_name, &left[..n_members]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_come_in_order_and_equal_ones_by_source_also_where_leading_bytes_agree() {
        let name = |leading: u64, last: u8| {
            let mut bytes = [0; PatternName::BYTES];
            bytes[..8].copy_from_slice(&leading.to_be_bytes());
            bytes[PatternName::BYTES - 1] = last;
            PatternName::from_bytes(bytes)
        };
        let sources = [
            vec![name(1, 0), name(7, 1), name(7, 3)],
            vec![name(7, 1), name(7, 2), name(u64::MAX, 0)],
            vec![name(7, 1)],
        ];
        let mut batch = NameBatch::default();
        for (source, names) in (0..).zip(&sources) {
            for (place, name) in (0..).zip(names) {
                batch.push(name.leading_u64(), source, place);
            }
        }
        let whole = |entry: Entry| sources[entry.source()][entry.place()];
        batch.sort(whole);
        let mut found = Vec::new();
        while let Some((name, members)) = batch.next_group(whole) {
            let members: Vec<_> = members.iter().map(|it| (it.source(), it.place())).collect();
            found.push((name, members));
        }
        assert!(batch.is_done());
        let expected = [
            (name(1, 0), vec![(0, 0)]),
            (name(7, 1), vec![(0, 1), (1, 0), (2, 0)]),
            (name(7, 2), vec![(1, 1)]),
            (name(7, 3), vec![(0, 2)]),
            (name(u64::MAX, 0), vec![(1, 2)]),
        ];
        assert_eq!(found, expected);
    }

    proptest! {
        /// Digests are spread evenly, what somebody else writes may not be.
        #[test]
        fn any_leading_bytes_are_sorted(
            spread in prop::collection::vec(any::<u64>(), 0..300),
            (start, near) in (any::<u64>(), prop::collection::vec(0..40_u64, 0..300)),
        ) {
            let near = near.into_iter().map(|offset| start.saturating_add(offset));
            let leading: Vec<u64> = spread.into_iter().chain(near).collect();
            let mut batch = NameBatch::default();
            // Twice, as what sorting uses is used again.
            for _ in 0..2 {
                batch.clear();
                for (place, &leading) in (0..).zip(&leading) {
                    batch.push(leading, 0, place);
                }
                batch.sort(|entry| {
                    let mut bytes = [0; PatternName::BYTES];
                    bytes[..8].copy_from_slice(&leading[entry.place()].to_be_bytes());
                    PatternName::from_bytes(bytes)
                });
                let sorted: Vec<u64> = batch.entries.iter().map(|entry| entry.leading()).collect();
                let mut expected = leading.clone();
                expected.sort_unstable();
                prop_assert_eq!(sorted, expected);
            }
        }
    }
}
