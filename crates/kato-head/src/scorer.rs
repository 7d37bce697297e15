//! Scoring texts, symbol by symbol.

use crate::collect::BREAK;
use crate::head::Head;
use crate::history::History;
use crate::kneser_ney::Contexts;
use crate::next::Outside;
use crate::options::Expert;
use crate::position::Position;
use crate::symbols::SymbolId;
use crate::weights::Weights;

/// Symbols that [`Scorer::look_ahead`] prepares for at once.
const AHEAD: usize = 64;

/// Reads a text and says how probable each of its symbols was, made by [`Head::scorer`].
///
/// The numbers are those of [`Head::next`] at every symbol, to the last bit. What the positions have in
/// common is kept, and nothing is allocated for one of them.
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
    contexts: Contexts,
    position: Position,
    rarities: Vec<f64>,
}

impl Head {
    /// Begins to score a text; what is learned of whom to trust begins with these weights.
    #[must_use]
    pub fn scorer(&self, weights: Weights) -> Scorer<'_> {
        Scorer {
            head: self,
            history: self.history(),
            weights,
            contexts: Contexts::of(self.trie(), &[]),
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
        let head = self.head;
        let experts = &head.options().experts;
        match experts.iter().all(|&expert| expert == Expert::Ngrams) && !experts.is_empty() {
            true => self
                .position
                .set_by_ngrams(head, &self.contexts, &self.weights),
            false => self.position.set(
                head,
                experts,
                &self.history,
                &self.contexts,
                &self.weights,
                outside,
            ),
        }
        let outcome = head.outcome(symbol);
        // No n-gram ends in a number that is none.
        let found = self.contexts.find(head.trie(), outcome.unwrap_or(BREAK));
        let probability = outcome.map(|outcome| {
            self.position
                .learn(&self.history, &mut self.weights, outcome, &found)
        });
        self.contexts = self
            .contexts
            .after(head.trie(), &found, head.options().cache_window);
        head.read_id(&mut self.history, symbol);
        probability
    }

    /// Scores symbols, one after the other, and hands each probability over, as
    /// [`score`](Self::score) returns it. Faster than one by one where the text is longer than the
    /// [window](crate::HeadOptions::cache_window) of the cache.
    pub fn score_all(&mut self, symbols: &[Option<SymbolId>], mut each: impl FnMut(Option<f64>)) {
        let is_summed = self.head.options().experts.contains(&Expert::CachedSymbols);
        for symbols in symbols.chunks(AHEAD) {
            if is_summed {
                self.look_ahead(symbols);
            }
            for &symbol in symbols {
                each(self.score(symbol, None));
            }
        }
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
