//! What comes next after one history: the experts' answers and their mixture.

use std::sync::OnceLock;

use crate::Weights;
use crate::distribution::Distribution;
use crate::explanation::{Explanation, explain};
use crate::head::Head;
use crate::history::{Cached, History, MAX_CACHED, Weighing};
use crate::kneser_ney::KneserNey;
use crate::options::{EXPERTS, Expert, N_EXPERTS};
use crate::symbols::SymbolId;
use crate::weights::{Class, digits};

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

/// What an expert goes by.
#[derive(Debug, Clone, Default)]
pub(crate) enum Opinion {
    /// Nothing: it is not asked, has nothing to say, or is the n-grams.
    #[default]
    None,
    /// All symbols of the history, and their weight.
    All(Weighing, f64),
    /// Some symbols.
    Some(Cached),
}

impl Opinion {
    fn all(history: &History, weighing: Weighing) -> Self {
        let total = history.total(weighing);
        match total > 0.0 {
            true => Self::All(weighing, total),
            false => Self::None,
        }
    }

    fn some(cached: Cached) -> Self {
        match cached.is_answer() {
            true => Self::Some(cached),
            false => Self::None,
        }
    }

    /// Returns the weight of a symbol, and that of all.
    pub(crate) fn weight(&self, history: &History, symbol: u32) -> (f64, f64) {
        match self {
            Self::None => (0.0, 0.0),
            Self::All(weighing, total) => (history.weight_of(*weighing, symbol), *total),
            Self::Some(cached) => (cached.weight(symbol), cached.total),
        }
    }

    /// Calls a function with every symbol and its share of the weight, in any order.
    fn each_share(&self, history: &History, mut each: impl FnMut(u32, f64)) {
        match self {
            Self::None => {}
            Self::All(weighing, total) => {
                history.each_weight(*weighing, |symbol, weight| each(symbol, weight / total));
            }
            Self::Some(cached) => {
                for &(symbol, weight) in &cached.weights {
                    each(symbol, weight / cached.total);
                }
            }
        }
    }
}

/// The n-grams of a position, asked about the symbols of its history.
struct Ngrams<'a> {
    head: &'a Head,
    kneser_ney: &'a KneserNey,
    /// Filled where that is cheaper than asking about one symbol after the other.
    all: &'a OnceLock<Vec<f64>>,
}

/// Outcomes whose probabilities are written in the time in which one is looked up.
const WRITTEN: usize = 1024;

impl Ngrams<'_> {
    /// Weighs the symbols of the recent cache by how far the n-grams expect them.
    fn fitting(&self, history: &History) -> Cached {
        let recent: Vec<(u32, f64)> = history.recent().collect();
        let is_much = recent.len() * WRITTEN > self.head.n_outcomes();
        if is_much {
            self.all
                .get_or_init(|| all_by_ngrams(self.head, self.kneser_ney));
        }
        let expected = |symbol: u32| match self.all.get() {
            // The same bits either way.
            Some(all) => all.get(symbol as usize).copied().unwrap_or(0.0),
            None => self.kneser_ney.probability(self.head.trie(), symbol),
        };
        let fitting = |&(symbol, weight): &(u32, f64)| (symbol, weight * expected(symbol));
        Cached::of(recent.iter().map(fitting))
    }
}

/// Returns the probability of every outcome by the n-grams.
fn all_by_ngrams(head: &Head, kneser_ney: &KneserNey) -> Vec<f64> {
    let mut probabilities = vec![0.0; head.n_outcomes()];
    kneser_ney.distribution(head.trie(), &mut probabilities);
    probabilities
}

/// Returns the class of a position, by its history and its n-grams.
fn class_of(
    history: &History,
    followers: &[Vec<u64>; MAX_CACHED],
    kneser_ney: &KneserNey,
) -> Class {
    let mut class = Class::of(history, followers);
    if let Some(order) = kneser_ney.last() {
        // All of these are below 256.
        class.ngram_context = order.length.min(7) as u8;
        class.ngram_count = digits(order.total).min(12);
        let share = 1.0 - order.left_over;
        let eighths = (1u8..8).filter(|&eighths| f64::from(eighths) / 8.0 <= share);
        class.ngram_share = eighths.count() as u8;
    }
    class
}

/// A head's answer at one position, made by [`Head::next`].
///
/// The probability of a symbol w is Σ λₑ · pₑ(w) over the [experts](Expert), added up in their
/// order; all ways to ask for it give the same bits.
#[derive(Debug)]
pub struct NextDistribution<'h> {
    pub(crate) head: &'h Head,
    pub(crate) history: &'h History,
    pub(crate) kneser_ney: KneserNey,
    /// The n-grams' probability of every outcome, if that was needed.
    by_ngrams: OnceLock<Vec<f64>>,
    /// By expert.
    pub(crate) opinions: [Opinion; N_EXPERTS],
    pub(crate) class: Class,
    pub(crate) weights: [f64; N_EXPERTS],
}

