//! The head: what was counted, and the answers that it gives.

mod asking;
mod frozen;
mod learning;

use std::sync::OnceLock;

use kato_store::PatternStore;

pub(crate) use self::frozen::Frozen;
use crate::HeadError;
use crate::collect::{Counted, Missing, collect};
use crate::history::History;
use crate::kneser_ney::Roots;
use crate::options::HeadOptions;
use crate::symbols::{SymbolId, Symbols};
use crate::trie::Trie;

/// Answers what comes next after a history, with which probability, and why.
///
/// It counts the n-grams that the patterns of a hierarchy hold, each occurrence once, at the lowest
/// level that holds it whole, and mixes them with what the history itself says; see the
/// [crate](crate). An answer is a function of what was counted, the history, the weights, the options and
/// what the caller brings: neither the kind of store nor the order of learning changes a bit of it.
///
/// # Memory and time
///
/// About 16 bytes for each distinct n-gram, 8 for the longest ones, and more for each that was learned
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

impl Head {
    /// Counts the patterns of a store, but for retired ones. Any symbol can come next, those that
    /// nobody has learned sharing one outcome.
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
        self.trie.heap_bytes() + self.symbols.heap_bytes() + self.missing.allocation_size()
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
