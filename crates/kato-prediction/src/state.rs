//! The observed state, in the symbol ids of one index and prepared for many comparisons.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a state has fewer than 2³² distinct symbols: their ids are checked"
)]

use kato_model::Event;

use crate::SymbolId;
use crate::events::{EventBounds, EventSymbols};
use crate::symbols::Symbols;

/// Number of symbols up to which states are matched with machine words.
pub(crate) const WORD: usize = u64::BITS as usize;

/// The id of symbols that the index does not know; equal to no symbol of a pattern.
pub(crate) const UNKNOWN: SymbolId = SymbolId(u32::MAX);

/// A state: its events, its symbols in one list, and the positions of each known symbol.
#[derive(Debug)]
pub(crate) struct State<'a> {
    pub(crate) events: &'a [Event],
    pub(crate) texts: Vec<&'a str>,
    /// Parallel to `texts`.
    pub(crate) ids: Vec<SymbolId>,
    /// The known symbols, each once, in order of first occurrence.
    pub(crate) distinct: Vec<StateSymbol>,
    /// Parallel to `distinct`: the positions of each symbol, ascending. Only for states of more
    /// than [`WORD`] symbols.
    positions: Vec<Vec<usize>>,
    /// Whether a known symbol occurs more than once.
    pub(crate) repeats: bool,
    /// Where each event ends; `None` when every event holds one symbol.
    event_ends: Option<Vec<usize>>,
    /// The pairs of known neighbours, each once.
    pub(crate) pairs: Vec<StatePair>,
    /// By symbol, its index in `distinct` and its first positions.
    lookup: Lookup,
}

/// A known symbol of a state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateSymbol {
    pub(crate) id: SymbolId,
    /// Occurrences in the state.
    pub(crate) count: u32,
}

/// Upper bounds of what a pattern shares with the state, computed without matching them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OverlapBounds {
    /// Symbols of the pattern that the state holds; 0 if nothing matches.
    pub(crate) symbols: usize,
    /// Pairs of neighbours in the pattern that are neighbours in the state.
    pub(crate) pairs: usize,
}

impl<'a> State<'a> {
    /// Looks up the symbols of a short-term memory and prepares them for comparisons.
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
            // Of short states the masks below hold all positions.
            if ids.len() > WORD {
                positions.resize(distinct.len(), Vec::new());
                positions[slot.idx as usize].push(position);
            }
            if position < WORD {
                slot.mask |= 1 << position;
            }
        }
        let is_plain = events.iter().all(|event| event.len() == 1);
        let ends = events.iter().scan(0, |end, event| {
            *end += event.len();
            Some(*end)
        });
        Self {
            events,
            event_ends: (!is_plain).then(|| ends.collect()),
            pairs: distinct_pairs(&ids, &lookup),
            texts,
            ids,
            repeats: distinct.iter().any(|symbol| symbol.count > 1),
            distinct,
            positions,
            lookup,
        }
    }

    /// Returns the symbols in their events.
    pub(crate) fn in_events(&self) -> EventSymbols<'_> {
        EventSymbols {
            symbols: &self.ids,
            events: EventBounds::new(self.event_ends.as_deref()),
        }
    }

    /// Returns the number of symbols.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the number of pairs of known neighbours, repeated ones included.
    pub(crate) fn n_pairs(&self) -> usize {
        self.pairs.iter().map(|pair| pair.count).sum()
    }

    /// Returns whether the state holds a symbol.
    #[inline]
    pub(crate) fn holds(&self, id: SymbolId) -> bool {
        self.lookup.get(id).is_some()
    }

    /// Returns the positions of a symbol as bits: bit j is set if position j of the state holds it.
    ///
    /// Positions from 64 on are not included.
    #[inline]
    pub(crate) fn mask(&self, id: SymbolId) -> u64 {
        self.lookup.mask(id)
    }

    /// Replaces `out` by the part of a long state that matters to a pattern, and `at` by where each of its
    /// symbols stands.
    ///
    /// These are the symbols that the pattern holds, and one unknown symbol for everything between
    /// two of them that are no neighbours. Subsequences and matching blocks are the same as with
    /// the whole state, but for their positions in it.
    pub(crate) fn project(
        &self,
        pattern: &[SymbolId],
        out: &mut Vec<SymbolId>,
        at: &mut Vec<usize>,
    ) {
        let mut held: Vec<usize> = pattern
            .iter()
            .filter_map(|&symbol| self.lookup.get(symbol))
            .map(|slot| slot.idx as usize)
            .collect();
        // A symbol that the pattern repeats would otherwise add its positions again.
        held.sort_unstable();
        held.dedup();
        let positions = held.iter().flat_map(|&idx| &self.positions[idx]);
        let mut positions: Vec<usize> = positions.copied().collect();
        positions.sort_unstable();
        out.clear();
        at.clear();
        let mut next = None;
        for position in positions {
            // Keeps symbols apart that are no neighbours, so that no block joins them.
            if let Some(next) = next.filter(|&next| next != position) {
                out.push(UNKNOWN);
                at.push(next);
            }
            out.push(self.ids[position]);
            at.push(position);
            next = Some(position + 1);
        }
    }

    /// Returns upper bounds of what a pattern has in common with the state.
    #[inline]
    pub(crate) fn common(&self, pattern: impl ExactSizeIterator<Item = SymbolId>) -> OverlapBounds {
        let length = pattern.len();
        if self.len() > WORD {
            // Masks do not hold all positions then, and a pattern has fewer pairs than symbols.
            return OverlapBounds {
                symbols: pattern.filter(|&symbol| self.holds(symbol)).count(),
                pairs: length,
            };
        }
        let mut common = OverlapBounds::default();
        let mut before = 0u64;
        for symbol in pattern {
            let mask = self.mask(symbol);
            common.symbols += usize::from(mask != 0);
            // Shifted by one, the positions of the symbol before are where this one must stand.
            common.pairs += usize::from(before << 1 & mask != 0);
            before = mask;
        }
        common
    }
}

