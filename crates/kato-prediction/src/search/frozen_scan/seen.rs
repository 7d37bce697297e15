//! What is seen of a pattern: which symbols of the state it holds, or may hold, and where.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a place beyond a word shifts out all bits"
)]

use crate::SymbolId;
use crate::frozen::SignatureShape;
use crate::state::{ListOverlap, OverlapBounds, State, WORD};

/// What a pattern and the state share, by a look at its symbols.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) by_lists: ListOverlap,
    pub(super) common: OverlapBounds,
    /// `None` for states of more than a word.
    pub(super) seen: Option<Seen>,
}

impl Look {
    #[inline]
    pub(super) fn new(state: &State<'_>, symbols: &[SymbolId]) -> Self {
        if state.len() > WORD {
            return Self {
                by_lists: state.common_by_lists(symbols),
                common: state.common(symbols.iter().copied()),
                seen: None,
            };
        }
        let seen = Seen::of_symbols(state, symbols);
        Self {
            by_lists: ListOverlap {
                symbols: seen.held.count_ones() as usize,
                pairs: seen.paired.count_ones() as usize,
                paired: seen.paired,
            },
            common: OverlapBounds {
                symbols: seen.n_symbols,
                pairs: seen.n_pairs,
            },
            seen: Some(seen),
        }
    }
}

/// The symbols and pairs of the state that a pattern holds, or may hold, and where.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// Symbols of the pattern that the state holds.
    n_symbols: usize,
    /// Their places in the pattern, as bits, as far as there are bounds by them.
    pub(super) places: usize,
    /// Neighbours in the pattern that are neighbours in the state.
    pub(super) n_pairs: usize,
    /// The positions in the state whose symbol the pattern holds, as bits.
    pub(super) held: u64,
    /// Those whose pair with the one before it holds.
    pub(super) paired: u64,
    /// The positions of the last symbol that was added.
    pub(super) before: u64,
    /// A position is set where the longest subsequence of the state up to it is longer than that without it.
    pub(super) longer: u64,
}

impl Seen {
    /// Adds the positions in the state of the symbol at the next place.
    #[inline]
    pub(super) fn add(&mut self, place: usize, mask: u64) {
        let both = self.before << 1 & mask;
        let is_held = usize::from(mask != 0);
        self.n_symbols += is_held;
        self.places |= is_held.unbounded_shl(place as u32);
        self.n_pairs += usize::from(both != 0);
        self.held |= mask;
        self.paired |= both;
        self.before = mask;
        // The recurrence of `matching::lcs` in a single word, which keeps the other positions.
        let open = !self.longer;
        let matched = open & mask;
        self.longer = !(open.wrapping_add(matched) | (open - matched));
    }

    /// Returns the length of the longest common subsequence with a state of a word at most.
    #[inline]
    pub(super) fn lcs(&self, state: &State<'_>) -> usize {
        // There is no position beyond the state, but carries go there.
        let used = u64::MAX >> (WORD - state.len());
        (self.longer & used).count_ones() as usize
    }

    /// Reads a signature of a list whose patterns hold symbols with the `known` positions.
    #[inline]
    pub(super) fn of_signature(
        shape: SignatureShape,
        signature: u32,
        known: [u64; 2],
        masks: &[u64],
    ) -> Self {
        let mut seen = Self::default();
        let first = shape.place(signature);
        let mut n_others = 0;
        for place in 0..shape.length() {
            let of_list = place.wrapping_sub(first);
            if of_list < shape.n_known() {
                seen.add(place, known[of_list]);
            } else {
                seen.add(place, masks[shape.other(signature, n_others)]);
                n_others += 1;
            }
        }
        seen
    }

    /// Looks at the symbols of a pattern.
    pub(super) fn of_symbols(state: &State<'_>, symbols: &[SymbolId]) -> Self {
        let mut seen = Self::default();
        for (place, &symbol) in symbols.iter().enumerate() {
            seen.add(place, state.mask(symbol));
        }
        seen
    }
}
