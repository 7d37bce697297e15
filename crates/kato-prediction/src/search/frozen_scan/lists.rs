//! The lists of a class for a state: which have to be walked, and what they say of a pattern.

#![expect(clippy::cast_possible_truncation, reason = "a word has 64 bits")]

use std::cmp::Reverse;
use std::ops::Range;
use std::rc::Rc;

use crate::SymbolId;
use crate::frozen::{FrozenClass, ListCursor, RankList, Reader, SignatureShape};
use crate::search::TieOrder;
use crate::state::{State, StatePair};

/// The lists of a class for the symbols of the state, or for its pairs.
pub(super) struct Lists<'s> {
    /// The longest first.
    pub(super) lists: Vec<StateList<'s>>,
    /// By place among the state's distinct symbols, the place in `lists`; unused for pairs.
    pub(super) by_symbol: Vec<Option<usize>>,
    /// Looked up when first needed.
    masks: Option<Rc<Masks>>,
}

/// By hash of a symbol in signatures, the positions in the state of what has it.
#[derive(Debug)]
pub(super) struct Masks {
    /// As bits.
    pub(super) positions: Box<[u64]>,
    /// Their number.
    pub(super) counts: Box<[u8]>,
}

/// A list of the patterns that hold something of the state.
#[derive(Debug, Clone, Copy)]
pub(super) struct StateList<'s> {
    pub(super) ranks: RankList<'s>,
    /// Positions of the state that it stands for.
    pub(super) count: usize,
    /// Of pairs: the positions of their second symbols in the state, as bits.
    pub(super) second: u64,
    /// The positions in the state of the symbols that all of its patterns hold, as bits.
    pub(super) known: [u64; 2],
}

/// A kind of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Symbols,
    Pairs,
}

