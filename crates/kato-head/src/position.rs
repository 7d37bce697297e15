//! What the experts go by at one position of a history, in memory that the next position uses again.

use crate::Weights;
use crate::contexts::{Contexts, Found};
use crate::head::Head;
use crate::history::{Cached, Followers, History, UNKNOWN, Weighing};
use crate::kneser_ney::KneserNey;
use crate::next::Outside;
use crate::options::{EXPERTS, Expert, N_EXPERTS};
use crate::weights::{Class, digits};

/// What an expert goes by.
#[derive(Debug, Clone, Default)]
enum Opinion {
    /// Nothing: it is not asked, has nothing to say, or is the n-grams.
    #[default]
    None,
    /// All symbols of the history, and their weight.
    All(Weighing, f64),
    /// The recent symbols, each times what the n-grams expect, and their weight.
    Fitting(f64),
    /// What followed so many of the last symbols, and their weight.
    Followed(usize, f64),
    /// Some symbols.
    Some(Cached),
}

impl Opinion {
    /// Returns the weight of all symbols.
    fn total(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::All(_, total) | Self::Fitting(total) | Self::Followed(_, total) => *total,
            Self::Some(cached) => cached.total,
        }
    }
}

/// The model at one position.
#[derive(Debug, Default)]
pub(crate) struct Position {
    pub(crate) kneser_ney: KneserNey,
    pub(crate) followers: Followers,
    /// What the n-grams expect of every recent symbol of the history.
    expected: Vec<f64>,
    /// By expert.
    opinions: [Opinion; N_EXPERTS],
    pub(crate) class: Class,
    pub(crate) weights: [f64; N_EXPERTS],
}

impl Position {
    /// Prepares what all questions about a position have in common; what it was before is forgotten.
    pub(crate) fn set(
        &mut self,
        head: &Head,
        experts: &[Expert],
        history: &History,
        contexts: &Contexts,
        weights: &Weights,
        outside: Option<&Outside>,
    ) {
        let n_outcomes = head.n_outcomes();
        match experts.contains(&Expert::Ngrams) {
            true => self
                .kneser_ney
                .set(head.roots(), contexts, n_outcomes, weights),
            false => self.kneser_ney.set_uniform(n_outcomes),
        }
        history.find_followers(&mut self.followers);
        self.class = class_of(history, &self.followers, &self.kneser_ney);
        for expert in EXPERTS {
            let opinion = match experts.contains(&expert) {
                true => self.opinion(head, expert, history, outside),
                false => Opinion::None,
            };
            let says_something = opinion.total() > 0.0;
            self.opinions[expert.place()] = match says_something {
                true => opinion,
                false => Opinion::None,
            };
            if says_something {
                self.class.add(expert);
            }
        }
        // There is always somebody: without n-grams, all outcomes alike.
        self.class.add(Expert::Ngrams);
        self.weights = weights.of(self.class);
    }

    /// Prepares a position whose only experts are the n-grams.
    pub(crate) fn set_by_ngrams(&mut self, head: &Head, contexts: &Contexts, weights: &Weights) {
        self.kneser_ney
            .set(head.roots(), contexts, head.n_outcomes(), weights);
        self.class = Class::default();
        self.class.add(Expert::Ngrams);
        self.weights = [0.0; N_EXPERTS];
        self.weights[Expert::Ngrams.place()] = 1.0;
    }

    fn opinion(
        &mut self,
        head: &Head,
        expert: Expert,
        history: &History,
        outside: Option<&Outside>,
    ) -> Opinion {
        let followed = |length: usize| {
            // Whole numbers below 2⁵³.
            let n_known = history.n_known(self.followers.after(length));
            Opinion::Followed(length, n_known as f64)
        };
        match expert {
            Expert::Ngrams => Opinion::None,
            Expert::CachedSymbols => {
                Opinion::All(Weighing::Rarity, history.total(Weighing::Rarity))
            }
            Expert::RecentSymbols => {
                Opinion::All(Weighing::Recent, history.total(Weighing::Recent))
            }
            Expert::FittingSymbols => {
                let symbols = history.recent_symbols();
                self.kneser_ney
                    .probabilities(head.trie(), symbols, &mut self.expected);
                Opinion::Fitting(history.recent_product(&self.expected))
            }
            Expert::CachedPairs => followed(1),
            Expert::CachedTriples => followed(2),
            Expert::Outside => outside.map_or(Opinion::None, |outside| {
                Opinion::Some(outside.cached.clone())
            }),
        }
    }

