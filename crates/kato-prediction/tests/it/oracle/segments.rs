//! What of a pattern is past, present and future, and what is missing or extra, as KATO 6.3 tells it: by the
//! positions that match, each in its event.

use std::ops::Range;

use super::Events;
use crate::naive;

/// A position in the pattern and the one in the state that it matches.
type Pair = [usize; 2];

/// Which position of a pair is meant.
const PATTERN: usize = 0;
const STATE: usize = 1;

/// A pattern, cut by what matches.
pub(super) struct Segments {
    pub(super) matches: Vec<String>,
    pub(super) past: Events,
    pub(super) present: Events,
    pub(super) future: Events,
    pub(super) missing: Events,
    pub(super) extras: Events,
}

impl Segments {
    pub(super) fn new(pattern: &Events, state: &Events) -> Self {
        let sides = [pattern, state].map(Side::new);
        let blocks = naive::blocks(&sides[PATTERN].symbols, &sides[STATE].symbols);
        let pairs = blocks.into_iter();
        let mut pairs: Vec<Pair> = pairs
            .flat_map(|(i, j, n)| (0..n).map(move |idx| [i + idx, j + idx]))
            .collect();
        refine(&sides, &mut pairs);
        let event = |pair: &Pair| sides[PATTERN].event_of(pair[PATTERN]);
        let (first, end) = match (pairs.first(), pairs.last()) {
            (Some(first), Some(last)) => (event(first), event(last) + 1),
            _ => (0, pattern.len()),
        };
        let is_matched = |side: usize, at: usize| pairs.iter().any(|pair| pair[side] == at);
        let unmatched = |side: usize, event: usize| {
            let positions = sides[side].events[event].clone();
            let unmatched = positions.filter(|&at| !is_matched(side, at));
            unmatched
                .map(|at| sides[side].symbols[at].clone())
                .collect()
        };
        let matched = pairs.iter().map(|pair| pair[STATE]);
        Self {
            matches: matched.map(|at| sides[STATE].symbols[at].clone()).collect(),
            past: pattern[..first].to_vec(),
            present: pattern[first..end].to_vec(),
            future: pattern[end..].to_vec(),
            missing: (first..end)
                .map(|event| unmatched(PATTERN, event))
                .collect(),
            extras: (0..state.len())
                .map(|event| unmatched(STATE, event))
                .collect(),
        }
    }
}

/// A list of events, flat.
struct Side {
    symbols: Vec<String>,
    /// The positions of each event.
    events: Vec<Range<usize>>,
}

impl Side {
    fn new(events: &Events) -> Self {
        let mut end = 0;
        let ranges = events.iter().map(|event| {
            end += event.len();
            end - event.len()..end
        });
        Self {
            events: ranges.collect(),
            symbols: events.concat(),
        }
    }

    fn event_of(&self, at: usize) -> usize {
        let holds = |event: &Range<usize>| event.contains(&at);
        self.events.iter().position(holds).unwrap()
    }
}

/// Moves pairs, one at a time, until a pass over all of them moves none.
fn refine(sides: &[Side; 2], pairs: &mut [Pair]) {
    let carries = |symbol: &String| {
        let mut carried = pairs
            .iter()
            .map(|pair| &sides[PATTERN].symbols[pair[PATTERN]]);
        carried.any(|carried| carried == symbol)
    };
    let has_choice = |side: usize| {
        let mut unmatched =
            (0..sides[side].symbols.len()).filter(|&at| pairs.iter().all(|pair| pair[side] != at));
        unmatched.any(|at| carries(&sides[side].symbols[at]))
    };
    if !has_choice(PATTERN) && !has_choice(STATE) {
        return;
    }
    for _ in 0..pairs.len() * pairs.len() + 2 {
        let Some((k, side, at)) = (0..pairs.len()).find_map(|k| find_move(sides, pairs, k)) else {
            break;
        };
        pairs[k][side] = at;
    }
}

/// Finds where a pair moves to, and on which side.
fn find_move(sides: &[Side; 2], pairs: &[Pair], k: usize) -> Option<(usize, usize, usize)> {
    let moved = match mates(sides, pairs, k, STATE).is_empty() {
        true => tighter(&sides[PATTERN], pairs, k),
        false => to_mates(sides, pairs, k, PATTERN),
    };
    let in_pattern = moved.map(|at| (k, PATTERN, at));
    in_pattern.or_else(|| to_mates(sides, pairs, k, STATE).map(|at| (k, STATE, at)))
}

/// The other pairs in the event of a pair on one side.
fn mates(sides: &[Side; 2], pairs: &[Pair], k: usize, side: usize) -> Vec<Pair> {
    let event = |pair: &Pair| sides[side].event_of(pair[side]);
    let others = (0..pairs.len()).filter(|&other| other != k);
    let others = others.map(|other| pairs[other]);
    others
        .filter(|other| event(other) == event(&pairs[k]))
        .collect()
}

/// A position on one side in the event that holds more mates on the other side than every other event.
fn to_mates(sides: &[Side; 2], pairs: &[Pair], k: usize, side: usize) -> Option<usize> {
    let mates = mates(sides, pairs, k, 1 - side);
    let n_mates = |event: usize| {
        let here = mates
            .iter()
            .filter(|mate| sides[side].event_of(mate[side]) == event);
        here.count()
    };
    let events = 0..sides[side].events.len();
    let best = events.clone().find(|&event| {
        n_mates(event) > 0
            && events
                .clone()
                .all(|other| other == event || n_mates(other) < n_mates(event))
    })?;
    if best == sides[side].event_of(pairs[k][side]) {
        return None;
    }
    free_in(&sides[side], pairs, k, side, best)
}

/// A position in the pattern by which a pair makes fewer symbols lie in the events from the first pair to the
/// last.
fn tighter(pattern: &Side, pairs: &[Pair], k: usize) -> Option<usize> {
    let cost = |at: usize| {
        let mut places: Vec<usize> = pairs.iter().map(|pair| pair[PATTERN]).collect();
        places[k] = at;
        let ends = [places.iter().min(), places.iter().max()];
        let [first, last] = ends.map(|at| &pattern.events[pattern.event_of(*at.unwrap())]);
        last.end - first.start
    };
    let own = pattern.event_of(pairs[k][PATTERN]);
    let others = (0..pattern.events.len()).filter(|&event| event != own);
    let places = others.filter_map(|event| free_in(pattern, pairs, k, PATTERN, event));
    let best = places.min_by_key(|&at| cost(at))?;
    (cost(best) < cost(pairs[k][PATTERN])).then_some(best)
}

/// The first position in an event that holds the symbol of a pair, is in no pair, and is between the
/// neighbours of the pair.
fn free_in(held: &Side, pairs: &[Pair], k: usize, side: usize, event: usize) -> Option<usize> {
    let is_free = |at: usize| pairs.iter().all(|pair| pair[side] != at);
    let is_between = |at: usize| {
        (k == 0 || pairs[k - 1][side] < at) && pairs.get(k + 1).is_none_or(|next| at < next[side])
    };
    let symbol = &held.symbols[pairs[k][side]];
    let mut positions = held.events[event].clone();
    positions.find(|&at| held.symbols[at] == *symbol && is_free(at) && is_between(at))
}
