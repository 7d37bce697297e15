//! The index of one node's patterns, in memory, arranged so that predictions touch few of them.

#![expect(
    clippy::cast_possible_truncation,
    reason = "an event and a level below have fewer than 2³² symbols: their ids are checked"
)]

mod hidden;
mod name_table;
mod page_set;
mod threads;

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::Arc;

use kato_model::emotives::add_emotives;
use kato_model::{EmotiveMap, Event, PatternName};

pub(crate) use self::hidden::Hidden;
use self::name_table::{Key, NameTable};
use self::page_set::{Move, OPEN_PATTERNS, PageSet};
pub(crate) use self::page_set::{Pages, Place, Spot};
use self::threads::{ThreadShare, Threads};
use crate::collections::{HashMap, HashSet};
use crate::frozen::{Found, FoundSymbol, FrozenIndex};
use crate::page::PAGE_PATTERNS;
use crate::page_class::PageClass;
use crate::predict::text_bytes;
use crate::symbols::{SymbolSnapshot, Symbols};
use crate::{DamagedIndex, IndexError, SymbolId};

/// An index of one node's patterns in memory: learned one by one or loaded from a store, looked up
/// by name, and searched.
///
/// # Exactness and cost
///
/// [`predict`](Self::predict) gives what comparing the state with every pattern would give,
/// ties resolved by name. Patterns lie in pages of up to 65,536, of one length each (above 32 symbols
/// of similar ones), with postings by symbol. A page's patterns are visited in the order of an upper bound of their
/// score (multiset overlap ≥ longest common subsequence ≥ matching blocks), and only as long as
/// the bound can still reach an answer. So the cost grows with the patterns that could matter
/// rather than with those that are there.
///
/// # Memory
///
/// A pattern of five symbols of a vocabulary below 65,536 takes some 65 bytes in all: 20 for the
/// name, 4 for the frequency, 2 each for a symbol, a posting and a follower, a share of the posting
/// directories, and 5 to 10 for the look-up by name. Patterns of names cost more, as nearly every
/// symbol is one of its own. [`heap_bytes`](Self::heap_bytes) returns the total.
///
/// ```
/// use kato_model::Event;
/// use kato_prediction::{PatternIndex, PredictionConfig};
///
/// let event = |symbol: &str| Event::new([symbol]);
/// let mut index = PatternIndex::new();
/// index.learn(&["a", "b", "c"].map(event))?;
///
/// let answer = index.predict(&["a", "b"].map(event), &PredictionConfig::default());
/// assert_eq!(answer.predictions[0].future, [event("c")]);
/// # Ok::<(), kato_prediction::IndexError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct PatternIndex {
    /// The patterns that were there before anything was learned here.
    base: Option<Base>,
    symbols: Symbols,
    page_set: PageSet,
    by_name: NameTable,
    emotives: HashMap<PatternName, EmotiveMap>,
    affinities: HashMap<SymbolId, EmotiveMap>,
    finalized: Option<Finalized>,
    hidden: Hidden,
    /// Reused by [`learn`](Self::learn).
    scratch: Vec<SymbolId>,
}

/// An index that lies below, and what was learned of its patterns since.
#[derive(Debug, Clone)]
struct Base {
    frozen: Arc<FrozenIndex>,
    threads: Threads,
    /// Learns since, by rank.
    learns: HashMap<u32, u64>,
    /// Ranks of patterns that were purged: learns before count no more.
    purged: HashSet<u32>,
    /// Where the pattern that was added last lies, or would: what comes in name order is found near it.
    near: Vec<u32>,
}

/// The statistics of the node at the time of the last `finalize-training`.
#[derive(Debug, Clone)]
pub(crate) struct Finalized {
    pub(crate) symbols: SymbolSnapshot,
    pub(crate) n_symbols: usize,
    pub(crate) n_patterns: usize,
}

/// The counts of one symbol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexedSymbolCounts {
    /// Occurrences over all learns.
    pub frequency: u64,
    /// Distinct patterns that hold the symbol (`pattern_member_frequency`).
    pub n_patterns: u64,
}

