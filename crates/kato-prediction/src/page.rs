//! Pages: up to 65,536 patterns of one class, as columns.

mod frequencies;
mod postings;
mod symbol_column;

use kato_model::PatternName;

use self::frequencies::Frequencies;
use self::postings::PostingsBuilder;
pub(crate) use self::postings::{Postings, SymbolLists};
use self::symbol_column::SymbolColumn;
use crate::collections::HashMap;
use crate::page_class::PageClass;
use crate::state::{Common, State};
use crate::symbols::SymbolId;

/// Most patterns of a page: places in it are 16-bit numbers.
pub(crate) const PAGE_PATTERNS: usize = 1 << 16;

/// Patterns of one class.
///
/// A page is *open* while patterns are appended in order of arrival. *Sealed*, it is in name order, has postings, and only
/// its frequencies change.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    class: PageClass,
    names: Vec<PatternName>,
    frequencies: Frequencies,
    symbols: SymbolColumn,
    /// End of every pattern's symbols; empty where the class has one length.
    ends: Vec<u32>,
    /// Symbols of each event of the few patterns whose events hold another number than one.
    event_lengths: HashMap<u16, Box<[u32]>>,
    /// One bit a pattern that `finalize-training` has seen; empty if none was.
    finalized: Vec<u64>,
    /// `None` while the page is open.
    postings: Option<Postings>,
}

impl Page {
    pub(crate) fn open(class: PageClass) -> Self {
        Self {
            class,
            names: Vec::new(),
            frequencies: Frequencies::default(),
            symbols: SymbolColumn::default(),
            ends: Vec::new(),
            event_lengths: HashMap::default(),
            finalized: Vec::new(),
            postings: None,
        }
    }

    pub(crate) fn class(&self) -> &PageClass {
        &self.class
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Name order if sealed, else order of arrival.
    pub(crate) fn names(&self) -> &[PatternName] {
        &self.names
    }

    /// `None` while the page is open.
    pub(crate) fn postings(&self) -> Option<&Postings> {
        self.postings.as_ref()
    }

    pub(crate) fn frequency(&self, place: u16) -> u64 {
        self.frequencies.get(place)
    }

    pub(crate) fn add_frequency(&mut self, place: u16, added: u64) {
        self.frequencies.add(place, added);
    }

    /// Symbols of each event; `None` when every event holds one.
    pub(crate) fn event_lengths(&self, place: u16) -> Option<&[u32]> {
        self.event_lengths.get(&place).map(AsRef::as_ref)
    }

    /// Replaces `out` by the pattern's symbols.
    pub(crate) fn read_symbols(&self, place: u16, out: &mut Vec<SymbolId>) {
        self.symbols.read(self.range(place), out);
    }

    /// What a pattern has in common with a state.
    #[inline]
    pub(crate) fn common(&self, place: u16, state: &State<'_>) -> Common {
        self.symbols.common(self.range(place), state)
    }

    /// Asks for the symbols of some patterns, so that reading them soon after finds them in the cache.
    pub(crate) fn read_ahead(&self, places: impl Iterator<Item = u16>) {
        let starts = places.map(|place| self.range(place).start);
        let sum = starts.fold(0u32, |sum, start| sum ^ self.symbols.get(start).0);
        // The sum has no meaning; it keeps the compiler from leaving the reads out.
        std::hint::black_box(sum);
    }

    pub(crate) fn first_symbol(&self, place: u16) -> Option<SymbolId> {
        let range = self.range(place);
        (!range.is_empty()).then(|| self.symbols.get(range.start))
    }

    /// Places of the patterns in which `second` may follow `first`, in two ascending parts: in those of the first part it
    /// does. `lists` are those of `first`.
    pub(crate) fn places_of_pair<'a>(
        &self,
        lists: &SymbolLists<'a>,
        first: SymbolId,
        second: SymbolId,
    ) -> [&'a [u16]; 2] {
        let follower = |place: &u16| self.symbols.follower(self.range(*place), first);
        let by_follower = lists.by_follower;
        let start = by_follower.partition_point(|place| follower(place) < Some(second));
        let found = &by_follower[start..];
        // Most pairs are rare, so the end is near.
        let mut reach = 1;
        while reach < found.len() && follower(&found[reach]) == Some(second) {
            reach *= 2;
        }
        let length = found[..reach.min(found.len())]
            .partition_point(|place| follower(place) == Some(second));
        [&found[..length], lists.several_followers]
    }

