//! The numbers that the symbols of a segment get in a merge.

/// Number of entries of the table that are looked at together: they stay within the processor's
/// second cache, where the whole table is many times as large.
const PART_ENTRIES_LOG2: u32 = 15;

/// Parts of a table from which on symbols are sorted by part before they are looked up.
const MIN_PARTS: usize = 4;

/// The numbers that the symbols of a segment's node get in a merge.
#[derive(Debug)]
pub(crate) struct Renumbering<'a> {
    /// By the number of a pattern of the node below.
    pub(crate) below: &'a [u32],
    /// By the number of a symbol that is no such pattern, from there on: a foreign name or a text.
    pub(crate) others: Vec<u32>,
}

/// Memory that renumbering uses again and again.
#[derive(Debug, Default)]
pub(crate) struct RenumberingScratch {
    /// Symbols with their places, by part of the table.
    sorted: Vec<(u32, u32)>,
    /// Where the symbols of each part go next.
    ends: Vec<usize>,
}

impl Renumbering<'_> {
    /// Renumbers symbols in their places; `None` if one of them has no number.
    pub(crate) fn apply(
        &self,
        symbols: &mut [u32],
        scratch: &mut RenumberingScratch,
    ) -> Option<()> {
        let n_parts = self.below.len() >> PART_ENTRIES_LOG2;
        if n_parts < MIN_PARTS || symbols.len() < n_parts || u32::try_from(symbols.len()).is_err() {
            // Without an end in the middle, so that the processor may read far ahead.
            let mut is_whole = true;
            for symbol in symbols {
                let number = self.number(*symbol);
                is_whole &= number.is_some();
                *symbol = number.unwrap_or_default();
            }
            return is_whole.then_some(());
        }
        // What comes after the patterns is in the last part, like what has no number.
        let part = |symbol: u32| ((symbol >> PART_ENTRIES_LOG2) as usize).min(n_parts);
        let RenumberingScratch { sorted, ends } = scratch;
        ends.clear();
        ends.resize(n_parts + 2, 0);
        for symbol in symbols.iter() {
            ends[part(*symbol) + 1] += 1;
        }
        for part in 1..ends.len() {
            ends[part] += ends[part - 1];
        }
        // Every place is written below, so what is there may stay until then.
        sorted.resize(symbols.len().max(sorted.len()), (0, 0));
        let sorted = &mut sorted[..symbols.len()];
        for (at, symbol) in (0_u32..).zip(symbols.iter()) {
            let next = &mut ends[part(*symbol)];
            sorted[*next] = (*symbol, at);
            *next += 1;
        }
        let mut is_whole = true;
        for (symbol, at) in &*sorted {
            let number = self.number(*symbol);
            is_whole &= number.is_some();
            symbols[*at as usize] = number.unwrap_or_default();
        }
        is_whole.then_some(())
    }

    fn number(&self, symbol: u32) -> Option<u32> {
        match self.below.get(symbol as usize) {
            Some(number) => Some(*number),
            None => {
                let other = symbol as usize - self.below.len();
                self.others.get(other).copied()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_get_the_numbers_of_the_tables_in_any_order() {
        let below: Vec<u32> = (0..300_000).map(|rank| rank * 3 + 1).collect();
        let others: Vec<u32> = (0..1000).map(|other| other + 900_001).collect();
        let mut scratch = RenumberingScratch::default();
        for n_below in [0, 1, 5, 200_000, 300_000] {
            let numbers = Renumbering {
                below: &below[..n_below],
                others: others.clone(),
            };
            let last = u32::try_from(n_below + others.len() - 1).unwrap();
            for n_symbols in [0, 1, 3, 50_000] {
                // Every number there is, far from each other.
                let symbol = |at: u64| u32::try_from(at * 7_919 % (u64::from(last) + 1)).unwrap();
                let symbols: Vec<u32> = (0..n_symbols).map(symbol).chain([last]).collect();
                let mut renumbered = symbols.clone();
                numbers.apply(&mut renumbered, &mut scratch).unwrap();
                for (symbol, number) in symbols.iter().zip(&renumbered) {
                    let expected = match (*symbol as usize).checked_sub(n_below) {
                        None => below[*symbol as usize],
                        Some(other) => others[other],
                    };
                    assert_eq!(*number, expected, "{symbol} of {n_below}");
                }
                let mut damaged = [symbols, vec![last + 1, u32::MAX]].concat();
                assert!(numbers.apply(&mut damaged, &mut scratch).is_none());
            }
        }
    }
}
