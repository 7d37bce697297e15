//! How far each expert is trusted, by what is known before a symbol comes.

mod class;
mod orders;
mod table;

use serde::{Deserialize, Serialize};

pub use self::class::Class;
pub(crate) use self::orders::OrderClass;
use self::orders::Orders;
use self::table::Table;
use crate::options::{EXPERTS, Expert, N_EXPERTS};

/// How far a head trusts its experts, and the counts behind its n-grams, learned from symbols that
/// came.
///
/// Every position has facts: which experts have anything to say, how long a context the history
/// holds and how often and how variously it was followed there, how long a context the n-grams hold
/// and how much was counted after it, how much was read. Each fact adds its part to the logarithm
/// of an expert's weight:
///
/// λₑ ∝ λₑ⁰ · exp Σ θ(fact, e)
///
/// In the same way the odds of the share that an order of the n-grams leaves to shorter contexts
/// are those that it begins with, times exp Σ θ(fact) for how much and how variously its context was
/// followed. After every symbol, each θ of its position takes a step up the gradient of the symbol's
/// log-probability, the smaller the more it has learned (AdaGrad).
///
/// A new value has θ = 0: it trusts the experts as they proved right on held-out text, and the
/// counts as their discounts say, occurrences after contexts that are not the longest 0.3 times as
/// much; see [`Head::learn_weights`](crate::Head::learn_weights). Equal
/// symbols in equal order give equal weights, to the last bit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    n_learned: u64,
    /// By fact of the position.
    experts: Table<[Theta; N_EXPERTS]>,
    /// By fact of a context.
    orders: Orders,
}

/// One learned number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Theta {
    value: f64,
    /// Sum of the squares of all gradients.
    squares: f64,
}

/// How far the experts are trusted before anything was learned, in the order of the experts: about
/// the shares that they had on held-out documents of WikiText-2's validation part.
const FIRST: [f64; N_EXPERTS] = [0.80, 0.02, 0.03, 0.04, 0.08, 0.08, 0.05];

/// Length of the steps that the trust in experts takes.
const EXPERT_STEP: f64 = 0.3;

/// Length of the steps that the trust in an order of the n-grams takes.
const ORDER_STEP: f64 = 0.1;

/// Furthest that one number can get from 0; far beyond what is ever learned, and small enough that
/// sums of them have an exponential.
const MOST: f64 = 20.0;

/// Returns the number of binary digits.
pub(crate) fn digits(n: u64) -> u8 {
    (u64::BITS - n.leading_zeros()) as u8
}

impl Theta {
    /// Takes a step up a gradient.
    fn climb(&mut self, gradient: f64, step: f64) {
        Self::climb_all(std::array::from_mut(self), gradient, step);
    }

    /// Takes a step up a gradient with each: the roots and quotients of all at once, for which one after the other
    /// would wait.
    #[inline]
    fn climb_all<const N: usize>(thetas: &mut [Self; N], gradient: f64, step: f64) {
        let squares = thetas
            .each_ref()
            .map(|theta| theta.squares + gradient * gradient);
        let steps = squares.map(|squares| step / (1.0 + squares).sqrt());
        for ((theta, squares), step) in thetas.iter_mut().zip(squares).zip(steps) {
            theta.squares = squares;
            theta.value = (theta.value + step * gradient).clamp(-MOST, MOST);
        }
    }
}

impl Weights {
    /// Creates weights that have learned nothing from any text of the caller's.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of symbols that the weights were learned from.
    #[must_use]
    pub const fn n_learned(&self) -> u64 {
        self.n_learned
    }

    /// Returns the weight of every expert, by place; those without anything to say have none, and
    /// all together 1.
    pub(crate) fn of(&self, class: Class) -> [f64; N_EXPERTS] {
        let mut sums = [0.0; N_EXPERTS];
        let facts = class.facts();
        for thetas in facts.iter().filter_map(|&key| self.experts.get(key)) {
            for (sum, theta) in sums.iter_mut().zip(thetas) {
                *sum += theta.value;
            }
        }
        let said = || EXPERTS.into_iter().filter(|&expert| class.has(expert));
        // The greatest is taken off all, so that no exponential is too large.
        let greatest = said().map(|expert| sums[expert.place()]);
        let greatest = greatest.fold(f64::NEG_INFINITY, f64::max);
        let mut weights = [0.0; N_EXPERTS];
        for place in said().map(Expert::place) {
            weights[place] = FIRST[place] * libm::exp(sums[place] - greatest);
        }
        let total: f64 = weights.iter().sum();
        if total > 0.0 {
            weights.iter_mut().for_each(|weight| *weight /= total);
        }
        weights
    }