    pub(crate) fn is_finalized(&self, place: u16) -> bool {
        let place = usize::from(place);
        self.finalized
            .get(place / 64)
            .is_some_and(|bits| bits >> (place % 64) & 1 == 1)
    }

    pub(crate) fn finalize(&mut self) {
        self.finalized = vec![u64::MAX; self.len().div_ceil(64)];
        let used = self.len() % 64;
        if let Some(last) = self.finalized.last_mut().filter(|_| used > 0) {
            *last = (1 << used) - 1;
        }
    }

    /// Appends a pattern to an open page that is not full; returns its place.
    pub(crate) fn push(
        &mut self,
        name: PatternName,
        symbols: &[SymbolId],
        event_lengths: Option<&[u32]>,
        frequency: u64,
    ) -> u16 {
        debug_assert!(self.postings.is_none() && self.len() < PAGE_PATTERNS);
        let place = self.names.len() as u16;
        self.names.push(name);
        self.frequencies.push(frequency);
        self.symbols.extend(symbols);
        if self.class.lengths.exact().is_none() {
            self.ends.push(self.symbols.len() as u32);
        }
        if let Some(lengths) = event_lengths {
            self.event_lengths.insert(place, lengths.into());
        }
        place
    }

    /// Whether the page's patterns fit into one page with so many others.
    pub(crate) fn fits_with(&self, n_patterns: usize, n_symbols: usize) -> bool {
        self.len() + n_patterns <= PAGE_PATTERNS
            && self.symbols.len() + n_symbols <= u32::MAX as usize
    }

    pub(crate) fn n_symbols(&self) -> usize {
        self.symbols.len()
    }

    /// One sealed page of the patterns of several pages of a class.
    ///
    /// Also gives, for every place of the new page, the input and the place there that it came from.
    pub(crate) fn merge(inputs: &[Self], class: PageClass) -> (Self, Vec<(u16, u16)>) {
        let mut origins: Vec<(u16, u16)> = Vec::new();
        for (input, number) in inputs.iter().zip(0..) {
            origins.extend((0..input.len()).map(|place| (number, place as u16)));
        }
        let name =
            |&(number, place): &(u16, u16)| &inputs[usize::from(number)].names[usize::from(place)];
        if !origins.is_sorted_by_key(name) {
            origins.sort_unstable_by_key(name);
        }
        let mut merged = Self::open(class);
        let n_symbols = inputs.iter().map(Self::n_symbols).sum();
        let mut postings = PostingsBuilder::with_capacity(n_symbols);
        merged.names.reserve_exact(origins.len());
        merged.frequencies.reserve_exact(origins.len());
        let columns: Vec<&SymbolColumn> = inputs.iter().map(|input| &input.symbols).collect();
        merged.symbols = SymbolColumn::for_symbols_of(&columns);
        let mut symbols = Vec::new();
        let mut finalized = Vec::new();
        for &(number, place) in &origins {
            let input = &inputs[usize::from(number)];
            input.read_symbols(place, &mut symbols);
            let name = input.names[usize::from(place)];
            let (lengths, frequency) = (input.event_lengths(place), input.frequency(place));
            let to = merged.push(name, &symbols, lengths, frequency);
            postings.push(to, &symbols);
            if input.is_finalized(place) {
                finalized.push(usize::from(to));
            }
        }
        if !finalized.is_empty() {
            merged.finalized = vec![0; origins.len().div_ceil(64)];
            for place in finalized {
                merged.finalized[place / 64] |= 1 << (place % 64);
            }
        }
        merged.postings = Some(postings.build());
        (merged, origins)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let lengths: usize = self
            .event_lengths
            .values()
            .map(|lengths| size_of_val(&**lengths))
            .sum();
        self.names.capacity() * size_of::<PatternName>()
            + self.frequencies.heap_bytes()
            + self.symbols.heap_bytes()
            + self.ends.capacity() * size_of::<u32>()
            + self.event_lengths.capacity() * (size_of::<(u16, Box<[u32]>)>() + 1)
            + lengths
            + self.finalized.capacity() * size_of::<u64>()
            + self.postings.as_ref().map_or(0, Postings::heap_bytes)
    }

    fn range(&self, place: u16) -> std::ops::Range<usize> {
        let place = usize::from(place);
        if let Some(length) = self.class.lengths.exact() {
            return place * length..(place + 1) * length;
        }
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        start as usize..self.ends[place] as usize
    }
}