impl<'h> NextDistribution<'h> {
    pub(crate) fn new(
        head: &'h Head,
        experts: &[Expert],
        history: &'h History,
        weights: &Weights,
        outside: Option<&Outside>,
    ) -> Self {
        let is_asked = |expert| experts.contains(&expert);
        let n_outcomes = head.n_outcomes();
        let kneser_ney = match is_asked(Expert::Ngrams) {
            true => KneserNey::after(
                head.trie(),
                head.roots(),
                &history.last(head.trie().order() - 1),
                n_outcomes,
                head.options().discounts,
                weights,
            ),
            false => KneserNey::uniform(n_outcomes),
        };
        let followers: [Vec<u64>; MAX_CACHED] = [1, 2, 3].map(|length| history.followers(length));
        let mut class = class_of(history, &followers, &kneser_ney);
        let by_ngrams = OnceLock::new();
        let mut opinions: [Opinion; N_EXPERTS] = Default::default();
        for expert in EXPERTS.into_iter().filter(|&expert| is_asked(expert)) {
            let opinion = match expert {
                Expert::Ngrams => continue,
                Expert::CachedSymbols => Opinion::all(history, Weighing::Rarity),
                Expert::RecentSymbols => Opinion::all(history, Weighing::Recent),
                Expert::FittingSymbols => {
                    let ngrams = Ngrams {
                        head,
                        kneser_ney: &kneser_ney,
                        all: &by_ngrams,
                    };
                    Opinion::some(ngrams.fitting(history))
                }
                Expert::CachedPairs => Opinion::some(history.counted(&followers[0])),
                Expert::CachedTriples => Opinion::some(history.counted(&followers[1])),
                Expert::Outside => {
                    Opinion::some(outside.map(|o| o.cached.clone()).unwrap_or_default())
                }
            };
            if !matches!(opinion, Opinion::None) {
                class.add(expert);
                opinions[expert.place()] = opinion;
            }
        }
        // There is always somebody: without n-grams, all outcomes alike.
        class.add(Expert::Ngrams);
        Self {
            head,
            history,
            kneser_ney,
            opinions,
            by_ngrams,
            weights: weights.of(class),
            class,
        }
    }

    /// Returns the class by which the experts are weighed here.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.class
    }

    /// Returns how far an expert is trusted here; 0 where it has nothing to say.
    #[must_use]
    pub const fn weight(&self, expert: Expert) -> f64 {
        self.weights[expert.place()]
    }

    /// Returns what every expert contributes to the probability of an outcome.
    pub(crate) fn contributions(&self, outcome: u32) -> [f64; N_EXPERTS] {
        let mut contributions = [0.0; N_EXPERTS];
        for expert in EXPERTS {
            let place = expert.place();
            contributions[place] = self.weights[place] * self.of_expert(expert, outcome);
        }
        contributions
    }

    /// Returns the probability that one expert alone gives to an outcome.
    pub(crate) fn of_expert(&self, expert: Expert, outcome: u32) -> f64 {
        if expert == Expert::Ngrams {
            return self.kneser_ney.probability(self.head.trie(), outcome);
        }
        let (weight, total) = self.opinions[expert.place()].weight(self.history, outcome);
        match total > 0.0 {
            true => weight / total,
            false => 0.0,
        }
    }

    /// Updates the weights by how well each expert foresaw the symbol that came (`None` for one that
    /// the head does not know), and returns the probability that the symbol had. Returns `None`, and
    /// updates nothing, for a symbol that could not come.
    pub fn update_weights(&self, weights: &mut Weights, symbol: Option<SymbolId>) -> Option<f64> {
        let outcome = self.head.outcome(symbol)?;
        let contributions = self.contributions(outcome);
        let orders = self.kneser_ney.gradients(self.head.trie(), outcome);
        weights.learn(self.class, &self.weights, &contributions, orders);
        Some(contributions.iter().sum())
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
        outcome.map_or(0.0, |outcome| self.contributions(outcome).iter().sum())
    }

    /// Returns the probability that one expert alone gives to a symbol, whatever its weight.
    #[must_use]
    pub fn probability_by(&self, expert: Expert, symbol: SymbolId) -> f64 {
        let outcome = self.head.outcome(Some(symbol));
        outcome.map_or(0.0, |outcome| self.of_expert(expert, outcome))
    }

    /// Returns the probabilities of everything that can come next.
    #[must_use]
    pub fn distribution(&self) -> Distribution<'h> {
        let mut probabilities = match self.by_ngrams.get() {
            Some(known) => known.clone(),
            None => all_by_ngrams(self.head, &self.kneser_ney),
        };
        let ngrams = self.weights[Expert::Ngrams.place()];
        probabilities.iter_mut().for_each(|p| *p *= ngrams);
        for (opinion, weight) in self.opinions.iter().zip(self.weights) {
            opinion.each_share(self.history, |symbol, share| {
                if let Some(probability) = probabilities.get_mut(symbol as usize) {
                    *probability += weight * share;
                }
            });
        }
        Distribution::new(probabilities, self.head.symbols())
    }

    /// Explains the probability of a symbol; that of a symbol of another head is 0.
    ///
    /// The patterns are not named yet: that takes a look at the store, see
    /// [`Head::name_patterns`].
    #[must_use]
    pub fn explain(&self, symbol: SymbolId) -> Explanation {
        explain(self, symbol)
    }
}
