//! Counters by place of what the patterns of a page share with the state.

use crate::page::PAGE_PATTERNS;

/// Upper bounds of common symbols and pairs by place; all 0 between pages.
///
/// Counts are kept in a byte each, so that those of a page fit into the processor's cache.
#[derive(Debug)]
pub(crate) struct OverlapCounters {
    symbols: Vec<u8>,
    pairs: Vec<u8>,
    /// Places with a count, in the order in which they were found; a place may be there twice.
    touched: Vec<u16>,
}

/// A list of postings, and by how much each of them counts.
pub(crate) type Postings<'a> = (&'a [u16], usize);

impl OverlapCounters {
    /// Creates counters of 0 for all places of a page.
    pub(crate) fn new() -> Self {
        Self {
            symbols: vec![0; PAGE_PATTERNS],
            pairs: vec![0; PAGE_PATTERNS],
            touched: Vec::new(),
        }
    }

    pub(crate) fn touched(&self) -> &[u16] {
        &self.touched
    }

    pub(crate) fn symbols(&self, place: u16) -> usize {
        at_least(self.symbols[usize::from(place)])
    }

    pub(crate) fn pairs(&self, place: u16) -> usize {
        at_least(self.pairs[usize::from(place)])
    }

    /// Adds common pairs; their places become touched.
    pub(crate) fn count_pairs(&mut self, lists: &[Postings<'_>]) {
        count_lists(&mut self.pairs, lists, &mut self.touched);
    }

    /// Adds common symbols; their places become touched.
    pub(crate) fn count_symbols(&mut self, lists: &[Postings<'_>]) {
        count_lists(&mut self.symbols, lists, &mut self.touched);
    }

    /// Adds common symbols to the places that have common pairs.
    pub(crate) fn count_symbols_beside_pairs(&mut self, lists: &[Postings<'_>]) {
        for (places, count) in lists {
            let count = capped(*count);
            for &place in *places {
                // A product instead of a branch, which would often be mispredicted.
                let counts = u8::from(self.pairs[usize::from(place)] != 0);
                let symbols = &mut self.symbols[usize::from(place)];
                *symbols = symbols.saturating_add(count * counts);
            }
        }
    }

    /// Adds common symbols to the places that have some already.
    pub(crate) fn count_more_symbols(&mut self, lists: &[Postings<'_>]) {
        for (places, count) in lists {
            let count = capped(*count);
            for &place in *places {
                let symbols = &mut self.symbols[usize::from(place)];
                *symbols = symbols.saturating_add(count * u8::from(*symbols != 0));
            }
        }
    }

    /// Adds to the common symbols of all touched places.
    pub(crate) fn add_to_touched(&mut self, count: usize) {
        let count = capped(count);
        for &place in &self.touched {
            let symbols = &mut self.symbols[usize::from(place)];
            *symbols = symbols.saturating_add(count);
        }
    }

    /// Sets all counts to 0.
    pub(crate) fn clear(&mut self) {
        // No other places have counts.
        for &place in &self.touched {
            self.symbols[usize::from(place)] = 0;
            self.pairs[usize::from(place)] = 0;
        }
        self.touched.clear();
    }
}

/// Adds to the counts of the places of lists; those that had none become touched.
#[inline]
fn count_lists(counts: &mut [u8], lists: &[Postings<'_>], touched: &mut Vec<u16>) {
    for (places, count) in lists {
        let count = capped(*count);
        for &place in *places {
            let counted = &mut counts[usize::from(place)];
            if *counted == 0 {
                touched.push(place);
            }
            *counted = counted.saturating_add(count);
        }
    }
}

/// Returns the count that a byte stands for: one that reached the end of the byte
/// may be any larger.
fn at_least(count: u8) -> usize {
    match count {
        u8::MAX => usize::MAX,
        _ => usize::from(count),
    }
}

fn capped(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}
