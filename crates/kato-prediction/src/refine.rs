//! The matches of a pattern and the state, place by place: matching blocks, moved to equal symbols where
//! these belong together more closely.

use std::ops::Range;

use crate::SymbolId;
use crate::cancel::{Cancel, Cancelled};
use crate::events::{EventBounds, EventSymbols};
use crate::matching::MatchingBlock;

/// A place in the pattern and the position in the state that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) place: usize,
    pub(crate) position: usize,
}

/// Returns the pairs of matching blocks, in order of both places and positions.
pub(crate) fn pairs_of(blocks: &[MatchingBlock]) -> impl Iterator<Item = Pair> {
    blocks.iter().flat_map(|block| {
        (0..block.len).map(|idx| Pair {
            place: block.pattern_start + idx,
            position: block.state_start + idx,
        })
    })
}

/// Returns the first and the last place of the pattern that match; there is at least one.
pub(crate) fn ends_of(pairs: &[Pair]) -> (usize, usize) {
    let place = |pair: Option<&Pair>| pair.map_or(0, |pair| pair.place);
    (place(pairs.first()), place(pairs.last()))
}

/// Moves pairs to equal symbols until none moves any more; none does unless the matcher
/// [has a choice](crate::matcher::Matcher::has_choice).
///
/// A pass looks at the pairs in order, and the first that moves ends it. Pairs stay in order of both
/// sides, their number and symbols stay, and as many passes as KATO makes at most are made.
pub(crate) fn refine(
    pattern: EventSymbols<'_>,
    state: EventSymbols<'_>,
    pairs: &mut [Pair],
    cancel: &Cancel,
) -> Result<(), Cancelled> {
    let most_passes = pairs.len().saturating_mul(pairs.len()).saturating_add(2);
    for _ in 0..most_passes {
        let mut has_moved = false;
        for k in 0..pairs.len() {
            cancel.check()?;
            if move_pair(pattern, state, pairs, k) {
                has_moved = true;
                break;
            }
        }
        if !has_moved {
            break;
        }
    }
    Ok(())
}

/// Moves one pair, if it is to move.
fn move_pair(
    pattern: EventSymbols<'_>,
    state: EventSymbols<'_>,
    pairs: &mut [Pair],
    k: usize,
) -> bool {
    let place = |pair: &Pair| pair.place;
    let position = |pair: &Pair| pair.position;
    // Most have nowhere to go.
    if free_places(pattern, pairs, k, &place).next().is_some() {
        let on_state = company(pairs, k, state.events, position);
        let found = match on_state.len() {
            1 => tighter(pattern, pairs, k),
            _ => with_most_mates(pattern, pairs, k, on_state, place),
        };
        if let Some(found) = found {
            pairs[k].place = found;
            return true;
        }
    }
    if free_places(state, pairs, k, &position).next().is_none() {
        return false;
    }
    let on_pattern = company(pairs, k, pattern.events, place);
    let found = with_most_mates(state, pairs, k, on_pattern, position);
    if let Some(found) = found {
        pairs[k].position = found;
    }
    found.is_some()
}

/// Returns the pairs that are in the event of a pair on one side: itself, and its mates beside it, as pairs are
/// in order.
fn company(
    pairs: &[Pair],
    k: usize,
    events: EventBounds<'_>,
    on_side: impl Fn(&Pair) -> usize,
) -> Range<usize> {
    let range = events.range_of(on_side(&pairs[k]));
    let is_in = |pair: &Pair| range.contains(&on_side(pair));
    let before = pairs[..k].iter().rev().take_while(|pair| is_in(pair));
    let after = pairs[k + 1..].iter().take_while(|pair| is_in(pair));
    k - before.count()..k + 1 + after.count()
}

/// Finds the first free place for a pair in the one event that has more of its mates than every other
/// event of a side, its own included.
fn with_most_mates(
    side: EventSymbols<'_>,
    pairs: &[Pair],
    k: usize,
    company: Range<usize>,
    on_side: impl Fn(&Pair) -> usize,
) -> Option<usize> {
    let (mut best, mut most, mut is_alone) = (0..0, 0, false);
    let mut mates = company.filter(|&mate| mate != k).peekable();
    // Mates ascend, so those of one event follow one another.
    while let Some(mate) = mates.next() {
        let event = side.events.range_of(on_side(&pairs[mate]));
        let is_in = |mate: &usize| event.contains(&on_side(&pairs[*mate]));
        let mut count = 1;
        while mates.next_if(is_in).is_some() {
            count += 1;
        }
        if count > most {
            (best, most, is_alone) = (event, count, true);
        } else {
            is_alone &= count < most;
        }
    }
    if !is_alone || best.contains(&on_side(&pairs[k])) {
        return None;
    }
    free_places(side, pairs, k, &on_side).find(|at| best.contains(at))
}

/// Finds a place in the pattern for a pair without mates that makes the events from the first to the last
/// match hold fewer symbols.
fn tighter(pattern: EventSymbols<'_>, pairs: &[Pair], k: usize) -> Option<usize> {
    let last = pairs.len() - 1;
    // Only the first and the last match bound those events.
    if k > 0 && k < last {
        return None;
    }
    let place = |pair: &Pair| pair.place;
    let own = pattern.events.range_of(pairs[k].place);
    let cost = |at: usize| {
        let first = if k == 0 { at } else { pairs[0].place };
        let end = if k == last { at } else { pairs[last].place };
        pattern.events.range_of(end).end - pattern.events.range_of(first).start
    };
    let (mut least, mut found) = (cost(pairs[k].place), None);
    for at in free_places(pattern, pairs, k, &place).filter(|at| !own.contains(at)) {
        // The first place of an event costs what all of it do.
        if cost(at) < least {
            (least, found) = (cost(at), Some(at));
        }
    }
    found
}

/// Returns the free places of a pair on a side: between those of the pairs beside it, with its symbol.
fn free_places<'a>(
    side: EventSymbols<'a>,
    pairs: &[Pair],
    k: usize,
    on_side: &impl Fn(&Pair) -> usize,
) -> FreePlaces<'a> {
    let own = on_side(&pairs[k]);
    let from = k
        .checked_sub(1)
        .map_or(0, |before| on_side(&pairs[before]) + 1);
    let end = pairs.get(k + 1).map_or(side.symbols.len(), on_side);
    FreePlaces {
        symbols: side.symbols,
        own,
        range: from..end,
    }
}

/// A walk along places that hold the symbol of another one. Between the neighbours of a pair no other
/// pair has a place, so all of them are free.
struct FreePlaces<'a> {
    symbols: &'a [SymbolId],
    own: usize,
    range: Range<usize>,
}

impl Iterator for FreePlaces<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let (symbols, own) = (self.symbols, self.own);
        self.range
            .find(|&at| at != own && symbols[at] == symbols[own])
    }
}