impl PatternIndex {
    /// Creates an empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an index of the patterns of another one, which stays as it is: what is learned from
    /// now on lies above it, in memory.
    ///
    /// It answers as an index in memory would that holds all of it. See
    /// [`read_checked`](Self::read_checked).
    #[must_use]
    pub fn over(frozen: Arc<FrozenIndex>) -> Self {
        let taken = frozen.taken().cloned().unwrap_or_default();
        let purged: HashSet<u32> = taken.patterns.iter().map(|(rank, _)| *rank).collect();
        Self {
            symbols: Symbols::over(Arc::clone(&frozen)),
            hidden: Hidden::of(&taken, purged.clone()),
            base: Some(Base {
                frozen,
                threads: Threads::default(),
                learns: HashMap::default(),
                purged,
                near: Vec::new(),
            }),
            ..Self::default()
        }
    }

    /// Sets how many threads predictions may take to search the index that this one
    /// [lies above](Self::over); 1 until it is set. Several predictions at a time share them.
    ///
    /// Answers do not depend on it; more than 1,024 are as many. A thread is worth some hundred thousand patterns; fewer are
    /// searched with fewer threads.
    #[must_use]
    pub fn with_threads(mut self, n_threads: NonZeroUsize) -> Self {
        if let Some(base) = &mut self.base {
            base.threads = Threads::new(n_threads);
        }
        self
    }

