//! Postings: for every symbol of a page, the patterns that hold it and those in which another
//! symbol follows it.

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

/// A builder that collects the symbols of a page's patterns.
#[derive(Debug)]
pub(super) struct PostingsBuilder {
    /// Symbol and place, so that sorting numbers sorts postings.
    held: Vec<u64>,
    /// Symbol and follower in one number, and the place.
    followed: Vec<(u64, u16)>,
}

impl PostingsBuilder {
    pub(super) fn with_capacity(n_symbols: usize) -> Self {
        Self {
            held: Vec::with_capacity(n_symbols),
            followed: Vec::with_capacity(n_symbols),
        }
    }

    pub(super) fn push(&mut self, place: u16, symbols: &[SymbolId]) {
        let place_key = u64::from(place);
        self.held.extend(
            symbols
                .iter()
                .map(|symbol| u64::from(symbol.0) << 16 | place_key),
        );
        self.followed.extend(symbols.windows(2).map(|pair| {
            let key = u64::from(pair[0].0) << 32 | u64::from(pair[1].0);
            (key, place)
        }));
    }

    /// Sorts what was collected into postings.
    pub(super) fn build(mut self) -> Postings {
        // A pattern may hold a symbol or a pair several times and counts once.
        self.held.sort_unstable();
        self.held.dedup();
        self.followed.sort_unstable();
        self.followed.dedup();
        let symbol = |key: &u64| (key >> 16) as u32;
        let n_symbols = self.held.chunk_by(|a, b| symbol(a) == symbol(b)).count();
        let mut symbols = Vec::with_capacity(n_symbols);
        let mut lists = Vec::with_capacity(n_symbols + 1);
        let mut places = Vec::with_capacity(self.held.len());
        let mut followed = Vec::with_capacity(self.followed.len());
        // Both lists are sorted by symbol first, so one pass over each of them suffices.
        let mut rest = self.followed.as_slice();
        for group in self.held.chunk_by(|a, b| symbol(a) == symbol(b)) {
            let symbol = symbol(&group[0]);
            let n_followed = rest.partition_point(|(key, _)| (key >> 32) as u32 == symbol);
            let (of_symbol, others) = rest.split_at(n_followed);
            rest = others;
            let start = followed.len() as u32;
            let several = push_followed(of_symbol, &mut followed);
            symbols.push(symbol);
            lists.push(Lists {
                places: places.len() as u32,
                followed: start,
                several: several as u32,
            });
            // The low 16 bits are the place.
            places.extend(group.iter().map(|&key| key as u16));
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

/// Appends the places of one symbol, by follower and place; returns where those with several
/// followers begin.
fn push_followed(of_symbol: &[(u64, u16)], followed: &mut Vec<u16>) -> usize {
    // A short way for pattern names as symbols, most of which occur once in a page.
    if let [] | [_] = of_symbol {
        followed.extend(of_symbol.iter().map(|&(_, place)| place));
        return followed.len();
    }
    // Pairs of a place are distinct here, so a place that is there twice has several followers.
    let mut all: Vec<u16> = of_symbol.iter().map(|&(_, place)| place).collect();
    all.sort_unstable();
    let mut several: Vec<u16> = all
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
        .collect();
    several.dedup();
    let has_one = |place: &u16| several.binary_search(place).is_err();
    followed.extend(of_symbol.iter().map(|&(_, place)| place).filter(has_one));
    let start = followed.len();
    followed.extend(several);
    start
}
