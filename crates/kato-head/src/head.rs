//! The head: what was counted, and the answers that it gives.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::OnceLock;

use kato_columns::{CheckedBytes, DamageWatch};
use kato_model::{Event, PatternName};
use kato_store::PatternStore;

use crate::collect::{BREAK, Child, Counted, Edges, Missing, collect, note_missing, windows_of};
use crate::history::History;
use crate::kneser_ney::Roots;
use crate::next::{NextDistribution, Outside};
use crate::options::{Expert, HeadOptions};
use crate::symbols::{SymbolId, Symbols};
use crate::trie::Trie;
use crate::{HeadError, Weights};

/// Answers what comes next after a history, with which probability, and why.
///
/// It counts the n-grams that the patterns of a hierarchy hold, each occurrence once, at the lowest
/// level that holds it whole, and mixes them with what the history itself says; see the
/// [crate](crate). An answer is a function of the patterns, the history, the weights and the
/// options: neither the kind of store nor the order of learning changes a bit of it.
///
/// # Memory and time
///
/// 16 bytes for each distinct n-gram, 8 for the longest ones, and 60 for each that was learned
/// since; while it is built twice as much, and about 100 bytes for each pattern below the highest
/// level. A count ends at 4,294,967,295. A distribution takes time in proportion to the number of
/// outcomes.
///
/// ```
/// use kato_head::{Head, HeadOptions, Weights};
/// use kato_model::Event;
///
/// let mut head = Head::with_vocabulary(["a", "b", "c", "d"], HeadOptions::default())?;
/// for (words, times) in [(["a", "b", "c"], 3), (["a", "b", "d"], 1)] {
///     let events = words.map(|word| Event::new([word]));
///     head.learn(0, &events, times, |_, _| Ok::<_, kato_head::HeadError>(None))?;
/// }
/// let mut history = head.history();
/// head.read(&mut history, "a");
/// head.read(&mut history, "b");
///
/// let weights = Weights::new();
/// let next = head.next(&history, &weights, None);
/// let best = next.distribution().top(1)[0].0;
/// assert_eq!(head.text(best), Some("c"));
/// let why = next.explain(best);
/// assert_eq!(why.probability, why.parts.iter().map(|part| part.contribution).sum::<f64>());
/// # Ok::<(), kato_head::HeadError>(())
/// ```
#[derive(Debug)]
pub struct Head {
    options: HeadOptions,
    pub(crate) symbols: Symbols,
    pub(crate) trie: Trie,
    pub(crate) counted: Counted,
    pub(crate) missing: Missing,
    pub(crate) n_levels: usize,
    /// What the n-grams say without a context; forgotten when something is learned.
    roots: OnceLock<Roots>,
    /// The files that hold the counts, if it is files.
    frozen: Option<Frozen>,
}

/// Columns of counts in files.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub(crate) damage: DamageWatch,
    pub(crate) columns: Vec<(PathBuf, CheckedBytes)>,
}

impl Frozen {
    /// Reads all columns and compares them with their checksums.
    pub(crate) fn check(&self, is_cancelled: &dyn Fn() -> bool) -> Result<(), HeadError> {
        let damaged = |what: String| HeadError::Damaged { what };
        for (path, column) in &self.columns {
            let read = || {
                let mut file = File::open(path)?;
                column.check_all(|at, buffer| {
                    if is_cancelled() {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    file.seek(SeekFrom::Start(at))?;
                    file.read_exact(buffer)
                })
            };
            read().map_err(|error| damaged(format!("{}: {error}", path.display())))?;
        }
        match self.damage.what() {
            Some(what) => Err(damaged(what)),
            None => Ok(()),
        }
    }
}

/// Finds the events of a pattern of a lower level.
type LookUp<'a, E> = dyn FnMut(usize, &PatternName) -> Result<Option<Vec<Event>>, E> + 'a;

impl Head {
    /// Counts the patterns of a store. Any symbol can come next, those that nobody has learned
    /// sharing one outcome.
    ///
    /// # Errors
    ///
    /// [`HeadError::Option`], [`HeadError::Store`], [`HeadError::TooManyNgrams`],
    /// [`HeadError::TooManySymbols`].
    pub fn from_store(store: &dyn PatternStore, options: HeadOptions) -> Result<Self, HeadError> {
        Self::build(store, Symbols::new(None)?, options)
    }

