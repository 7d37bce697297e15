//! Postings: for every symbol of a page, the patterns that hold it and those in which another
//! symbol follows it.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a page is sealed long before it has 2³² symbols"
)]

use std::ops::Range;

use crate::symbols::SymbolId;

/// The places of one page by symbol; each place once, however often the pattern holds the symbol.
///
/// Offsets are 32-bit numbers, which suffice because a page holds fewer than 2³² symbols.
#[derive(Debug, Clone)]
pub(crate) struct Postings {
    /// Ascending.
    symbols: Box<[u32]>,
    lists: Box<[Lists]>,
    /// By symbol: places, ascending.
    places: Box<[u16]>,
    /// By symbol: places where another symbol follows. First those where all its occurrences have
    /// one follower, by follower and place; then the others, by place. So patterns with a pair of
    /// symbols are found by bisection, and a directory of pairs, which would be larger than all
    /// the rest, is not needed.
    followed: Box<[u16]>,
}

/// The places of the patterns of one page that hold one symbol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SymbolLists<'a> {
    /// Ascending.
    pub(crate) places: &'a [u16],
    /// Places where the symbol after it is always the same: by that symbol, then ascending.
    pub(super) by_follower: &'a [u16],
    /// Places where different symbols follow it, ascending.
    pub(super) several_followers: &'a [u16],
}

/// Where a symbol's lists begin. They end where those of the next symbol begin; a last entry
/// without a symbol ends the lists of the last one.
#[derive(Debug, Clone, Copy)]
struct Lists {
    places: u32,
    followed: u32,
    /// Where the places with several followers begin.
    several: u32,
}

impl Postings {
    /// Returns the patterns that hold the symbol; `None` if there are none.
    pub(crate) fn lists(&self, symbol: SymbolId) -> Option<SymbolLists<'_>> {
        let idx = self.symbols.binary_search(&symbol.0).ok()?;
        let (lists, next) = (self.lists[idx], self.lists[idx + 1]);
        Some(SymbolLists {
            places: &self.places[as_range(lists.places, next.places)],
            by_follower: &self.followed[as_range(lists.followed, lists.several)],
            several_followers: &self.followed[as_range(lists.several, next.followed)],
        })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.symbols)
            + size_of_val(&*self.lists)
            + size_of_val(&*self.places)
            + size_of_val(&*self.followed)
    }
}

fn as_range(start: u32, end: u32) -> Range<usize> {
    start as usize..end as usize
}

/// One occurrence of a symbol in a pattern of a page.
#[derive(Debug, Clone, Copy)]
struct Occurrence {
    symbol: u32,
    /// The symbol after it; the symbol itself where the pattern ends, as `is_last` says.
    follower: u32,
    place: u16,
    is_last: bool,
}

/// Occurrences from which on a radix sort is quicker than one that compares.
const RADIX_SORTED: usize = 512;

/// A builder that collects the symbols of a page's patterns.
#[derive(Debug)]
pub(super) struct PostingsBuilder {
    /// By place, ascending.
    occurrences: Vec<Occurrence>,
}

impl PostingsBuilder {
    pub(super) fn with_capacity(n_symbols: usize) -> Self {
        Self {
            occurrences: Vec::with_capacity(n_symbols),
        }
    }

    /// Adds a pattern, whose place is above those before.
    pub(super) fn push(&mut self, place: u16, symbols: &[SymbolId]) {
        debug_assert!(
            self.occurrences
                .last()
                .is_none_or(|last| last.place < place)
        );
        let followers = symbols.iter().skip(1).map(Some).chain([None]);
        let occurrences = symbols.iter().zip(followers);
        self.occurrences
            .extend(occurrences.map(|(symbol, follower)| Occurrence {
                symbol: symbol.0,
                follower: follower.unwrap_or(symbol).0,
                place,
                is_last: follower.is_none(),
            }));
    }