    /// Returns the weight that an expert gives to a symbol, and that of all.
    pub(crate) fn weight(&self, history: &History, expert: Expert, symbol: u32) -> (f64, f64) {
        let opinion = &self.opinions[expert.place()];
        let weight = match opinion {
            Opinion::None => 0.0,
            Opinion::All(weighing, _) => history.weight_of(*weighing, symbol),
            Opinion::Fitting(_) => {
                let place = history.recent_symbols().binary_search(&symbol);
                let by = place.map_or(0.0, |place| self.expected[place]);
                history.weight_times(Weighing::Recent, symbol, by)
            }
            Opinion::Followed(length, _) => {
                history.n_of(self.followers.after(*length), symbol) as f64
            }
            Opinion::Some(cached) => cached.weight(symbol),
        };
        (weight, opinion.total())
    }

    /// Calls a function with every symbol that an expert of the cache, or the one outside, names, and
    /// with its share of the weight, in any order.
    pub(crate) fn each_share(
        &self,
        history: &History,
        expert: Expert,
        mut each: impl FnMut(u32, f64),
    ) {
        let opinion = &self.opinions[expert.place()];
        let total = opinion.total();
        match opinion {
            Opinion::None => {}
            Opinion::All(weighing, _) => {
                history.each_weight(*weighing, |symbol, weight| each(symbol, weight / total));
            }
            Opinion::Fitting(_) => {
                let known = history.recent_symbols().iter().zip(&self.expected);
                for (&symbol, &by) in known.filter(|(symbol, _)| **symbol != UNKNOWN) {
                    let weight = history.weight_times(Weighing::Recent, symbol, by);
                    each(symbol, weight / total);
                }
            }
            Opinion::Followed(length, _) => {
                for (symbol, n) in history.counted(self.followers.after(*length)) {
                    each(symbol, f64::from(n) / total);
                }
            }
            Opinion::Some(cached) => {
                for &(symbol, weight) in &cached.weights {
                    each(symbol, weight / total);
                }
            }
        }
    }

    /// Returns the probability that one expert alone gives to an outcome that was looked up.
    pub(crate) fn of_expert(
        &self,
        history: &History,
        expert: Expert,
        outcome: u32,
        found: &Found,
    ) -> f64 {
        if expert == Expert::Ngrams {
            return self.kneser_ney.probability(found);
        }
        let (weight, total) = self.weight(history, expert, outcome);
        match total > 0.0 {
            true => weight / total,
            false => 0.0,
        }
    }

    /// Returns what every expert contributes to the probability of an outcome that was looked up.
    pub(crate) fn contributions(
        &self,
        history: &History,
        outcome: u32,
        found: &Found,
    ) -> [f64; N_EXPERTS] {
        let mut contributions = [0.0; N_EXPERTS];
        for expert in EXPERTS.into_iter().filter(|&expert| self.class.has(expert)) {
            let place = expert.place();
            contributions[place] =
                self.weights[place] * self.of_expert(history, expert, outcome, found);
        }
        contributions
    }

    /// Updates weights by how well each expert foresaw the outcome that came, and returns the
    /// probability that it had.
    pub(crate) fn learn(
        &self,
        history: &History,
        weights: &mut Weights,
        outcome: u32,
        found: &Found,
    ) -> f64 {
        let contributions = self.contributions(history, outcome, found);
        let orders = self.kneser_ney.gradients(found);
        weights.learn(self.class, &self.weights, &contributions, orders);
        contributions.iter().sum()
    }
}

/// Returns the class of a position, by its history and its n-grams.
fn class_of(history: &History, followers: &Followers, kneser_ney: &KneserNey) -> Class {
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
