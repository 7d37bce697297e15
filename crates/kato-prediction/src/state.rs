//! The observed state in the numbers of one index, prepared for many comparisons.

use kato_model::Event;

use crate::SymbolId;
use crate::symbols::Symbols;

/// Stands for symbols that the index does not know; equal to no symbol of a pattern.
pub(crate) const UNKNOWN: SymbolId = SymbolId(u32::MAX);

/// A state: events, flat symbols and where each known symbol stands.
#[derive(Debug)]
pub(crate) struct State<'a> {
    pub(crate) events: &'a [Event],
    pub(crate) texts: Vec<&'a str>,
    /// Parallel to `texts`.
    pub(crate) ids: Vec<SymbolId>,
    /// The known symbols, each once, in order of first occurrence.
    pub(crate) distinct: Vec<StateSymbol>,
    /// The pairs of known neighbours, each once, with their numbers of occurrences.
    pub(crate) pairs: Vec<(SymbolId, SymbolId, usize)>,
    lookup: Lookup,
}

/// A known symbol of a state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateSymbol {
    pub(crate) id: SymbolId,
    /// Occurrences in the state.
    pub(crate) count: u32,
    /// Bit j is set if position j of the state, up to 63, holds the symbol.
    pub(crate) mask: u64,
}

impl<'a> State<'a> {
    pub(crate) fn new(events: &'a [Event], symbols: &Symbols) -> Self {
        let texts: Vec<&str> = events
            .iter()
            .flat_map(Event::symbols)
            .map(String::as_str)
            .collect();
        let ids: Vec<SymbolId> = texts
            .iter()
            .map(|text| symbols.id(text).unwrap_or(UNKNOWN))
            .collect();
        let mut distinct: Vec<StateSymbol> = Vec::new();
        let mut lookup = Lookup::new(ids.len());
        for (position, &id) in ids.iter().enumerate().filter(|&(_, &id)| id != UNKNOWN) {
            let idx = lookup.get(id).unwrap_or_else(|| {
                let new = StateSymbol {
                    id,
                    count: 0,
                    mask: 0,
                };
                distinct.push(new);
                lookup.insert(id, distinct.len() - 1);
                distinct.len() - 1
            });
            distinct[idx].count += 1;
            if position < 64 {
                distinct[idx].mask |= 1 << position;
            }
        }
        Self {
            events,
            pairs: distinct_pairs(&ids),
            texts,
            ids,
            distinct,
            lookup,
        }
    }

    /// Number of symbols.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// A symbol's entry; `None` if the state does not hold it.
    #[inline]
    pub(crate) fn symbol(&self, id: SymbolId) -> Option<&StateSymbol> {
        self.lookup.get(id).map(|idx| &self.distinct[idx])
    }
}

fn distinct_pairs(ids: &[SymbolId]) -> Vec<(SymbolId, SymbolId, usize)> {
    let neighbours = ids.windows(2).map(|pair| (pair[0], pair[1]));
    let mut pairs: Vec<_> = neighbours
        .filter(|&(first, second)| first != UNKNOWN && second != UNKNOWN)
        .collect();
    pairs.sort_unstable();
    pairs
        .chunk_by(|a, b| a == b)
        .map(|group| (group[0].0, group[0].1, group.len()))
        .collect()
}

/// Symbol → place in a list: open addressing with at most a quarter of the slots in use.
#[derive(Debug)]
struct Lookup {
    slots: Vec<(SymbolId, u32)>,
    shift: u32,
}

impl Lookup {
    fn new(n_symbols: usize) -> Self {
        let bits = (n_symbols * 4).max(8).next_power_of_two().ilog2();
        Self {
            slots: vec![(UNKNOWN, 0); 1 << bits],
            shift: u32::BITS - bits.min(31),
        }
    }

    #[inline]
    fn start(&self, id: SymbolId) -> usize {
        // Fibonacci hashing: ids are dense numbers, which it spreads evenly.
        (id.0.wrapping_mul(0x9E37_79B9) >> self.shift) as usize
    }

    #[inline]
    fn get(&self, id: SymbolId) -> Option<usize> {
        let mut slot = self.start(id);
        loop {
            let (held, idx) = self.slots[slot];
            if held == UNKNOWN {
                return None;
            }
            if held == id {
                return Some(idx as usize);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    fn insert(&mut self, id: SymbolId, idx: usize) {
        let mut slot = self.start(id);
        while self.slots[slot].0 != UNKNOWN {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = (id, idx as u32);
    }
}
