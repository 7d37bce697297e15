//! The observed state in the numbers of one index, prepared for many comparisons.

use kato_model::Event;

use crate::SymbolId;
use crate::symbols::Symbols;

/// States of up to that many symbols are matched with machine words.
pub(crate) const WORD: usize = u64::BITS as usize;

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
    /// Parallel to `distinct`: the positions of each symbol, ascending. Only of states of more than [`WORD`] symbols.
    positions: Vec<Vec<usize>>,
    /// The pairs of known neighbours, each once.
    pub(crate) pairs: Vec<StatePair>,
    lookup: Lookup,
}

/// A known symbol of a state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateSymbol {
    pub(crate) id: SymbolId,
    /// Occurrences in the state.
    pub(crate) count: u32,
}

/// Upper bounds of what a pattern shares with the state, told without matching them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Common {
    /// Symbols of the pattern that the state holds; none if nothing matches.
    pub(crate) symbols: usize,
    /// Pairs of neighbours in the pattern that are neighbours in the state.
    pub(crate) pairs: usize,
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
        let mut positions: Vec<Vec<usize>> = Vec::new();
        let mut lookup = Lookup::new(ids.len());
        for (position, &id) in ids.iter().enumerate().filter(|&(_, &id)| id != UNKNOWN) {
            let slot = lookup.slot(id, || {
                distinct.push(StateSymbol { id, count: 0 });
                distinct.len() - 1
            });
            distinct[slot.idx as usize].count += 1;
            if ids.len() > WORD {
                positions.resize(distinct.len(), Vec::new());
                positions[slot.idx as usize].push(position);
            }
            if position < WORD {
                slot.mask |= 1 << position;
            }
        }
        Self {
            events,
            pairs: distinct_pairs(&ids, &lookup),
            texts,
            ids,
            distinct,
            positions,
            lookup,
        }
    }

    /// Number of symbols.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Number of pairs of known neighbours.
    pub(crate) fn n_pairs(&self) -> usize {
        self.pairs.iter().map(|pair| pair.count).sum()
    }

    /// Whether the state holds a symbol.
    #[inline]
    pub(crate) fn holds(&self, id: SymbolId) -> bool {
        self.lookup.get(id).is_some()
    }

    /// Bit j is set if position j of the state holds the symbol. Only positions up to 63 are told.
    #[inline]
    pub(crate) fn mask(&self, id: SymbolId) -> u64 {
        self.lookup.mask(id)
    }

    /// Replaces `out` by the part of a long state that matters to a pattern: the symbols that the pattern holds, and one
    /// unknown symbol for everything between two of them that are no neighbours. Subsequences and matching blocks are the same
    /// as with the whole state, but for their positions in it.
    pub(crate) fn project(&self, pattern: &[SymbolId], out: &mut Vec<SymbolId>) {
        let mut held: Vec<usize> = pattern
            .iter()
            .filter_map(|&symbol| self.lookup.get(symbol))
            .map(|slot| slot.idx as usize)
            .collect();
        held.sort_unstable();
        held.dedup();
        let positions = held.iter().flat_map(|&idx| &self.positions[idx]);
        let mut positions: Vec<usize> = positions.copied().collect();
        positions.sort_unstable();
        out.clear();
        let mut next = None;
        for position in positions {
            if next.is_some_and(|next| next != position) {
                out.push(UNKNOWN);
            }
            out.push(self.ids[position]);
            next = Some(position + 1);
        }
    }

    /// What a pattern has in common with the state.
    #[inline]
    pub(crate) fn common(&self, pattern: impl ExactSizeIterator<Item = SymbolId>) -> Common {
        let length = pattern.len();
        if self.len() > WORD {
            return Common {
                symbols: pattern.filter(|&symbol| self.holds(symbol)).count(),
                pairs: length,
            };
        }
        let mut common = Common::default();
        let mut before = 0u64;
        for symbol in pattern {
            let mask = self.mask(symbol);
            common.symbols += usize::from(mask != 0);
            common.pairs += usize::from(before << 1 & mask != 0);
            before = mask;
        }
        common
    }
}

/// Two known symbols that are neighbours in a state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatePair {
    /// Index of the first one in the distinct symbols.
    pub(crate) first: usize,
    pub(crate) second: SymbolId,
    /// Occurrences in the state.
    pub(crate) count: usize,
}

fn distinct_pairs(ids: &[SymbolId], lookup: &Lookup) -> Vec<StatePair> {
    let neighbours = ids.windows(2).filter(|pair| pair[1] != UNKNOWN);
    let mut pairs: Vec<(usize, SymbolId)> = neighbours
        .filter_map(|pair| Some((lookup.get(pair[0])?.idx as usize, pair[1])))
        .collect();
    pairs.sort_unstable();
    pairs
        .chunk_by(|a, b| a == b)
        .map(|group| StatePair {
            first: group[0].0,
            second: group[0].1,
            count: group.len(),
        })
        .collect()
}

/// Symbol → what is known of it: open addressing with at most a quarter of the slots in use.
#[derive(Debug)]
struct Lookup {
    slots: Vec<Slot>,
    shift: u32,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// [`UNKNOWN`] while the slot is free.
    id: SymbolId,
    /// Index in the distinct symbols.
    idx: u32,
    /// Bit j is set if position j of the state holds the symbol.
    mask: u64,
}

impl Lookup {
    fn new(n_symbols: usize) -> Self {
        let bits = (n_symbols * 4).max(8).next_power_of_two().ilog2();
        let free = Slot {
            id: UNKNOWN,
            idx: 0,
            mask: 0,
        };
        Self {
            slots: vec![free; 1 << bits],
            shift: u32::BITS - bits.min(31),
        }
    }

    /// Number of the slot of a symbol, or of the free one that is for it.
    #[inline]
    fn find(&self, id: SymbolId) -> usize {
        // Fibonacci hashing: ids are dense numbers, which it spreads evenly.
        let mut slot = (id.0.wrapping_mul(0x9E37_79B9) >> self.shift) as usize;
        while self.slots[slot].id != id && self.slots[slot].id != UNKNOWN {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    #[inline]
    fn get(&self, id: SymbolId) -> Option<&Slot> {
        let slot = &self.slots[self.find(id)];
        (slot.id != UNKNOWN).then_some(slot)
    }

    /// The positions of a symbol; 0 if it has no slot.
    #[inline]
    fn mask(&self, id: SymbolId) -> u64 {
        self.slots[self.find(id)].mask
    }

    fn slot(&mut self, id: SymbolId, new_idx: impl FnOnce() -> usize) -> &mut Slot {
        let slot = self.find(id);
        let slot = &mut self.slots[slot];
        if slot.id == UNKNOWN {
            slot.id = id;
            slot.idx = new_idx() as u32;
        }
        slot
    }
}
