//! Counting by place what the patterns of a page share with the state.

use crate::page::PAGE_PATTERNS;

/// Upper bounds of common symbols and pairs by place; all 0 between pages.
#[derive(Debug)]
pub(crate) struct Tally {
    symbols: Vec<u8>,
    pairs: Vec<u8>,
    /// Places that were counted, in order of discovery.
    touched: Vec<u16>,
}

/// A list of postings, and how many each of them counts.
pub(crate) type Postings<'a> = (&'a [u16], usize);

impl Tally {
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

    /// Counts common pairs; their places become touched.
    pub(crate) fn count_pairs(&mut self, lists: &[Postings<'_>]) {
        for (places, count) in lists {
            let count = capped(*count);
            for &place in *places {
                let pairs = &mut self.pairs[usize::from(place)];
                if *pairs == 0 {
                    self.touched.push(place);
                }
                *pairs = pairs.saturating_add(count);
            }
        }
    }

    /// Counts common symbols; their places become touched.
    pub(crate) fn count_symbols(&mut self, lists: &[Postings<'_>]) {
        for (places, count) in lists {
            let count = capped(*count);
            for &place in *places {
                let symbols = &mut self.symbols[usize::from(place)];
                if *symbols == 0 {
                    self.touched.push(place);
                }
                *symbols = symbols.saturating_add(count);
            }
        }
    }

    /// Counts common symbols of the places that have common pairs.
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

    /// Counts common symbols of the places that have some already.
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

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        for &place in &self.touched {
            self.symbols[usize::from(place)] = 0;
            self.pairs[usize::from(place)] = 0;
        }
        self.touched.clear();
    }
}

/// Counts are kept in a byte, so that those of a page fit into the processor's cache. One that reached the end of the byte
/// may stand for any larger one.
fn at_least(count: u8) -> usize {
    match count {
        u8::MAX => usize::MAX,
        _ => usize::from(count),
    }
}

fn capped(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}