    /// Sorts what was collected into postings.
    pub(super) fn build(mut self) -> Postings {
        // Both sorts are stable, so that the places of each symbol stay in order.
        match self.occurrences.len() {
            ..RADIX_SORTED => self.occurrences.sort_by_key(|occurrence| occurrence.symbol),
            _ => radsort::sort_by_key(&mut self.occurrences, |occurrence| occurrence.symbol),
        }
        let by_symbol = || {
            let occurrences = self.occurrences.as_slice();
            occurrences.chunk_by(|a, b| a.symbol == b.symbol)
        };
        let n_symbols = by_symbol().count();
        let mut symbols = Vec::with_capacity(n_symbols);
        let mut lists = Vec::with_capacity(n_symbols + 1);
        let mut places = Vec::with_capacity(self.occurrences.len());
        let mut followed = Vec::with_capacity(self.occurrences.len());
        let mut scratch = Vec::new();
        for of_symbol in by_symbol() {
            let start = (places.len() as u32, followed.len() as u32);
            // A pattern may hold a symbol several times and counts once.
            for occurrence in of_symbol {
                if places.len() == start.0 as usize || places.last() != Some(&occurrence.place) {
                    places.push(occurrence.place);
                }
            }
            let several = push_followed(of_symbol, &mut scratch, &mut followed);
            symbols.push(of_symbol[0].symbol);
            lists.push(Lists {
                places: start.0,
                followed: start.1,
                several: several as u32,
            });
        }
        // The entry after the last symbol, where its lists end.
        lists.push(Lists {
            places: places.len() as u32,
            followed: followed.len() as u32,
            several: followed.len() as u32,
        });
        Postings {
            symbols: symbols.into(),
            lists: lists.into(),
            places: places.into(),
            followed: followed.into(),
        }
    }
}

/// Appends the places of one symbol where another follows it, by follower and place; returns where
/// those with several followers begin.
///
/// `of_symbol` are its occurrences by place; `scratch` is reused.
fn push_followed(
    of_symbol: &[Occurrence],
    scratch: &mut Vec<(u32, u16)>,
    followed: &mut Vec<u16>,
) -> usize {
    let has_follower = |occurrence: &&Occurrence| !occurrence.is_last;
    // A short way for pattern names as symbols, most of which occur once in a page.
    if let [_] = of_symbol {
        let places = of_symbol.iter().filter(has_follower);
        followed.extend(places.map(|occurrence| occurrence.place));
        return followed.len();
    }
    scratch.clear();
    let mut several = Vec::new();
    for of_place in of_symbol.chunk_by(|a, b| a.place == b.place) {
        let mut followers = of_place.iter().filter(has_follower);
        let Some(first) = followers.next() else {
            continue;
        };
        match followers.all(|occurrence| occurrence.follower == first.follower) {
            true => scratch.push((first.follower, first.place)),
            false => several.push(first.place),
        }
    }
    scratch.sort_unstable();
    followed.extend(scratch.iter().map(|&(_, place)| place));
    let start = followed.len();
    followed.extend(several);
    start
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kato_random::SplitMix64;

    use super::*;

    /// Returns the lists of a symbol by looking at every pattern.
    fn looked_up(patterns: &[Vec<SymbolId>], symbol: SymbolId) -> (Vec<u16>, Vec<u16>, Vec<u16>) {
        let with_places = (0..=u16::MAX).zip(patterns);
        let (mut places, mut one, mut several) = (Vec::new(), Vec::new(), Vec::new());
        for (place, pattern) in with_places.filter(|(_, pattern)| pattern.contains(&symbol)) {
            places.push(place);
            let pairs = pattern.windows(2).filter(|pair| pair[0] == symbol);
            let followers: BTreeSet<u32> = pairs.map(|pair| pair[1].0).collect();
            match followers.len() {
                0 => {}
                1 => one.push((followers.first().copied(), place)),
                _ => several.push(place),
            }
        }
        one.sort_unstable();
        (
            places,
            one.into_iter().map(|(_, place)| place).collect(),
            several,
        )
    }

    #[test]
    fn lists_are_those_that_looking_at_every_pattern_finds() {
        let mut random = SplitMix64::from_seed(7);
        // Fewer and more occurrences than are sorted by radix; ids that do and do not fit 16 bits.
        for (n_patterns, n_symbols, spread) in
            [(1, 2, 1), (50, 5, 1), (900, 30, 1), (900, 30, 77_777_777)]
        {
            let patterns: Vec<Vec<SymbolId>> = (0..n_patterns)
                .map(|_| {
                    let length = 1 + random.below(6);
                    let mut symbol = || SymbolId(random.below(n_symbols) as u32 * spread);
                    (0..length).map(|_| symbol()).collect()
                })
                .collect();
            let mut builder = PostingsBuilder::with_capacity(0);
            for (place, pattern) in (0..=u16::MAX).zip(&patterns) {
                builder.push(place, pattern);
            }
            let postings = builder.build();
            for symbol in (0..=n_symbols as u32).map(|number| SymbolId(number * spread)) {
                let found = postings.lists(symbol).map(|lists| {
                    let several = lists.several_followers.to_vec();
                    (lists.places.to_vec(), lists.by_follower.to_vec(), several)
                });
                let expected = looked_up(&patterns, symbol);
                assert_eq!(found.unwrap_or_default(), expected, "{symbol:?}");
            }
        }
    }
}
