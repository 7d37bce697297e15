//! How far each expert is trusted, by what is known before a symbol comes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::history::{History, MAX_CACHED};
use crate::options::{EXPERTS, Expert, N_EXPERTS};

/// How far a head trusts its experts, learned from symbols that came.
///
/// Every position has a class: which experts have anything to say, how long a context the history
/// holds and how often and how variously it was followed there, how long a context the n-grams
/// hold, how much was read. A class of few symbols goes by a coarser one: its weights are
/// λₑ = (k · λₑ′ + Σ rₑ) / (k + n) after n symbols, with those of the coarser class λₑ′, k = 20 and
/// rₑ = λₑ pₑ / Σ λ p, the share of the expert in the probability of each of these symbols.
///
/// A new value trusts the experts as they proved right on held-out text; see
/// [`Head::learn_weights`](crate::Head::learn_weights). Equal symbols in equal order give equal
/// weights, to the last bit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// By the key of the class, beginning with how fine it is.
    cells: BTreeMap<u64, Cell>,
}

/// What was learned about one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Cell {
    n: u64,
    shares: [f64; N_EXPERTS],
}

/// The facts that decide how far experts are trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Class {
    /// Experts that have something to say, as bits in the order of [`Expert`].
    #[serde(skip)]
    pub(crate) experts: u8,
    /// Longest context, in symbols and at most 3, that the history held before and that was
    /// followed by something.
    pub cached_context: u8,
    /// How often it was: 0, 1, 2–3, 4–7, 8–15 or more, numbered from 0.
    pub cached_followers: u8,
    /// By how many different symbols: 0, 1, 2–3 or more, numbered from 0.
    pub cached_variety: u8,
    /// Longest context that the n-grams hold, at most 7.
    pub ngram_context: u8,
    /// Binary digits of the number of symbols in the history.
    pub history: u8,
}

/// Symbols' worth of trust in a coarser class.
const TRUST: f64 = 20.0;

/// Symbols' worth of trust in what held-out text taught.
const FIRST_TRUST: f64 = 40.0;

/// How far the experts are trusted before anything was learned, in the order of the experts: about
/// the shares that they had on held-out documents of WikiText-2's validation part.
const FIRST: [f64; N_EXPERTS] = [0.80, 0.02, 0.03, 0.08, 0.08, 0.05];

impl Class {
    /// Returns the keys of the class and of the coarser ones, the coarsest first.
    fn keys(self) -> [u64; 5] {
        let cached = u64::from(self.cached_context);
        let followers = u64::from(self.cached_followers);
        let followed = followers * 4 + u64::from(self.cached_variety);
        let (ngram, history) = (u64::from(self.ngram_context), u64::from(self.history));
        let key = |fine: u64, cached: u64, followed: u64, ngram: u64, history: u64| {
            let facts = (cached << 24) | (followed << 16) | (ngram << 8) | history;
            fine << 56 | u64::from(self.experts) << 48 | facts
        };
        [
            key(0, 0, 0, 0, 0),
            key(1, cached, 0, 0, 0),
            key(2, cached, followed, 0, 0),
            key(3, cached, followed, ngram, 0),
            key(4, cached, followed, ngram, history),
        ]
    }

    /// Sums up what is known at a position: the places of the history that followed its last one,
    /// two and three symbols before, and the longest context of the n-grams.
    pub(crate) fn of(
        history: &History,
        followers: &[Vec<u64>; MAX_CACHED],
        ngram_context: usize,
    ) -> Self {
        let cached_context = followers
            .iter()
            .take_while(|found| !found.is_empty())
            .count();
        let found = match cached_context.checked_sub(1) {
            Some(longest) => &followers[longest][..],
            None => &[],
        };
        let variety = history.counted(found).weights.len();
        // All of these are below 256.
        Self {
            experts: 0,
            cached_context: cached_context as u8,
            cached_followers: digits(found.len()).min(5),
            cached_variety: digits(variety).min(3),
            ngram_context: ngram_context.min(7) as u8,
            history: digits(history.len()),
        }
    }

    /// Adds an expert that has something to say.
    pub(crate) fn add(&mut self, expert: Expert) {
        self.experts |= 1 << expert.place();
    }