    /// Takes the share of the threads that one more prediction may have, until it is dropped.
    pub(crate) fn share_of_threads(&self) -> ThreadShare<'_> {
        let base = self.base.as_ref();
        base.map_or(ThreadShare::ALONE, |base| base.threads.share())
    }

    /// Reads, and again where the index that this one [lies above](Self::over) was changed on the disk
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// [`DamagedIndex`] when damage was found in that index: what was read is worth nothing, and what is
    /// learned from then on is not reliable either.
    pub fn read_checked<T>(&self, mut read: impl FnMut(&Self) -> T) -> Result<T, DamagedIndex> {
        let Some(base) = &self.base else {
            return Ok(read(self));
        };
        let damage = base.frozen.damage();
        damage.read(|| read(self)).ok_or_else(|| DamagedIndex {
            what: damage.what().unwrap_or_default(),
        })
    }

    /// Returns whether damage was found in the index that this one lies above.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.base
            .as_ref()
            .is_some_and(|base| base.frozen.is_damaged())
    }

    /// Returns the index that this one lies above, if there is one.
    #[must_use]
    pub fn base(&self) -> Option<&Arc<FrozenIndex>> {
        self.base.as_ref().map(|base| &base.frozen)
    }

    /// Learns a pattern once, adding it if it is new, and returns its name.
    ///
    /// # Errors
    ///
    /// [`IndexError::Malformed`] when there is no symbol, [`IndexError::Full`];
    /// then nothing changed.
    pub fn learn(&mut self, events: &[Event]) -> Result<PatternName, IndexError> {
        let name = PatternName::of_events(events);
        self.learn_named(name, events)?;
        Ok(name)
    }

    /// Learns a pattern whose name is known already, and returns whether it is new.
    ///
    /// As [`learn`](Self::learn) otherwise; the caller vouches that it is the name of these events.
    ///
    /// # Errors
    ///
    /// As [`learn`](Self::learn).
    pub fn learn_named(&mut self, name: PatternName, events: &[Event]) -> Result<bool, IndexError> {
        self.learn_until(name, events, OPEN_PATTERNS)
    }

    /// Learns as [`learn_named`](Self::learn_named) does, one of many patterns ahead of the next prediction: call
    /// [`seal`](Self::seal) after the last. It is quickest where they come in name order.
    ///
    /// # Errors
    ///
    /// As [`learn`](Self::learn).
    pub fn learn_unsealed(
        &mut self,
        name: PatternName,
        events: &[Event],
    ) -> Result<bool, IndexError> {
        self.learn_until(name, events, PAGE_PATTERNS)
    }

    /// Learns a pattern, sealing open pages at `limit` patterns.
    fn learn_until(
        &mut self,
        name: PatternName,
        events: &[Event],
        limit: usize,
    ) -> Result<bool, IndexError> {
        // Taken out for the call, because learning borrows all of the index.
        let mut symbols = std::mem::take(&mut self.scratch);
        symbols.clear();
        let learned = self.learn_symbols(name, events, &mut symbols, limit);
        self.scratch = symbols;
        learned
    }

    /// Interns the symbols of a pattern into `symbols`, which is empty, and learns it.
    fn learn_symbols(
        &mut self,
        name: PatternName,
        events: &[Event],
        symbols: &mut Vec<SymbolId>,
        limit: usize,
    ) -> Result<bool, IndexError> {
        // Symbols of a pattern that is refused later stay in the table, but no count shows them.
        for symbol in events.iter().flat_map(Event::symbols) {
            symbols.push(self.symbols.intern(symbol)?);
        }
        // A length beyond 32 bits would be cut, fail to add up, and make `add` refuse the pattern.
        let lengths: Option<Vec<u32>> = events
            .iter()
            .any(|event| event.len() != 1)
            .then(|| events.iter().map(|event| event.len() as u32).collect());
        self.add((name, None), symbols, lengths.as_deref(), 1, limit)
    }

    /// Returns the id of a symbol for [`insert`](Self::insert), interning it if it is new.
    ///
    /// # Errors
    ///
    /// [`IndexError::Full`].
    pub fn intern(&mut self, symbol: &str) -> Result<SymbolId, IndexError> {
        self.symbols.intern(symbol)
    }

    /// Returns the id of a pattern name as a symbol: [`intern`](Self::intern)
    /// without making its text.
    ///
    /// # Errors
    ///
    /// [`IndexError::Full`].
    pub fn intern_name(&mut self, name: &PatternName) -> Result<SymbolId, IndexError> {
        self.symbols.intern_name(name)
    }

    /// Returns the id of a pattern name as [`intern_name`](Self::intern_name) does, given what was found of it in the
    /// index that this one [lies above](Self::over), by [`LookUp`](crate::frozen::LookUp).
    ///
    /// # Errors
    ///
    /// [`IndexError::Full`].
    pub fn intern_found(
        &mut self,
        name: &PatternName,
        found: FoundSymbol,
    ) -> Result<SymbolId, IndexError> {
        match found.id() {
            Some(id) => Ok(id),
            None => self.symbols.intern_own_name(name),
        }
    }

    /// Makes room for the names of so many patterns that are about to be [inserted](Self::insert):
    /// without it, all are hashed again whenever there are twice as many. The names of the index that this one
    /// [lies above](Self::over) are fetched from the disk together, if nearly all blocks of them will be read.
    pub fn reserve(&mut self, additional: usize) {
        if let Some(base) = &self.base {
            base.frozen.will_look_up(additional);
        }
        self.by_name.reserve(additional, self.page_set.pages());
    }

    /// Adds `frequency` learns of a pattern given by its interned symbols, and returns whether the
    /// pattern is new.
    ///
    /// This is how stored patterns are loaded; call [`seal`](Self::seal) after the last.
    /// `event_lengths` are the numbers of symbols of the events, `None` when each is one. The
    /// caller vouches that the name is that of the content.
    ///
    /// # Errors
    ///
    /// [`IndexError::Malformed`] when there is no symbol, a symbol is unknown, or the lengths do
    /// not add up; [`IndexError::Full`]. Then nothing changed.
    pub fn insert(
        &mut self,
        name: PatternName,
        symbols: &[SymbolId],
        event_lengths: Option<&[u32]>,
        frequency: u64,
    ) -> Result<bool, IndexError> {
        let name = (name, None);
        self.add(name, symbols, event_lengths, frequency, PAGE_PATTERNS)
    }

    /// Inserts as [`insert`](Self::insert), a pattern whose name was looked up before in the index that this
    /// one [lies above](Self::over): another thread can do so meanwhile.
    ///
    /// The caller vouches that it was that index.
    ///
    /// ```
    /// # #[cfg(feature = "disk")]
    /// # {
    /// use std::sync::Arc;
    ///
    /// use kato_model::PatternName;
    /// use kato_prediction::PatternIndex;
    /// use kato_prediction::disk::{self, BuildOptions};
    /// use kato_prediction::frozen::LookUp;
    /// use kato_store::EmbeddedStore;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let kb = dir.path().join("kb");
    /// # let store = EmbeddedStore::create(&kb, &["node0"], serde_json::Value::Null)?;
    /// disk::build(&store, &BuildOptions::default())?;
    /// let below = disk::open(&store)?.and_then(|index| index.nodes().next()?).expect("it was just built");
    /// let mut look_up = LookUp::new(Arc::clone(&below));
    /// let mut index = PatternIndex::over(below);
    /// let symbols = [index.intern("a")?, index.intern("b")?];
    /// let name = PatternName::of_events(&[["a"], ["b"]]);
    /// assert!(index.insert_found(name, look_up.find(&name), &symbols, None, 1)?);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    pub fn insert_found(
        &mut self,
        name: PatternName,
        found: Found,
        symbols: &[SymbolId],
        event_lengths: Option<&[u32]>,
        frequency: u64,
    ) -> Result<bool, IndexError> {
        let name = (name, Some(found));
        self.add(name, symbols, event_lengths, frequency, PAGE_PATTERNS)
    }

    /// Inserts as [`insert`](Self::insert), sealing open pages at `limit` patterns. What is found of the name
    /// in the index below is looked up where nobody has.
    fn add(
        &mut self,
        (name, found): (PatternName, Option<Found>),
        symbols: &[SymbolId],
        event_lengths: Option<&[u32]>,
        frequency: u64,
        limit: usize,
    ) -> Result<bool, IndexError> {
        let adds_up = |lengths: &[u32]| {
            lengths.iter().map(|&length| length as usize).sum::<usize>() == symbols.len()
        };
        if symbols.is_empty()
            || !event_lengths.is_none_or(adds_up)
            || !symbols.iter().all(|&symbol| self.symbols.knows(symbol))
        {
            return Err(IndexError::Malformed {
                symbols: symbols.len(),
            });
        }
        let class = PageClass::new(symbols, event_lengths);
        let key = self.by_name.key(&name);
        let is_new = if let Some(place) = self.place(key, &name) {
            self.page_set.add_frequency(place, frequency);
            self.hidden.revive(&name, None)
        } else if let Some((base, rank)) = self.rank_near(&name, found) {
            let learns = base.learns.entry(rank).or_default();
            *learns = learns.saturating_add(frequency);
            self.hidden.revive(&name, Some(rank))
        } else {
            // The last step that can fail, so that an error leaves the index as it was.
            let place = self
                .page_set
                .push(&class, name, symbols, event_lengths, frequency)?;
            self.by_name.insert(key, place, self.page_set.pages());
            true
        };
        self.count_symbols(symbols, frequency, is_new);
        // Last, since sealing moves patterns, and the new one must be in the table for its move to
        // be applied.
        let moves = self.page_set.seal_if_full(&class, limit);
        self.apply_moves(&moves);
        Ok(is_new)
    }

    /// Moves everything inserted so far into searchable pages, so that the next prediction is fast.
    ///
    /// Also gives back memory that was reserved for more.
    pub fn seal(&mut self) {
        self.symbols.shrink_to_fit();
        let moves = self.page_set.seal_all();
        self.apply_moves(&moves);
        self.by_name.shrink_to_fit(self.page_set.pages());
    }

    /// Sets the mean emotives that predictions show for a pattern; returns `false` if the
    /// pattern is unknown.
    pub fn set_emotives(&mut self, name: &PatternName, mean: EmotiveMap) -> bool {
        if self.spot(name).is_none() {
            return false;
        }
        if mean.is_empty() {
            self.emotives.remove(name);
        } else {
            self.emotives.insert(*name, mean);
        }
        true
    }

    /// Adds to the affinity of every distinct symbol of a pattern; returns `false` if the
    /// pattern is unknown.
    pub fn add_affinity(&mut self, name: &PatternName, emotives: &EmotiveMap) -> bool {
        let Some(spot) = self.spot(name) else {
            return false;
        };
        let mut symbols = Vec::new();
        self.read_symbols_at(spot, &mut symbols);
        // A symbol that the pattern holds twice grows once, as in KATO.
        symbols.sort_unstable();
        symbols.dedup();
        for symbol in symbols {
            // As stores add them up, so that sums of finite values stay finite.
            add_emotives(self.affinities.entry(symbol).or_default(), emotives);
        }
        true
    }

    /// Returns the affinity of a symbol: for every emotive the running sum over learns.
    /// Empty if there is none.
    #[must_use]
    pub fn affinity(&self, symbol: &str) -> EmotiveMap {
        let sums = self
            .symbols
            .id(symbol)
            .and_then(|id| self.affinities.get(&id));
        sums.cloned().unwrap_or_default()
    }

    /// Returns the events of a pattern; `None` if it is unknown.
    #[must_use]
    pub fn events(&self, name: &PatternName) -> Option<Vec<Event>> {
        Some(self.events_at(self.spot(name)?))
    }

    /// Returns the bytes of memory that the [`events`](Self::events) of a pattern take, about, which
    /// are many times those that it takes in the index; 0 if it is unknown.
    #[must_use]
    pub fn bytes_of_events(&self, name: &PatternName) -> usize {
        let Some(spot) = self.spot(name) else {
            return 0;
        };
        let mut symbols = Vec::new();
        self.read_symbols_at(spot, &mut symbols);
        text_bytes(&symbols, &self.symbols)
    }

    /// Returns the number of symbols of a pattern; 0 if it is unknown.
    #[must_use]
    pub fn n_symbols_of(&self, name: &PatternName) -> usize {
        let mut symbols = Vec::new();
        if let Some(spot) = self.spot(name) {
            self.read_symbols_at(spot, &mut symbols);
        }
        symbols.len()
    }

    /// Returns how often a pattern was learned; 0 if never.
    #[must_use]
    pub fn frequency(&self, name: &PatternName) -> u64 {
        self.spot(name).map_or(0, |spot| self.frequency_at(spot))
    }

    /// Returns the names of all patterns and how often each was learned, in no particular order.
    pub fn frequencies(&self) -> impl Iterator<Item = (PatternName, u64)> {
        let units = self.base().into_iter().flat_map(|base| base.units());
        let below = units.flat_map(move |unit| {
            let reader = unit.reader();
            let named = move |rank| {
                let spot = Spot::Base(reader.rank_among_all(rank));
                (reader.name(rank), self.frequency_at(spot))
            };
            (0..reader.n_patterns()).map(named)
        });
        let is_known = |(name, _): &(PatternName, u64)| !self.hidden.is_purged(name);
        let above = self.pages().iter().flat_map(|(_, page)| {
            let places = (0u16..=u16::MAX).zip(page.names());
            places.map(|(place, name)| (*name, page.frequency(place)))
        });
        below.chain(above).filter(is_known)
    }

    /// Returns the number of distinct patterns.
    #[must_use]
    pub fn n_patterns(&self) -> usize {
        let below = self.base().map_or(0, |base| base.n_patterns());
        (self.by_name.len() + below).saturating_sub(self.hidden.n_purged())
    }

    /// Returns the number of distinct symbols of the patterns.
    #[must_use]
    pub fn n_symbols(&self) -> usize {
        self.symbols.n_used()
    }

    /// Returns the counts of a symbol; zeros if no pattern holds it.
    #[must_use]
    pub fn symbol_counts(&self, symbol: &str) -> IndexedSymbolCounts {
        self.symbols
            .id(symbol)
            .map_or_else(IndexedSymbolCounts::default, |id| {
                self.symbols.count(id).into()
            })
    }

    /// Returns all symbols of the patterns with their counts, in no particular order.
    pub fn symbols(&self) -> impl Iterator<Item = (String, IndexedSymbolCounts)> {
        self.symbols
            .used()
            .map(|(id, count)| (self.symbols.text(id).into_owned(), count.into()))
    }

    /// Returns all symbols that have an affinity, with their sums, in no particular order.
    pub fn affinities(&self) -> impl Iterator<Item = (String, &EmotiveMap)> {
        self.affinities
            .iter()
            .map(|(&id, sums)| (self.symbols.text(id).into_owned(), sums))
    }

    /// Performs KATO's `finalize-training` and returns the number of patterns.
    ///
    /// From now on the entropies and `tfidf_score` of all patterns known now are those of their
    /// whole content, instead of those of the present; the entropies with the statistics of now.
    pub fn finalize(&mut self) -> usize {
        self.page_set.finalize();
        self.finalized = Some(Finalized {
            symbols: self.symbols.snapshot(),
            n_symbols: self.n_symbols(),
            n_patterns: self.n_patterns(),
        });
        self.n_patterns()
    }

    /// Returns whether [`finalize`](Self::finalize) was called, and nothing purged since.
    #[must_use]
    pub const fn is_finalized(&self) -> bool {
        self.finalized.is_some()
    }

    /// Returns about how many bytes of memory the patterns, their names and symbols take, with what is known of those
    /// that are retired or purged; what is kept of emotives, affinities and a finalization is not counted. Of an
    /// index on the disk that it lies above, [what it keeps in memory](FrozenIndex::heap_bytes) counts alone.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.symbols.heap_bytes()
            + self.page_set.heap_bytes()
            + self.by_name.heap_bytes()
            + self.hidden.heap_bytes()
            + self.base.as_ref().map_or(0, |base| {
                base.learns.allocation_size()
                    + base.purged.allocation_size()
                    + base.frozen.heap_bytes()
            })
    }

    /// Returns whether any symbol has an affinity, or any pattern emotives.
    #[must_use]
    pub fn has_emotives(&self) -> bool {
        !self.emotives.is_empty() || !self.affinities.is_empty()
    }

    pub(crate) fn pages(&self) -> &Pages {
        self.page_set.pages()
    }

    pub(crate) fn symbol_table(&self) -> &Symbols {
        &self.symbols
    }

    /// Returns the patterns that predictions pass over.
    pub(crate) fn hidden(&self) -> &Hidden {
        &self.hidden
    }

    pub(crate) fn finalized(&self) -> Option<&Finalized> {
        self.finalized.as_ref()
    }

    pub(crate) fn emotives_of(&self, name: &PatternName) -> EmotiveMap {
        self.emotives.get(name).cloned().unwrap_or_default()
    }

    /// Returns the affinity of a symbol to one emotive; 0 if there is none.
    pub(crate) fn affinity_to(&self, symbol: SymbolId, emotive: &str) -> f64 {
        let sums = self.affinities.get(&symbol);
        sums.and_then(|sums| sums.get(emotive))
            .copied()
            .unwrap_or(0.0)
    }

    /// Returns how often a pattern was learned.
    pub(crate) fn frequency_at(&self, spot: Spot) -> u64 {
        match (spot, &self.base) {
            (Spot::Page(place), _) => self.pages().frequency(place),
            (Spot::Base(rank), Some(base)) => {
                let since = base.learns.get(&rank).copied().unwrap_or(0);
                match !base.purged.is_empty() && base.purged.contains(&rank) {
                    true => since,
                    false => base.frozen.frequency(rank).saturating_add(since),
                }
            }
            (Spot::Base(_), None) => 0,
        }
    }

    /// Replaces `out` by a pattern's symbols.
    pub(crate) fn read_symbols_at(&self, spot: Spot, out: &mut Vec<SymbolId>) {
        match (spot, &self.base) {
            (Spot::Page(place), _) => self.pages().read_symbols(place, out),
            (Spot::Base(rank), Some(base)) => base.frozen.read_symbols(rank, out),
            (Spot::Base(_), None) => out.clear(),
        }
    }

    /// Returns the number of symbols of each event of a pattern of so many symbols; `None` when
    /// every event holds one.
    pub(crate) fn event_lengths_at(&self, spot: Spot, n_symbols: usize) -> Option<Cow<'_, [u32]>> {
        match (spot, &self.base) {
            (Spot::Page(place), _) => self.pages().event_lengths(place).map(Cow::Borrowed),
            // Of a damaged pattern there are no symbols, and lengths that do not add up to them
            // would make slices panic.
            (Spot::Base(rank), Some(base)) if n_symbols > 0 => {
                base.frozen.event_lengths(rank).map(Cow::Owned)
            }
            (Spot::Base(_), _) => None,
        }
    }

    /// Returns whether the last `finalize-training` found a pattern.
    pub(crate) fn is_finalized_at(&self, spot: Spot) -> bool {
        match spot {
            Spot::Page(place) => self.pages().is_finalized(place),
            // All that lies below was there before.
            Spot::Base(_) => self.finalized.is_some(),
        }
    }

    pub(crate) fn events_at(&self, spot: Spot) -> Vec<Event> {
        let mut symbols = Vec::new();
        self.read_symbols_at(spot, &mut symbols);
        let mut texts = symbols
            .iter()
            .map(|&symbol| self.symbols.text(symbol).into_owned());
        // In the stored order, which the name depends on and which need not be sorted.
        let mut event =
            |length: usize| Event::in_given_order(texts.by_ref().take(length).collect());
        match self.event_lengths_at(spot, symbols.len()).as_deref() {
            None => (0..symbols.len()).map(|_| event(1)).collect(),
            Some(lengths) => lengths
                .iter()
                .map(|&length| event(length as usize))
                .collect(),
        }
    }

    /// Looks up where a pattern lies; `None` if it is unknown.
    fn spot(&self, name: &PatternName) -> Option<Spot> {
        if self.hidden.is_purged(name) {
            return None;
        }
        let place = self.place(self.by_name.key(name), name);
        place
            .map(Spot::Page)
            .or_else(|| self.base()?.rank(name).map(Spot::Base))
    }

    /// Looks up where in the pages a pattern lies.
    fn place(&self, key: Key, name: &PatternName) -> Option<Place> {
        self.by_name.find(key, name, self.page_set.pages())
    }

    /// Returns where a pattern of the index below lies, and looks near the one before for it where nobody
    /// has found it yet.
    fn rank_near(&mut self, name: &PatternName, found: Option<Found>) -> Option<(&mut Base, u32)> {
        let base = self.base.as_mut()?;
        let rank = match found {
            Some(found) => found.rank(),
            None => base.frozen.rank_near(name, &mut base.near),
        };
        Some((base, rank?))
    }

    /// Adds to the counts of a pattern's symbols; `is_new` if the pattern was not known before.
    fn count_symbols(&mut self, symbols: &[SymbolId], frequency: u64, is_new: bool) {
        for (idx, symbol) in symbols.iter().enumerate() {
            // Whether the pattern is counted for the symbol here: at its first occurrence. Short
            // patterns are the rule, and for them looking back is cheaper than sorting.
            let is_first = is_new
                && if symbols.len() <= 64 {
                    !symbols[..idx].contains(symbol)
                } else {
                    false
                };
            self.symbols.add(*symbol, frequency, is_first);
        }
        // In long patterns looking back would take quadratic time.
        if is_new && symbols.len() > 64 {
            let mut distinct = symbols.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            for symbol in distinct {
                // Its occurrences were added above; this adds the pattern.
                self.symbols.add(symbol, 0, true);
            }
        }
    }

    /// Updates the look-up by name for patterns that have moved.
    fn apply_moves(&mut self, moves: &[Move]) {
        for (name, from, to) in moves {
            self.by_name.update(name, *from, *to);
        }
    }
}

impl From<crate::symbols::SymbolCount> for IndexedSymbolCounts {
    fn from(count: crate::symbols::SymbolCount) -> Self {
        Self {
            frequency: count.frequency,
            n_patterns: u64::from(count.n_patterns),
        }
    }
}
