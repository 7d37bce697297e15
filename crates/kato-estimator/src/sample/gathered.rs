//! The sightings of a document, summed up where they become many.

use std::sync::atomic::{AtomicU32, Ordering};

use super::counted::Sighting;
use crate::sketch::is_in_slice;

/// Sightings of a document that are kept one by one.
const MAX_SIGHTINGS: usize = 1 << 19;

/// Where the sightings of a document begin, and how many may come before they are summed up.
#[derive(Debug, Clone, Default)]
pub(super) struct Gathered {
    start: usize,
    limit: usize,
}

impl Gathered {
    /// Begins a document behind the sightings of those before.
    pub(super) fn from(start: usize) -> Self {
        Self { start, limit: 0 }
    }

    /// Sums up the sightings of a document where they have become many. Of a level of which more
    /// patterns are left than a sample counts, the smaller slices are kept that it will count once
    /// it takes these documents in, and noted as their `own`.
    pub(super) fn sum_up(
        &mut self,
        sightings: &mut Vec<Sighting>,
        slices: &[AtomicU32],
        own: &mut Vec<u32>,
        max_patterns: usize,
    ) {
        if sightings.len() - self.start < self.limit.max(MAX_SIGHTINGS) {
            return;
        }
        let mut of_document = sightings.split_off(self.start);
        of_document.sort_unstable();
        of_document.dedup_by(|next, kept| {
            let is_same = (next.level, next.name) == (kept.level, kept.name);
            if is_same {
                kept.times = kept.times.saturating_add(next.times);
            }
            is_same
        });
        own.resize(slices.len(), 0);
        for (level, (slice, own)) in slices.iter().zip(own.iter_mut()).enumerate() {
            let is_of = |seen: &Sighting| seen.level as usize == level;
            let mut shift = slice.load(Ordering::Relaxed).max(*own);
            while of_document.iter().filter(|seen| is_of(seen)).count() > max_patterns {
                shift += 1;
                of_document.retain(|seen| !is_of(seen) || is_in_slice(seen.name, shift));
            }
            *own = shift;
        }
        self.limit = 2 * of_document.len();
        sightings.append(&mut of_document);
    }
}