    /// Returns the share that an order leaves to shorter contexts, given what its discounts leave
    /// to them, strictly between 0 and 1.
    pub(crate) fn left_over(&self, class: OrderClass, by_discounts: f64) -> f64 {
        let sum = self.orders.sum(class);
        if sum == 0.0 {
            return by_discounts;
        }
        let odds = by_discounts / (1.0 - by_discounts) * libm::exp(sum);
        // Neither an order nor those below it ever say nothing at all.
        (odds / (1.0 + odds)).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE)
    }

    /// Learns from a symbol that came, to which each expert contributed this much probability.
    /// `orders` are the orders of the n-grams with the gradient of the n-grams' probability.
    pub(crate) fn learn(
        &mut self,
        class: Class,
        weights: &[f64; N_EXPERTS],
        contributions: &[f64; N_EXPERTS],
        orders: impl IntoIterator<Item = (OrderClass, f64)>,
    ) {
        let total: f64 = contributions.iter().sum();
        // A symbol that was impossible says nothing about who was right.
        if total <= 0.0 || !total.is_finite() {
            return;
        }
        self.n_learned += 1;
        let gradients: [f64; N_EXPERTS] =
            std::array::from_fn(|place| contributions[place] / total - weights[place]);
        let is_taught = |place: usize| weights[place] > 0.0 && gradients[place].is_finite();
        // One who speaks alone is never wrong about himself.
        if (0..N_EXPERTS).any(|place| is_taught(place) && gradients[place] != 0.0) {
            for key in class.facts() {
                let thetas = self.experts.entry(key);
                for place in (0..N_EXPERTS).filter(|&place| is_taught(place)) {
                    thetas[place].climb(gradients[place], EXPERT_STEP);
                }
            }
        }
        for (class, gradient) in orders {
            let gradient = weights[Expert::Ngrams.place()] * gradient / total;
            if gradient.is_finite() {
                self.orders.climb(class, gradient, ORDER_STEP);
            }
        }
    }
}

/// The least that an order says itself, and the least that it leaves to shorter contexts, once that
/// is learned.
const LEAST_SHARE: f64 = 1e-6;

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
            let of = weights.of(seen);
            weights.learn(seen, &of, &[0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0], []);
        }
        let after = weights.of(seen);
        assert!(before[0] > 0.5 && after[1] > 0.95, "{before:?} {after:?}");
        // A position that has other facts as well goes by those that it shares.
        assert!(weights.of(class(0b11, 0, 3))[1] > 0.5);
        // Whoever has nothing to say has no weight.
        assert_eq!(weights.of(class(0b101, 0, 2))[1], 0.0);
        assert_eq!(weights.n_learned(), 500);
    }

    #[test]
    fn where_nobody_has_anything_to_say_nobody_has_weight() {
        assert_eq!(Weights::new().of(class(0, 0, 0)), [0.0; N_EXPERTS]);
    }

    #[test]
    fn trust_in_an_order_follows_what_came() {
        let mut weights = Weights::new();
        let order = OrderClass::of(2, true, true, 9, 4);
        assert_eq!(weights.left_over(order, 0.3), 0.3);
        let mut learn = |left_over: f64| {
            for _ in 0..300 {
                // Everything came from shorter contexts, or nothing.
                let gradient = left_over - weights.left_over(order, 0.3);
                let alone = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
                weights.learn(class(1, 0, 0), &alone, &alone, [(order, gradient)]);
            }
            weights.left_over(order, 0.3)
        };
        assert!(learn(1.0) > 0.9);
        assert!(learn(0.0) < 0.3);
        // Other contexts are another matter.
        assert_eq!(
            weights.left_over(OrderClass::of(1, true, true, 9, 4), 0.3),
            0.3
        );
    }

    proptest! {
        #[test]
        fn weights_sum_to_one_and_survive_being_stored(
            steps in prop::collection::vec((1..128u8, 0..4u8, prop::array::uniform7(0.0..1.0f64)), 0..50),
            asked in (1..128u8, 0..4u8),
        ) {
            let mut weights = Weights::new();
            for (experts, cached, mut contributions) in steps {
                let class = class(experts, cached, 1);
                let of = weights.of(class);
                for (contribution, weight) in contributions.iter_mut().zip(of) {
                    *contribution *= weight;
                }
                weights.learn(class, &of, &contributions, []);
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
