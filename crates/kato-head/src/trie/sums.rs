//! What follows contexts, summed up ahead for those that are followed by much.

mod written;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

pub(crate) use self::written::WrittenSums;

/// Followers of a context up to which they are summed up when they are asked for.
pub(crate) const FEW: usize = 16;

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
#[inline]
pub(crate) fn add(sums: &mut BothSums, count: u32, continuation: u32) {
    // What has no count is absent, whatever leads through it.
    if count > 0 {
        sums[0].replace(0, continuation);
        sums[1].replace(0, count);
    }
}

/// The sums of the contexts of one length that are followed by more than a few symbols, in the order
/// of their ids.
#[derive(Debug)]
pub(crate) enum SumTable {
    Owned(Vec<(u32, BothSums)>),
    /// In files, the latest last. Those that are others now stand beside.
    Frozen(Vec<WrittenSums>, HashMap<u32, BothSums, FixedState>),
}

impl Default for SumTable {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

/// Bytes of the sums of one context.
pub(crate) const SUMS_BYTES: usize = 40;

/// Returns the sums of a context as bytes: of symbols to the left and of occurrences each Σ c with 8 bytes,
/// and with 4 bytes how many have c = 1, c = 2, and more.
pub(crate) fn to_bytes(sums: &BothSums) -> [u8; SUMS_BYTES] {
    let mut bytes = [0; SUMS_BYTES];
    for (half, sums) in bytes.chunks_exact_mut(SUMS_BYTES / 2).zip(sums) {
        half[..8].copy_from_slice(&sums.total.to_le_bytes());
        for (part, n) in half[8..].chunks_exact_mut(4).zip(sums.n) {
            // There are fewer n-grams than 2³².
            part.copy_from_slice(&(n as u32).to_le_bytes());
        }
    }
    bytes
}

fn of_bytes(bytes: [u8; SUMS_BYTES]) -> BothSums {
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|idx| bytes[at + idx]));
    [0, SUMS_BYTES / 2].map(|at| Sums {
        total: u64::from(number(at)) | u64::from(number(at + 4)) << 32,
        n: [8, 12, 16].map(|n| number(at + n).into()),
    })
}

impl SumTable {
    /// Takes sums in files, of which later ones take the place of those before.
    pub(crate) fn frozen(written: Vec<WrittenSums>) -> Self {
        Self::Frozen(written, HashMap::default())
    }

    pub(super) fn get(&self, context: u32) -> Option<BothSums> {
        match self {
            Self::Owned(sums) => {
                let place = sums.binary_search_by_key(&context, |(id, _)| *id);
                place.ok().map(|place| sums[place].1)
            }
            Self::Frozen(written, changed) => {
                if !changed.is_empty()
                    && let Some(changed) = changed.get(&context)
                {
                    return Some(*changed);
                }
                written.iter().rev().find_map(|sums| sums.get(context))
            }
        }
    }

    /// Returns the sums that are others than those in files, by context.
    pub(super) fn changed(&self) -> Vec<(u32, BothSums)> {
        let mut changed: Vec<_> = match self {
            Self::Owned(_) => Vec::new(),
            Self::Frozen(_, changed) => changed.iter().map(|(&id, &sums)| (id, sums)).collect(),
        };
        changed.sort_unstable_by_key(|(id, _)| *id);
        changed
    }

    /// Changes the sums of a context, if it has any here.
    pub(super) fn change(&mut self, context: u32, change: impl FnOnce(&mut BothSums)) {
        let Some(mut sums) = self.get(context) else {
            return;
        };
        change(&mut sums);
        match self {
            Self::Owned(all) => {
                if let Ok(place) = all.binary_search_by_key(&context, |(id, _)| *id) {
                    all[place].1 = sums;
                }
            }
            Self::Frozen(_, changed) => drop(changed.insert(context, sums)),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Owned(sums) => sums.capacity() * size_of::<(u32, BothSums)>(),
            Self::Frozen(written, changed) => {
                written.iter().map(WrittenSums::heap_bytes).sum::<usize>()
                    + changed.allocation_size()
            }
        }
    }
}