impl<'s> Lists<'s> {
    pub(super) fn of_symbols(
        reader: &Reader<'s>,
        state: &State<'_>,
        class: &'s FrozenClass,
        ranks: &Range<u32>,
        ties: TieOrder,
    ) -> Self {
        let lists = state
            .distinct
            .iter()
            .enumerate()
            .filter_map(|(idx, symbol)| {
                let list = StateList {
                    ranks: part_of(reader, reader.held(class, symbol.id)?, ranks),
                    count: symbol.count as usize,
                    second: 0,
                    known: [state.mask(symbol.id), 0],
                };
                Some((idx, list))
            });
        let mut lists: Vec<(usize, StateList<'s>)> = lists.collect();
        lists.sort_by_key(|(_, list)| Reverse(list.ranks.len()));
        let mut by_symbol = vec![None; state.distinct.len()];
        for (place, &(idx, _)) in lists.iter().enumerate() {
            by_symbol[idx] = Some(place);
        }
        let lists = lists.into_iter().map(|(_, list)| list).collect();
        Self::new(lists, by_symbol, ties)
    }

    /// `symbols` are the lists of the state's symbols.
    pub(super) fn of_pairs(
        reader: &Reader<'s>,
        state: &State<'_>,
        class: &'s FrozenClass,
        ranks: &Range<u32>,
        ties: TieOrder,
        symbols: &Self,
    ) -> Self {
        // A pair whose symbols are not both held is in no pattern.
        let both = |pair: &StatePair| {
            let of = |idx: usize| symbols.by_symbol[idx].map(|place| &symbols.lists[place]);
            Some([of(pair.first)?, of(state.place(pair.second)?)?])
        };
        let rarer = |pair: &StatePair| {
            let rarer = both(pair)?.into_iter();
            rarer.min_by_key(|list| list.ranks.len_of_whole())
        };
        let is_listed = |list: &StateList<'_>| list.ranks.len_of_whole() >= class.least_pair_list;
        for pair in &state.pairs {
            if rarer(pair).is_some_and(is_listed) {
                reader.will_look_up_pairs(class, state.distinct[pair.first].id);
            }
        }
        let mut lists: Vec<StateList<'s>> = Vec::with_capacity(state.pairs.len());
        for pair in &state.pairs {
            let first = state.distinct[pair.first].id;
            let known = [state.mask(first), state.mask(pair.second)];
            let second = known[0] << 1 & known[1];
            match rarer(pair) {
                Some(rarer) if is_listed(rarer) => {
                    let list = reader.pair(class, first, pair.second);
                    lists.extend(list.map(|list| StateList {
                        ranks: part_of(reader, list, ranks),
                        count: pair.count,
                        second,
                        known,
                    }));
                }
                // Those that hold the rarer symbol stand in for the pair, and for all such pairs of it.
                Some(rarer) => match lists.iter_mut().find(|list| list.known == rarer.known) {
                    Some(list) => {
                        list.count += pair.count;
                        list.second |= second;
                    }
                    None => lists.push(StateList {
                        count: pair.count,
                        second,
                        ..*rarer
                    }),
                },
                None => {}
            }
        }
        lists.sort_by_key(|list| Reverse(list.ranks.len()));
        Self::new(lists, Vec::new(), ties)
    }

    pub(super) fn new(
        lists: Vec<StateList<'s>>,
        by_symbol: Vec<Option<usize>>,
        ties: TieOrder,
    ) -> Self {
        // Most of them will be walked, and a disk brings all in the time of one.
        for list in &lists {
            list.ranks.will_walk(ties);
        }
        Self {
            lists,
            by_symbol,
            masks: None,
        }
    }

    /// Returns the place of the longest list that is left when the longest that together stand for
    /// fewer than `least` positions are left out; `None` if all of them do.
    pub(super) fn first_needed(&self, least: usize) -> Option<usize> {
        let mut count = 0;
        self.lists.iter().position(|list| {
            count += list.count;
            count >= least
        })
    }

    /// Returns whether a pattern is in a list, and in none that is walked before it. `paired` are the
    /// positions whose pair with the one before it holds.
    pub(super) fn is_first(
        &self,
        state: &State<'_>,
        nth: usize,
        symbols: &[SymbolId],
        paired: u64,
    ) -> bool {
        if self.by_symbol.is_empty() {
            // In the list of a pair there may be patterns that do not have it.
            let earlier = &self.lists[nth + 1..];
            return paired & self.lists[nth].second != 0
                && earlier.iter().all(|list| paired & list.second == 0);
        }
        let places = symbols
            .iter()
            .filter_map(|&symbol| self.by_symbol[state.place(symbol)?]);
        places.max() == Some(nth)
    }

    /// Returns walks along all lists but one, the shortest first, with what each stands for.
    pub(super) fn others(&self, nth: usize) -> Vec<(ListCursor<'s>, usize)> {
        let others = self.lists.iter().enumerate().rev();
        others
            .filter(|&(place, _)| place != nth)
            .map(|(_, list)| (list.ranks.cursor(), list.count))
            .collect()
    }

    /// Returns the positions in the state by hash, for signatures of the one shape that those of this class
    /// and kind have.
    pub(super) fn masks(
        &mut self,
        reader: &Reader<'_>,
        state: &State<'_>,
        shape: SignatureShape,
    ) -> Rc<Masks> {
        if let Some(masks) = &self.masks {
            return Rc::clone(masks);
        }
        let mut positions = vec![0_u64; shape.n_hashes()];
        for symbol in &state.distinct {
            // What is above the index is in none of its patterns.
            if let Some(number) = reader.number(symbol.id) {
                positions[shape.hash(number) as usize] |= state.mask(symbol.id);
            }
        }
        // A word has 64 bits.
        let counts = positions.iter().map(|mask| mask.count_ones() as u8);
        let masks = Rc::new(Masks {
            counts: counts.collect(),
            positions: positions.into(),
        });
        self.masks = Some(Rc::clone(&masks));
        masks
    }
}

/// Returns the part of a list whose ranks lie in a range.
pub(super) fn part_of<'s>(
    reader: &Reader<'_>,
    list: RankList<'s>,
    ranks: &Range<u32>,
) -> RankList<'s> {
    // To see that all of it does, its end would be read, which nobody may need.
    match ranks.start == 0 && ranks.end as usize == reader.n_patterns() as usize {
        true => list,
        false => list.within(ranks),
    }
}

/// Returns whether the lists that hold a pattern stand for enough, given what one of them does.
pub(super) fn is_in_enough(
    rank: u32,
    mut count: usize,
    least: usize,
    others: &mut [(ListCursor<'_>, usize)],
) -> bool {
    for (cursor, of_list) in others {
        if count >= least {
            break;
        }
        cursor.seek(rank);
        if cursor.current() == Some(rank) {
            count += *of_list;
        }
    }
    count >= least
}
