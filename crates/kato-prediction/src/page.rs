//! Pages: up to 65,536 patterns of one class, stored as columns.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a page has at most 2¹⁶ patterns, and is sealed long before it has 2³² symbols"
)]

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
use crate::state::{OverlapBounds, State};
use crate::symbols::SymbolId;

/// Most patterns of a page, as places in it are 16-bit numbers.
pub(crate) const PAGE_PATTERNS: usize = 1 << 16;

/// A number of patterns of one class.
///
/// A page is *open* while patterns are appended in order of arrival. *Sealed*, it is in name order and
/// gets postings; of its patterns only the frequencies change.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    class: PageClass,
    names: Vec<PatternName>,
    frequencies: Frequencies,
    symbols: SymbolColumn,
    /// End of every pattern's symbols; empty where the class has one length.
    ends: Vec<u32>,
    /// Number of symbols of each event, for the few patterns with events of other than one symbol.
    event_lengths: HashMap<u16, Box<[u32]>>,
    /// One bit for each pattern that was there at the last `finalize-training`; empty if none was.
    finalized: Vec<u64>,
    /// `None` until they are made, which is when the page is sealed or later.
    postings: Option<Postings>,
    /// Whether it is sealed, and its postings are still to be made.
    is_due: bool,
}

impl Page {
    /// Creates an empty open page.
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
            is_due: false,
        }
    }

    pub(crate) fn class(&self) -> &PageClass {
        &self.class
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the names by place: in name order if the page is sealed, else in order of arrival.
    pub(crate) fn names(&self) -> &[PatternName] {
        &self.names
    }

    /// Returns the postings; `None` until they are made.
    pub(crate) fn postings(&self) -> Option<&Postings> {
        self.postings.as_ref()
    }

    pub(crate) fn frequency(&self, place: u16) -> u64 {
        self.frequencies.get(place)
    }

    pub(crate) fn add_frequency(&mut self, place: u16, added: u64) {
        self.frequencies.add(place, added);
    }

    /// Sets a frequency to 0.
    pub(crate) fn clear_frequency(&mut self, place: u16) {
        self.frequencies.clear(place);
    }

    /// Returns the number of symbols of each event; `None` when every event holds one.
    pub(crate) fn event_lengths(&self, place: u16) -> Option<&[u32]> {
        self.event_lengths.get(&place).map(AsRef::as_ref)
    }

    /// Replaces `out` by the pattern's symbols.
    pub(crate) fn read_symbols(&self, place: u16, out: &mut Vec<SymbolId>) {
        self.symbols.read(self.range(place), out);
    }

    /// Returns upper bounds of what a pattern has in common with a state.
    #[inline]
    pub(crate) fn common(&self, place: u16, state: &State<'_>) -> OverlapBounds {
        self.symbols.common(self.range(place), state)
    }

    /// Reads a symbol of some patterns, so that reading them soon after finds them in the cache.
    pub(crate) fn read_ahead(&self, places: impl Iterator<Item = u16>) {
        // The reads do not depend on each other, so the processor waits for all of them at once.
        let starts = places.map(|place| self.range(place).start);
        let sum = starts.fold(0u32, |sum, start| sum ^ self.symbols.get(start).0);
        // The sum has no meaning; it keeps the compiler from leaving the reads out.
        std::hint::black_box(sum);
    }

    pub(crate) fn first_symbol(&self, place: u16) -> Option<SymbolId> {
        let range = self.range(place);
        (!range.is_empty()).then(|| self.symbols.get(range.start))
    }

    /// Returns the number of symbols of a pattern.
    pub(crate) fn length_at(&self, place: u16) -> usize {
        self.range(place).len()
    }

    /// Finds the patterns in which `second` may follow `first`, in two ascending parts: in those of
    /// the first part it does. `lists` are those of `first`.
    pub(crate) fn places_of_pair<'a>(
        &self,
        lists: &SymbolLists<'a>,
        first: SymbolId,
        second: SymbolId,
    ) -> [&'a [u16]; 2] {
        let follower = |place: &u16| self.symbols.follower(self.range(*place), first);
        let by_follower = lists.by_follower;
        // Places are sorted by follower, so those of the pair are one run.
        let start = by_follower.partition_point(|place| follower(place) < Some(second));
        let found = &by_follower[start..];
        // Most pairs are rare, so the end of the run is near: doubling steps find it sooner than
        // bisecting all that is left.
        let mut reach = 1;
        while reach < found.len() && follower(&found[reach]) == Some(second) {
            reach *= 2;
        }
        let length = found[..reach.min(found.len())]
            .partition_point(|place| follower(place) == Some(second));
        [&found[..length], lists.several_followers]
    }

    /// Returns whether the last `finalize-training` found the pattern.
    pub(crate) fn is_finalized(&self, place: u16) -> bool {
        let place = usize::from(place);
        // Patterns that were appended later may lie beyond the bits.
        self.finalized
            .get(place / 64)
            .is_some_and(|bits| bits >> (place % 64) & 1 == 1)
    }

    /// Marks all patterns as found by `finalize-training`.
    pub(crate) fn finalize(&mut self) {
        self.finalized = vec![u64::MAX; self.len().div_ceil(64)];
        // The bits after the last pattern stay clear: they belong to patterns that come later.
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
        // The page is not full, so the number of its patterns fits into 16 bits.
        let place = self.names.len() as u16;
        self.names.push(name);
        self.frequencies.push(frequency);
        self.symbols.extend(symbols);
        if self.class.lengths.exact().is_none() {
            // Fits: open pages are sealed at 2²⁰ symbols, no pattern has 2³¹, and `fits_with`
            // limits pages that are merged.
            self.ends.push(self.symbols.len() as u32);
        }
        if let Some(lengths) = event_lengths {
            self.event_lengths.insert(place, lengths.into());
        }
        place
    }

    /// Returns whether the page's patterns fit into one page with so many others.
    pub(crate) fn fits_with(&self, n_patterns: usize, n_symbols: usize) -> bool {
        self.len() + n_patterns <= PAGE_PATTERNS
            && self.symbols.len() + n_symbols <= u32::MAX as usize
    }

    pub(crate) fn n_symbols(&self) -> usize {
        self.symbols.len()
    }

    /// Returns whether the patterns lie in name order.
    pub(crate) fn is_in_name_order(&self) -> bool {
        self.names.is_sorted()
    }

    /// Seals an open page whose patterns lie in name order: none of them moves. Its postings are
    /// [due](Self::is_due).
    pub(crate) fn seal(&mut self) {
        debug_assert!(self.is_in_name_order());
        self.is_due = true;
        // A sealed page stays as large as it is.
        self.names.shrink_to_fit();
        self.frequencies.shrink_to_fit();
        self.symbols.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Returns whether the page is sealed and lacks its postings.
    pub(crate) const fn is_due(&self) -> bool {
        self.is_due
    }

    /// Makes the postings of a sealed page that lacks them.
    pub(crate) fn make_postings(&mut self) {
        let mut postings = PostingsBuilder::with_capacity(self.n_symbols());
        let mut symbols = Vec::new();
        // As many places as patterns, of which there are no more than 16 bits count.
        for place in (0..=u16::MAX).take(self.len()) {
            self.read_symbols(place, &mut symbols);
            postings.push(place, &symbols);
        }
        self.postings = Some(postings.build());
        self.is_due = false;
    }

    /// Merges several pages of a class into one sealed page.
    ///
    /// Also returns, for every place of the new page, the input and the place there that the
    /// pattern came from.
    pub(crate) fn merge(inputs: &[Self], class: PageClass) -> (Self, Vec<(u16, u16)>) {
        let mut origins: Vec<(u16, u16)> = Vec::new();
        for (input, number) in inputs.iter().zip(0..) {
            origins.extend((0..input.len()).map(|place| (number, place as u16)));
        }
        let name =
            |&(number, place): &(u16, u16)| &inputs[usize::from(number)].names[usize::from(place)];
        // A stable sort finds the runs that each input is in order.
        origins.sort_by_key(name);
        let mut merged = Self::open(class);
        // Exact capacities, as a sealed page stays as large as it is.
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

    /// Returns the bytes of memory that the page takes.
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
            + self.event_lengths.allocation_size()
            + lengths
            + self.finalized.capacity() * size_of::<u64>()
            + self.postings.as_ref().map_or(0, Postings::heap_bytes)
    }

    /// Returns where a pattern's symbols lie in the column of symbols.
    fn range(&self, place: u16) -> std::ops::Range<usize> {
        let place = usize::from(place);
        if let Some(length) = self.class.lengths.exact() {
            return place * length..(place + 1) * length;
        }
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        start as usize..self.ends[place] as usize
    }
}
