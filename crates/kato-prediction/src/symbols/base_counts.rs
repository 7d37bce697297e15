//! The counts of what was learned of the symbols of an index that lies below.

#![expect(clippy::cast_possible_truncation, reason = "ids are below 2³²")]

use super::{NAME, SymbolCount};
use crate::SymbolId;
use crate::collections::HashMap;

/// Symbols that share a chunk.
const CHUNK: usize = 16;

/// Counts by symbol, without those that the index has itself.
///
/// Texts are counted with every pattern that is learned, and there are few of them: their counts lie in
/// chunks by number, where hashing each would take a tenth of the time of loading. Names are many, and
/// nearly all are met once.
#[derive(Debug, Clone, Default)]
pub(super) struct BaseCounts {
    /// By number; a chunk is made when one of its symbols is counted.
    texts: Vec<Option<Box<[SymbolCount; CHUNK]>>>,
    n_chunks: usize,
    names: HashMap<SymbolId, SymbolCount>,
}

impl BaseCounts {
    pub(super) fn get(&self, id: SymbolId) -> SymbolCount {
        if id.0 & NAME != 0 {
            return self.names.get(&id).copied().unwrap_or_default();
        }
        let idx = id.0 as usize;
        let chunk = self.texts.get(idx / CHUNK).and_then(Option::as_deref);
        chunk.map_or_else(SymbolCount::default, |chunk| chunk[idx % CHUNK])
    }

    /// Returns the count of a symbol to be changed; it is 0 at first.
    pub(super) fn entry(&mut self, id: SymbolId) -> &mut SymbolCount {
        if id.0 & NAME != 0 {
            return self.names.entry(id).or_default();
        }
        let idx = id.0 as usize;
        if self.texts.len() <= idx / CHUNK {
            self.texts.resize(idx / CHUNK + 1, None);
        }
        let n_chunks = &mut self.n_chunks;
        let chunk = self.texts[idx / CHUNK].get_or_insert_with(|| {
            *n_chunks += 1;
            Box::default()
        });
        &mut chunk[idx % CHUNK]
    }

    /// Returns the symbols that may have been counted, with their counts, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (SymbolId, SymbolCount)> {
        let chunks = self.texts.iter().enumerate();
        let texts = chunks.flat_map(|(number, chunk)| {
            let counts = chunk.as_deref().into_iter().flatten();
            // Numbers of texts have 31 bits.
            let ids = (number * CHUNK) as u32..;
            counts.zip(ids).map(|(count, id)| (SymbolId(id), *count))
        });
        texts.chain(self.names.iter().map(|(&id, &count)| (id, count)))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.texts.capacity() * size_of::<Option<Box<[SymbolCount; CHUNK]>>>()
            + self.n_chunks * size_of::<[SymbolCount; CHUNK]>()
            + self.names.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_texts_and_names_apart_and_returns_all_of_them() {
        let mut counts = BaseCounts::default();
        let ids = [0, 15, 16, 1000, NAME, NAME | 16].map(SymbolId);
        for (id, frequency) in ids.into_iter().zip(1..) {
            counts.entry(id).frequency = frequency;
        }
        counts.entry(ids[1]).frequency += 10;
        assert_eq!(counts.get(SymbolId(17)).frequency, 0);
        assert_eq!(counts.get(SymbolId(5000)).frequency, 0);
        assert_eq!(counts.get(SymbolId(NAME | 1)).frequency, 0);
        let counted = counts.iter().filter(|(_, count)| count.frequency > 0);
        let mut counted: Vec<(u32, u64)> =
            counted.map(|(id, count)| (id.0, count.frequency)).collect();
        counted.sort_unstable();
        let expected = [
            (0, 1),
            (15, 12),
            (16, 3),
            (1000, 4),
            (NAME, 5),
            (NAME | 16, 6),
        ];
        assert_eq!(counted, expected);
    }
}