/// What the lists of a state's symbols and pairs that hold a pattern stand for together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ListOverlap {
    /// Positions of the state whose symbol the pattern holds.
    pub(crate) symbols: usize,
    /// Positions whose pair with the one before the pattern holds; of long states, 0.
    pub(crate) pairs: usize,
    /// Those as bits.
    pub(crate) paired: u64,
}

impl State<'_> {
    /// Returns the place of a symbol among the distinct ones; `None` if the state does not hold it.
    #[inline]
    pub(crate) fn place(&self, id: SymbolId) -> Option<usize> {
        Some(self.lookup.get(id)?.idx as usize)
    }

    /// Returns what the lists of the symbols of a long state that hold a pattern stand for together.
    pub(crate) fn common_by_lists(&self, pattern: &[SymbolId]) -> ListOverlap {
        let slots = pattern.iter().filter_map(|&symbol| self.lookup.get(symbol));
        let mut held: Vec<u32> = slots.map(|slot| slot.idx).collect();
        held.sort_unstable();
        held.dedup();
        let counts = held
            .iter()
            .map(|&idx| self.distinct[idx as usize].count as usize);
        ListOverlap {
            symbols: counts.sum(),
            ..ListOverlap::default()
        }
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

/// Returns the pairs of known neighbours, each once.
fn distinct_pairs(ids: &[SymbolId], lookup: &Lookup) -> Vec<StatePair> {
    // An unknown first symbol has no slot, so the look-up leaves its pair out.
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

/// A hash table by symbol: open addressing with at most a quarter of the slots in use.
#[derive(Debug)]
struct Lookup {
    /// As many as a power of two.
    slots: Vec<Slot>,
    /// The shift that makes the number of a slot of a 32-bit hash.
    shift: u32,
}

/// The entry of one symbol.
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
    /// Creates an empty table for at most so many symbols.
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

    /// Finds the number of the slot of a symbol, or of the free one that is for it.
    #[inline]
    fn find(&self, id: SymbolId) -> usize {
        // Fibonacci hashing: ids are dense numbers, which it spreads evenly.
        let mut slot = (id.0.wrapping_mul(0x9E37_79B9) >> self.shift) as usize;
        // Ends, because most slots are free; the mask wraps around, as their number
        // is a power of two.
        while self.slots[slot].id != id && self.slots[slot].id != UNKNOWN {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// Returns the slot of a symbol; `None` if the state does not hold it, and for [`UNKNOWN`].
    #[inline]
    fn get(&self, id: SymbolId) -> Option<&Slot> {
        let slot = &self.slots[self.find(id)];
        (slot.id != UNKNOWN).then_some(slot)
    }

    /// Returns the positions of a symbol as bits; 0 if it has no slot.
    #[inline]
    fn mask(&self, id: SymbolId) -> u64 {
        // A free slot has no bit set, so no branch is needed.
        self.slots[self.find(id)].mask
    }

    /// Returns the slot of a known symbol, taking a free one with index `new_idx` if it is new.
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

#[cfg(test)]
mod tests;
