//! Scoring texts, symbol by symbol.

use crate::collect::BREAK;
use crate::contexts::{Ahead, Step};
use crate::head::Head;
use crate::history::History;
use crate::next::Outside;
use crate::options::Expert;
use crate::position::Position;
use crate::symbols::SymbolId;
use crate::weights::Weights;

/// Symbols that are looked up together.
const AHEAD: usize = 64;

/// Reads a text and says how probable each of its symbols was, made by [`Head::scorer`].
///
/// The numbers are those of [`Head::next`] at every symbol, to the last bit. What the positions have in
/// common is kept, and little is allocated for one of them.
///
/// ```
/// use kato_head::{Head, HeadOptions, Weights};
/// use kato_model::Event;
///
/// let events = ["a", "b", "c"].map(|word| Event::new([word]));
/// let mut head = Head::new(HeadOptions::default())?;
/// head.learn(0, &events, 3, |_, _| Ok::<_, kato_head::HeadError>(None))?;
/// let mut scorer = head.scorer(Weights::new());
/// let mut history = head.history();
/// let mut weights = Weights::new();
/// for word in ["a", "b", "a", "nothing"] {
///     let symbol = head.symbol(word);
///     let expected = head.learn_weights(&mut weights, &history, None, symbol);
///     head.read_id(&mut history, symbol);
///     assert_eq!(scorer.score(symbol, None), expected);
/// }
/// assert_eq!(scorer.into_weights(), weights);
/// # Ok::<(), kato_head::HeadError>(())
/// ```
#[derive(Debug)]
pub struct Scorer<'h> {
    head: &'h Head,
    history: History,
    weights: Weights,
    /// Whether the n-grams are all that is asked, so that nobody looks at the history.
    is_by_ngrams: bool,
    ahead: Ahead,
    position: Position,
    rarities: Vec<f64>,
}

impl Head {
    /// Begins to score a text; what is learned of whom to trust begins with these weights.
    #[must_use]
    pub fn scorer(&self, weights: Weights) -> Scorer<'_> {
        let experts = &self.options().experts;
        let is_by_ngrams = |&expert: &Expert| expert == Expert::Ngrams;
        Scorer {
            head: self,
            history: self.history(),
            weights,
            is_by_ngrams: !experts.is_empty() && experts.iter().all(is_by_ngrams),
            ahead: Ahead::default(),
            position: Position::default(),
            rarities: Vec::new(),
        }
    }
}

impl Scorer<'_> {
    /// Returns the probability that a symbol had after those before it, learns from it whom to trust,
    /// and reads it. `None` stands for a symbol that the head does not know; it is returned, and
    /// nothing is learned, for one that could not come.
    ///
    /// `outside` is what somebody else expected here; see [`Head::outside`].
    pub fn score(&mut self, symbol: Option<SymbolId>, outside: Option<&Outside>) -> Option<f64> {
        self.look_up(&[symbol]);
        let ahead = std::mem::take(&mut self.ahead);
        let probability = (ahead.steps().first()).and_then(|step| self.read(symbol, step, outside));
        self.ahead = ahead;
        probability
    }

    /// Scores symbols, one after the other, and hands each probability over, as
    /// [`score`](Self::score) returns it. Faster than one by one: many are looked up together.
    pub fn score_all(&mut self, symbols: &[Option<SymbolId>], mut each: impl FnMut(Option<f64>)) {
        let is_summed = self.head.options().experts.contains(&Expert::CachedSymbols);
        for symbols in symbols.chunks(AHEAD) {
            if is_summed {
                self.look_ahead(symbols);
            }
            self.look_up(symbols);
            let ahead = std::mem::take(&mut self.ahead);
            for (&symbol, step) in symbols.iter().zip(ahead.steps()) {
                each(self.read(symbol, step, None));
            }
            self.ahead = ahead;
        }
    }

    /// Looks the next symbols up.
    fn look_up(&mut self, symbols: &[Option<SymbolId>]) {
        let head = self.head;
        // No n-gram ends in a number that is none.
        let outcomes = symbols
            .iter()
            .map(|&symbol| head.outcome(symbol).unwrap_or(BREAK));
        let kept = head.options().cache_window;
        self.ahead.look_up(head.trie(), outcomes, kept);
    }

    /// Scores and reads a symbol that was looked up.
    fn read(
        &mut self,
        symbol: Option<SymbolId>,
        Step {
            contexts, found, ..
        }: &Step,
        outside: Option<&Outside>,
    ) -> Option<f64> {
        let head = self.head;
        match self.is_by_ngrams {
            true => self.position.set_by_ngrams(head, contexts, &self.weights),
            false => self.position.set(
                head,
                &head.options().experts,
                &self.history,
                contexts,
                &self.weights,
                outside,
            ),
        }
        let outcome = head.outcome(symbol);
        let probability = outcome.map(|outcome| {
            self.position
                .learn(&self.history, &mut self.weights, outcome, found)
        });
        if !self.is_by_ngrams {
            head.read_id(&mut self.history, symbol);
        }
        probability
    }

    fn look_ahead(&mut self, symbols: &[Option<SymbolId>]) {
        self.rarities.clear();
        let rarities = symbols.iter().map(|&symbol| self.head.rarity(symbol));
        self.rarities.extend(rarities);
        self.history.look_ahead(&self.rarities);
    }

    /// Returns what was learned of whom to trust.
    #[must_use]
    pub const fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Ends, and returns what was learned of whom to trust.
    #[must_use]
    pub fn into_weights(self) -> Weights {
        self.weights
    }
}
