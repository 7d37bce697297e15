//! What comes next after one history.

use crate::Weights;
use crate::contexts::{Contexts, Found};
use crate::distribution::Distribution;
use crate::explanation::{Explanation, explain};
use crate::head::Head;
use crate::history::{Cached, History};
use crate::options::{EXPERTS, Expert};
use crate::position::Position;
use crate::symbols::SymbolId;
use crate::weights::Class;

/// What somebody else expects next, made by [`Head::outside`].
#[derive(Debug, Clone, Default)]
pub struct Outside {
    pub(crate) cached: Cached,
}

impl Outside {
    pub(crate) fn of(weights: impl IntoIterator<Item = (u32, f64)>) -> Self {
        Self {
            cached: Cached::of(weights),
        }
    }

    /// Returns whether it says anything.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        self.cached.is_answer()
    }
}

/// A head's answer at one position, made by [`Head::next`].
///
/// The probability of a symbol w is Σ λₑ · pₑ(w) over the [experts](Expert), added up in their
/// order; all ways to ask for it give the same bits.
#[derive(Debug)]
pub struct NextDistribution<'h> {
    pub(crate) head: &'h Head,
    pub(crate) history: &'h History,
    pub(crate) contexts: Contexts,
    pub(crate) position: Position,
}

impl<'h> NextDistribution<'h> {
    pub(crate) fn new(
        head: &'h Head,
        experts: &[Expert],
        history: &'h History,
        weights: &Weights,
        outside: Option<&Outside>,
    ) -> Self {
        let contexts = Contexts::of(head.trie(), &history.last(head.trie().order() - 1));
        let mut position = Position::default();
        position.set(head, experts, history, &contexts, weights, outside);
        Self {
            head,
            history,
            contexts,
            position,
        }
    }

    /// Returns the class by which the experts are weighed here.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.position.class
    }

    /// Returns how far an expert is trusted here; 0 where it has nothing to say.
    #[must_use]
    pub const fn weight(&self, expert: Expert) -> f64 {
        self.position.weights[expert.place()]
    }

    /// Looks an outcome up in the n-grams.
    pub(crate) fn find(&self, outcome: u32) -> Found {
        self.contexts.find(self.head.trie(), outcome)
    }

    /// Returns the probability that one expert alone gives to an outcome.
    pub(crate) fn of_expert(&self, expert: Expert, outcome: u32) -> f64 {
        let found = self.find(outcome);
        self.position
            .of_expert(self.history, expert, outcome, &found)
    }

    /// Updates the weights by how well each expert foresaw the symbol that came (`None` for one that
    /// the head does not know), and returns the probability that the symbol had. Returns `None`, and
    /// updates nothing, for a symbol that could not come.
    pub fn update_weights(&self, weights: &mut Weights, symbol: Option<SymbolId>) -> Option<f64> {
        let outcome = self.head.outcome(symbol)?;
        let found = self.find(outcome);
        Some(self.position.learn(self.history, weights, outcome, &found))
    }

    /// Returns the probability of a symbol; 0 for one that cannot come next.
    #[must_use]
    pub fn probability(&self, symbol: SymbolId) -> f64 {
        self.of(Some(symbol))
    }

    /// Returns the probability that a symbol comes that the head does not know; 0 where there is a
    /// vocabulary.
    #[must_use]
    pub fn of_unknown(&self) -> f64 {
        self.of(None)
    }

    fn of(&self, symbol: Option<SymbolId>) -> f64 {
        let outcome = self.head.outcome(symbol);
        let of = |outcome| {
            let found = self.find(outcome);
            let contributions = self.position.contributions(self.history, outcome, &found);
            contributions.iter().sum()
        };
        outcome.map_or(0.0, of)
    }

    /// Returns the probabilities of everything that can come next.
    #[must_use]
    pub fn distribution(&self) -> Distribution<'h> {
        let position = &self.position;
        let mut probabilities = vec![0.0; self.head.n_outcomes()];
        let trie = self.head.trie();
        position.kneser_ney.distribution(trie, &mut probabilities);
        let ngrams = position.weights[Expert::Ngrams.place()];
        probabilities.iter_mut().for_each(|p| *p *= ngrams);
        for expert in EXPERTS {
            let weight = position.weights[expert.place()];
            position.each_share(self.history, expert, |symbol, share| {
                if let Some(probability) = probabilities.get_mut(symbol as usize) {
                    *probability += weight * share;
                }
            });
        }
        Distribution::new(probabilities, self.head.symbols())
    }

    /// Explains the probability of a symbol; that of a number of another head that this one lacks is 0.
    ///
    /// The patterns are not named yet: that takes a look at the store, see
    /// [`Head::name_patterns`].
    #[must_use]
    pub fn explain(&self, symbol: SymbolId) -> Explanation {
        explain(self, symbol)
    }
}