    /// Counts the patterns of a store whose symbols are those of a vocabulary: nothing else can
    /// come next, but for symbols that the patterns hold nevertheless.
    ///
    /// # Errors
    ///
    /// As [`from_store`](Self::from_store).
    pub fn from_store_with_vocabulary<'a>(
        store: &dyn PatternStore,
        vocabulary: impl IntoIterator<Item = &'a str>,
        options: HeadOptions,
    ) -> Result<Self, HeadError> {
        let symbols = Symbols::new(Some(&mut vocabulary.into_iter()))?;
        Self::build(store, symbols, options)
    }

    /// Creates a head that has counted nothing, of any symbols.
    ///
    /// # Errors
    ///
    /// [`HeadError::Option`].
    pub fn new(options: HeadOptions) -> Result<Self, HeadError> {
        Self::empty(Symbols::new(None)?, options)
    }

    /// Creates a head that has counted nothing, of the symbols of a vocabulary.
    ///
    /// # Errors
    ///
    /// [`HeadError::Option`], [`HeadError::TooManySymbols`].
    pub fn with_vocabulary<'a>(
        vocabulary: impl IntoIterator<Item = &'a str>,
        options: HeadOptions,
    ) -> Result<Self, HeadError> {
        Self::empty(Symbols::new(Some(&mut vocabulary.into_iter()))?, options)
    }

    pub(crate) fn empty(symbols: Symbols, options: HeadOptions) -> Result<Self, HeadError> {
        options.check()?;
        Ok(Self {
            trie: Trie::new(options.order),
            symbols,
            counted: Counted::default(),
            missing: Missing::default(),
            n_levels: options.levels.unwrap_or(usize::MAX),
            options,
            roots: OnceLock::new(),
            frozen: None,
        })
    }

    /// Joins what was counted and lies in files.
    pub(crate) fn from_counts(
        symbols: Symbols,
        trie: Trie,
        (counted, missing): (Counted, Missing),
        n_levels: usize,
        options: HeadOptions,
        frozen: Frozen,
    ) -> Self {
        Self {
            options,
            symbols,
            trie,
            counted,
            missing,
            n_levels,
            roots: OnceLock::new(),
            frozen: Some(frozen),
        }
    }

    fn build(
        store: &dyn PatternStore,
        symbols: Symbols,
        options: HeadOptions,
    ) -> Result<Self, HeadError> {
        let mut head = Self::empty(symbols, options)?;
        (head.trie, head.counted, head.missing) = collect(store, &mut head.symbols, &head.options)?;
        head.n_levels = head.n_levels.min(store.nodes().len());
        Ok(head)
    }

    /// Asks questions whose answer is dropped where it goes back to damaged bytes: `None` then. They may
    /// be asked again, where bytes are changed meanwhile. Where the counts lie in memory this only asks.
    pub fn read_checked<T>(&self, mut ask: impl FnMut(&Self) -> T) -> Option<T> {
        match &self.frozen {
            None => Some(ask(self)),
            Some(frozen) => frozen.damage.read(|| ask(self)),
        }
    }

    /// Changes the head; `None` where that went back to damaged bytes, or to such as were changed meanwhile.
    pub(crate) fn read_checked_mut<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let damage = self.frozen.as_ref().map(|frozen| frozen.damage.clone());
        match damage {
            None => Some(change(self)),
            Some(damage) => damage.read_once(|| change(self)),
        }
    }

    /// Returns what is damaged of counts on the disk; `None` if nothing was found to be, or there are none.
    #[must_use]
    pub fn damage(&self) -> Option<String> {
        self.frozen.as_ref().and_then(|frozen| frozen.damage.what())
    }

    /// Returns whether the counts lie on the disk.
    #[must_use]
    pub const fn is_on_disk(&self) -> bool {
        self.frozen.is_some()
    }

    /// Reads all counts that lie on the disk and compares them with their checksums, for those who go on to
    /// learn and could not go back to what a store holds.
    ///
    /// # Errors
    ///
    /// [`HeadError::Damaged`], also when they cannot be read.
    pub fn check(&self) -> Result<(), HeadError> {
        let frozen = self.frozen.as_ref();
        frozen.map_or(Ok(()), |frozen| frozen.check(&|| false))
    }

    /// Returns the n-grams and the symbols that they are made of, numbered in the order of their texts.
    pub(crate) fn in_text_order(&self) -> (Trie, Vec<String>) {
        let mut texts: Vec<(&str, u32)> = (0u32..)
            .take(self.symbols.len())
            .filter_map(|number| Some((self.symbols.text(SymbolId(number))?, number)))
            .collect();
        texts.sort_unstable();
        let mut numbers = vec![0; texts.len()];
        for (place, &(_, number)) in (0u32..).zip(&texts) {
            numbers[number as usize] = place;
        }
        let texts = texts.iter().map(|(text, _)| (*text).to_owned()).collect();
        (self.trie.renumbered(&numbers), texts)
    }

    /// Returns the options.
    #[must_use]
    pub const fn options(&self) -> &HeadOptions {
        &self.options
    }

    /// Returns what was counted.
    #[must_use]
    pub const fn counted(&self) -> Counted {
        self.counted
    }

    /// Returns the number of distinct n-grams of all orders.
    #[must_use]
    pub fn n_ngrams(&self) -> usize {
        self.trie.len()
    }

    /// Returns the number of things that can come next: the symbols and, without a vocabulary, one
    /// for all others.
    #[must_use]
    pub fn n_outcomes(&self) -> usize {
        self.symbols.n_outcomes()
    }

    /// Returns about how many bytes the head takes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let missing = size_of::<(PatternName, usize)>() + 1;
        self.trie.heap_bytes() + self.symbols.heap_bytes() + self.missing.capacity() * missing
    }

    /// Returns the number of a symbol; `None` if the head does not know it.
    #[must_use]
    pub fn symbol(&self, text: &str) -> Option<SymbolId> {
        self.symbols.id(text)
    }

    /// Returns the symbol of a number; `None` for numbers of other heads that this one lacks.
    #[must_use]
    pub fn text(&self, symbol: SymbolId) -> Option<&str> {
        self.symbols.text(symbol)
    }

    /// Returns how often an n-gram occurs in the patterns, up to 4,294,967,295 times: the
    /// frequencies of all patterns that hold it, for every place where they do.
    ///
    /// 0 also for more symbols than the [order](HeadOptions::order).
    #[must_use]
    pub fn count(&self, ngram: &[SymbolId]) -> u64 {
        self.ngram(ngram).map_or(0, |ngram| ngram.count.into())
    }

    /// Returns how many different symbols stand to the left of an n-gram in the patterns; 0 for
    /// those of the highest order, where that is not counted.
    #[must_use]
    pub fn n_before(&self, ngram: &[SymbolId]) -> u64 {
        self.ngram(ngram)
            .map_or(0, |ngram| ngram.continuation.into())
    }

    fn ngram(&self, ngram: &[SymbolId]) -> Option<crate::trie::NgramCounts> {
        let (last, context) = ngram.split_last()?;
        if ngram.len() > self.trie.order() {
            return None;
        }
        let context: Vec<u32> = context.iter().map(|symbol| symbol.0).collect();
        let id = self.trie.context(&context)?;
        let id = self.trie.follower(context.len(), id, last.0)?;
        Some(self.trie.ngram(ngram.len(), id, last.0))
    }

    /// Creates an empty history.
    #[must_use]
    pub fn history(&self) -> History {
        History::new(self.options.cache_window)
    }

    /// Adds a symbol to a history.
    pub fn read(&self, history: &mut History, symbol: &str) {
        self.read_id(history, self.symbols.id(symbol));
    }

    /// Adds a symbol to a history by its number; `None` for one that the head does not know.
    pub fn read_id(&self, history: &mut History, symbol: Option<SymbolId>) {
        history.push(symbol, self.rarity(symbol));
    }

    /// Returns −log₂ of the frequency by which the patterns know a symbol; 0 for unknown ones.
    pub(crate) fn rarity(&self, symbol: Option<SymbolId>) -> f64 {
        symbol.map_or(0.0, |symbol| {
            let frequency = self.roots().probability(&self.trie, symbol.0);
            // Never below 0, as a probability is at most 1 but for rounding.
            (-libm::log2(frequency)).max(0.0)
        })
    }

    /// Says what comes next after a history.
    ///
    /// The preparation does what all questions about this position have in common. `outside` is
    /// what somebody else expects; see [`outside`](Self::outside).
    #[must_use]
    pub fn next<'h>(
        &'h self,
        history: &'h History,
        weights: &Weights,
        outside: Option<&'h Outside>,
    ) -> NextDistribution<'h> {
        self.next_by_experts(&self.options.experts, history, weights, outside)
    }

    /// Says what comes next by some of the experts, whatever the options say; see
    /// [`next`](Self::next). Where none of them has anything to say, all outcomes are alike.
    #[must_use]
    pub fn next_by_experts<'h>(
        &'h self,
        experts: &[Expert],
        history: &'h History,
        weights: &Weights,
        outside: Option<&'h Outside>,
    ) -> NextDistribution<'h> {
        NextDistribution::new(self, experts, history, weights, outside)
    }

    /// Creates an outside opinion of symbols and their weights, such as KATO's predictions. Symbols
    /// that cannot come next are left out, as are weights that are not above 0.
    #[must_use]
    pub fn outside<'a>(&self, weights: impl IntoIterator<Item = (&'a str, f64)>) -> Outside {
        // In the order given, which is that of their sum.
        let known = weights.into_iter().filter_map(|(symbol, weight)| {
            let id = self.symbols.id(symbol)?;
            (weight > 0.0 && weight.is_finite()).then_some((id.0, weight))
        });
        Outside::of(known)
    }

    /// Learns how far to trust the experts, from a symbol that came after a history, and returns
    /// the probability that it had. `None`, and nothing is learned, for a symbol that could not
    /// come.
    pub fn learn_weights(
        &self,
        weights: &mut Weights,
        history: &History,
        outside: Option<&Outside>,
        symbol: Option<SymbolId>,
    ) -> Option<f64> {
        self.next(history, weights, outside)
            .update_weights(weights, symbol)
    }

    /// Returns the number of an outcome: a symbol, or what stands for all that are unknown.
    pub(crate) fn outcome(&self, symbol: Option<SymbolId>) -> Option<u32> {
        let outcome = match symbol {
            Some(symbol) if symbol.index() < self.symbols.len() => symbol.index(),
            Some(_) => return None,
            None => self.symbols.len(),
        };
        // The highest numbers are not given out.
        (outcome < self.n_outcomes()).then_some(outcome as u32)
    }

    /// Counts a pattern that was learned `times` more often, on a level of the hierarchy. Levels
    /// that the head does not count are passed over.
    ///
    /// `below` finds the events of patterns of lower levels, by level and name, and is not asked
    /// on the lowest level. The result is that of counting a store that holds the lesson, unless the
    /// pattern is one that was [missing](Self::is_missing).
    ///
    /// # Errors
    ///
    /// [`HeadError::TooManyNgrams`], [`HeadError::TooManySymbols`], and what `below` fails with. Then
    /// the pattern may be counted in part: count anew.
    pub fn learn<E: From<HeadError>>(
        &mut self,
        level: usize,
        events: &[Event],
        times: u64,
        mut below: impl FnMut(usize, &PatternName) -> Result<Option<Vec<Event>>, E>,
    ) -> Result<(), E> {
        let mut edges = Edges::new(self.trie.order() - 1);
        self.learn_with(level, events, times, &mut edges, &mut below)
    }

    /// Counts as [`learn`](Self::learn). Patterns of lower levels that were looked up are kept in `edges`, and
    /// not asked for again.
    pub(crate) fn learn_with<E: From<HeadError>>(
        &mut self,
        level: usize,
        events: &[Event],
        times: u64,
        edges: &mut Edges,
        below: &mut LookUp<'_, E>,
    ) -> Result<(), E> {
        if level >= self.n_levels || times == 0 {
            return Ok(());
        }
        self.roots.take();
        let short = u32::try_from(times).unwrap_or(u32::MAX);
        self.counted.patterns += 1;
        if level == 0 {
            self.counted.count_learns(events, times);
            let run = self.run_of(events)?;
            for run in run.split(|&symbol| symbol == BREAK) {
                for window in windows_of(run, self.trie.order()) {
                    self.trie.count(window, 0, short)?;
                }
            }
        } else {
            let children = self.children_of(level, events, edges, below)?;
            let trie = &mut self.trie;
            edges.crossing_windows(&children, |window, n_known| {
                trie.count(window, n_known, short)
            })?;
        }
        self.trie.settle();
        Ok(())
    }

    /// Returns whether patterns above a level refer to a pattern that no level below them held when
    /// they were counted. Where that level learns it, their n-grams are others than those that were
    /// counted, and only counting anew finds them; levels that are taught from below never meet
    /// this.
    #[must_use]
    pub fn is_missing(&self, level: usize, name: &PatternName) -> bool {
        self.missing.get(name).is_some_and(|&above| above > level)
    }

    /// Forgets everything that was counted; symbols keep their numbers.
    pub fn clear(&mut self) {
        self.trie = Trie::new(self.options.order);
        self.counted = Counted::default();
        self.missing = Missing::default();
        self.frozen = None;
        self.roots.take();
    }

    /// Returns the numbers of the symbols of a pattern of the lowest level.
    fn run_of(&mut self, events: &[Event]) -> Result<Vec<u32>, HeadError> {
        let symbols = &mut self.symbols;
        self.counted
            .run_of(events, &mut |symbol| symbols.intern(symbol))
    }

    /// Returns the children of a pattern, whose ends come into `edges`.
    fn children_of<E: From<HeadError>>(
        &mut self,
        level: usize,
        events: &[Event],
        edges: &mut Edges,
        below: &mut LookUp<'_, E>,
    ) -> Result<Vec<Child>, E> {
        let mut children = Vec::with_capacity(events.len());
        for event in events {
            let child = match event.symbols() {
                [symbol] => match PatternName::from_symbol(symbol) {
                    Some(name) => {
                        let child = self.child(level, &name, edges, below)?;
                        if child.is_none() {
                            note_missing(&mut self.missing, level, name);
                        }
                        child
                    }
                    None => None,
                },
                _ => None,
            };
            match event.symbols() {
                [_] => self.counted.unknown_names += u64::from(child.is_none()),
                _ => self.counted.wide_events += 1,
            }
            children.push(child);
        }
        Ok(children)
    }

    /// Finds a pattern below a level, on the lowest one that holds it.
    fn child<E: From<HeadError>>(
        &mut self,
        level: usize,
        name: &PatternName,
        edges: &mut Edges,
        below: &mut LookUp<'_, E>,
    ) -> Result<Child, E> {
        if let Some(place) = edges.place(level, name) {
            return Ok(Some(place));
        }
        let mut found = None;
        for level in 0..level {
            if let Some(events) = below(level, name)? {
                found = Some((level, events));
                break;
            }
        }
        let Some((found_at, events)) = found else {
            return Ok(None);
        };
        // What is counted here is how often patterns hold something, and these are only looked at.
        let counted = self.counted;
        let symbols = match found_at {
            0 => self.run_of(&events)?,
            _ => {
                // Ends after as many steps as there are levels, as every step goes down.
                let children = self.children_of(found_at, &events, edges, below)?;
                let mut symbols = Vec::new();
                edges.join(&children, &mut symbols);
                symbols
            }
        };
        self.counted = counted;
        edges.insert(found_at, *name, &symbols);
        Ok(edges.place(level, name))
    }

    pub(crate) const fn trie(&self) -> &Trie {
        &self.trie
    }

    pub(crate) fn roots(&self) -> &Roots {
        self.roots
            .get_or_init(|| Roots::of(&self.trie, self.n_outcomes(), self.options.discounts))
    }

    /// Returns all symbols with how often they were counted, the most frequent first.
    pub(crate) fn by_frequency(&self, occurrences: bool) -> &[(u32, u32)] {
        self.roots()
            .by_frequency(&self.trie, &self.symbols, occurrences)
    }

    pub(crate) const fn symbols(&self) -> &Symbols {
        &self.symbols
    }
}