    /// Returns whether an expert has something to say.
    pub(crate) fn has(self, expert: Expert) -> bool {
        self.experts & (1 << expert.place()) != 0
    }
}

/// Returns the number of binary digits.
fn digits(n: usize) -> u8 {
    (usize::BITS - n.leading_zeros()) as u8
}

impl Weights {
    /// Creates weights that have learned nothing from any text of the caller's.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of symbols that the weights were learned from.
    #[must_use]
    pub fn n_learned(&self) -> u64 {
        let coarsest = self.cells.range(..1 << 56);
        coarsest.map(|(_, cell)| cell.n).sum()
    }

    /// Returns the weight of every expert, by place; those without anything to say have none, and
    /// all together 1.
    pub(crate) fn of(&self, class: Class) -> [f64; N_EXPERTS] {
        let mut weights = [0.0; N_EXPERTS];
        for expert in EXPERTS.into_iter().filter(|&expert| class.has(expert)) {
            weights[expert.place()] = FIRST[expert.place()];
        }
        let total: f64 = weights.iter().sum();
        if total > 0.0 {
            weights.iter_mut().for_each(|weight| *weight /= total);
        }
        for (fine, key) in class.keys().iter().enumerate() {
            // Without the coarser class there is no finer one either.
            let Some(cell) = self.cells.get(key) else {
                break;
            };
            let trust = if fine == 0 { FIRST_TRUST } else { TRUST };
            for (weight, share) in weights.iter_mut().zip(cell.shares) {
                *weight = (trust * *weight + share) / (trust + cell.n as f64);
            }
        }
        weights
    }

    /// Learns from a symbol that came, to which each expert contributed this much probability.
    pub(crate) fn learn(&mut self, class: Class, contributions: &[f64; N_EXPERTS]) {
        let total: f64 = contributions.iter().sum();
        // A symbol that was impossible says nothing about who was right.
        if total <= 0.0 || !total.is_finite() {
            return;
        }
        for key in class.keys() {
            let cell = self.cells.entry(key).or_default();
            cell.n += 1;
            for (share, contribution) in cell.shares.iter_mut().zip(contributions) {
                *share += contribution / total;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn class(experts: u8, cached_context: u8, ngram_context: u8) -> Class {
        Class {
            experts,
            cached_context,
            ngram_context,
            ..Class::default()
        }
    }

    #[test]
    fn trust_follows_who_was_right() {
        let (mut weights, seen) = (Weights::new(), class(0b11, 0, 2));
        let before = weights.of(seen);
        for _ in 0..500 {
            weights.learn(seen, &[0.0, 0.5, 0.0, 0.0, 0.0, 0.0]);
        }
        let after = weights.of(seen);
        assert!(before[0] > 0.5 && after[1] > 0.99, "{before:?} {after:?}");
        // A class that was never seen goes by the coarser ones.
        assert!(weights.of(class(0b11, 0, 3))[1] > 0.9);
        // Experts that say something else are another matter.
        assert_eq!(weights.of(class(0b101, 0, 2))[1], 0.0);
        assert_eq!(weights.n_learned(), 500);
    }

    proptest! {
        #[test]
        fn weights_sum_to_one_and_survive_being_stored(
            steps in prop::collection::vec((1..64u8, 0..4u8, prop::array::uniform6(0.0..1.0f64)), 0..50),
            asked in (1..64u8, 0..4u8),
        ) {
            let mut weights = Weights::new();
            for (experts, cached, mut contributions) in steps {
                let class = class(experts, cached, 1);
                for expert in EXPERTS {
                    if !class.has(expert) {
                        contributions[expert.place()] = 0.0;
                    }
                }
                weights.learn(class, &contributions);
            }
            let stored = serde_json::to_string(&weights).unwrap();
            let read: Weights = serde_json::from_str(&stored).unwrap();
            let class = class(asked.0, asked.1, 1);
            let of = weights.of(class);
            prop_assert!((of.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            for expert in EXPERTS {
                prop_assert_eq!(class.has(expert), of[expert.place()] > 0.0);
            }
            prop_assert_eq!(read.of(class), of);
        }
    }
}
