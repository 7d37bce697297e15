//! What follows contexts, summed up ahead for those that are followed by much.

use super::NgramCounts;

/// Followers of a context up to which they are summed up when they are asked for.
pub(super) const FEW: usize = 16;

/// The sums over all symbols that follow a context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Σ c.
    pub(crate) total: u64,
    /// How many followers have c = 1, c = 2, and more.
    pub(crate) n: [u64; 3],
}

impl Sums {
    /// Replaces a count by another.
    pub(super) fn replace(&mut self, before: u32, after: u32) {
        if before > 0 {
            self.total = self.total.saturating_sub(before.into());
            let n = &mut self.n[class(before)];
            *n = n.saturating_sub(1);
        }
        if after > 0 {
            self.total += u64::from(after);
            self.n[class(after)] += 1;
        }
    }
}

/// Returns the place of a count above 0 among those of 1, of 2 and of more.
fn class(count: u32) -> usize {
    (count as usize).min(3) - 1
}

/// The sums of a context: over distinct symbols to the left, and over occurrences.
pub(crate) type BothSums = [Sums; 2];

/// Adds a follower to the sums of its context.
pub(super) fn add(sums: &mut BothSums, ngram: NgramCounts) {
    // What has no count is absent, whatever leads through it.
    if ngram.count > 0 {
        sums[0].replace(0, ngram.continuation);
        sums[1].replace(0, ngram.count);
    }
}

/// The sums of the contexts of one length that are followed by more than a few symbols, in the order
/// of their ids.
#[derive(Debug, Default)]
pub(super) struct SumTable(Vec<(u32, BothSums)>);

impl SumTable {
    /// Adds the sums of a context after all those before it.
    pub(super) fn push(&mut self, context: u32, sums: BothSums) {
        self.0.push((context, sums));
    }

    pub(super) fn get(&self, context: u32) -> Option<BothSums> {
        self.place(context).map(|place| self.0[place].1)
    }

    /// Returns the sums of a context, to be kept in step with what is counted.
    pub(super) fn get_mut(&mut self, context: u32) -> Option<&mut BothSums> {
        let place = self.place(context)?;
        self.0.get_mut(place).map(|(_, sums)| sums)
    }

    fn place(&self, context: u32) -> Option<usize> {
        self.0.binary_search_by_key(&context, |(id, _)| *id).ok()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u32, BothSums)>()
    }
}
