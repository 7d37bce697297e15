//! Interpolated Kneser-Ney over a tree of n-grams, as sums whose terms can be shown.
//!
//! With the last `l` symbols as context, an order contributes aₗ(w) = tₗ (c(w) − D(c(w))) / Σ c and
//! leaves the share γₗ to the order below. Discounts alone leave gₗ = Σ D(c) / Σ c; γₗ is what the
//! weights have learned about contexts like this one (before they have gₗ, or what makes tₗ 0.3 of
//! occurrences after contexts that are not the longest), and the trust tₗ = (1 − γₗ) / (1 − gₗ) takes
//! up the difference. The recursion pₗ = aₗ + γₗ pₗ₋₁, written out, is
//! the sum that is computed here:
//!
//! p(w) = γ₀ … γ_L / V + Σₗ γₗ₊₁ … γ_L · aₗ(w)
//!
//! The longest context that the history allows uses counts of occurrences, the others the number of
//! distinct symbols to the left (Kneser and Ney 1995; interpolated as by Chen and Goodman 1998).
//!
//! A pattern cuts n-grams off at its left end, so that fewer have a symbol to the left than occur:
//! of five in chunks of five tokens one of those of four symbols. Therefore each shorter context
//! but the empty one is asked once more, above its distinct symbols, for its occurrences.

mod order;
mod roots;

pub(crate) use self::order::Order;
pub(crate) use self::roots::Roots;
use crate::Weights;
use crate::contexts::{Contexts, Found};
use crate::trie::{NgramCounts, Trie};
use crate::weights::OrderClass;

/// The model after one context.
#[derive(Debug, Clone, Default)]
pub(crate) struct KneserNey {
    /// From the empty context on; only those that were seen. Occurrences after distinct symbols.
    pub(crate) orders: Vec<Order>,
    /// γ₀ … γ_L / V.
    pub(crate) uniform: f64,
}

impl KneserNey {
    /// Prepares the model for what follows contexts; `n_outcomes` is V. What the model was before is
    /// forgotten.
    pub(crate) fn set(
        &mut self,
        roots: &Roots,
        contexts: &Contexts,
        n_outcomes: usize,
        weights: &Weights,
    ) {
        let longest = contexts.longest;
        let root = match longest {
            0 => roots.occurrences,
            _ => roots.continuations,
        };
        let orders = &mut self.orders;
        orders.clear();
        orders.extend((root.total > 0).then_some(root));
        for length in 1..=longest {
            let Some(id) = contexts.ids[length] else {
                // What never occurred is followed by nothing, and neither is a longer context.
                break;
            };
            let (sums, discounts) = (&contexts.sums[length], &roots.discounts[length]);
            let [before, occurrences] = Order::both(sums, id, length, discounts);
            let asked = [(before, length < longest), (occurrences, true)];
            // A context that only ever ended a pattern, or began all that hold it, says nothing.
            let saying = asked
                .into_iter()
                .filter(|(order, is_asked)| *is_asked && order.total > 0);
            orders.extend(saying.map(|(order, _)| order));
        }
        let last = orders.len().saturating_sub(1);
        for (idx, order) in orders.iter_mut().enumerate() {
            order.weigh(weights, order.length == longest, idx == last);
        }
        self.join(n_outcomes);
    }

    /// Makes it the model that gives all outcomes the same probability.
    pub(crate) fn set_uniform(&mut self, n_outcomes: usize) {
        self.orders.clear();
        self.join(n_outcomes);
    }

    /// Joins the orders, from the empty context on.
    fn join(&mut self, n_outcomes: usize) {
        let mut reached = 1.0;
        for order in self.orders.iter_mut().rev() {
            order.reached = reached;
            order.scale = reached * order.trust / order.total as f64;
            reached *= order.left_over;
        }
        self.uniform = reached * (1.0 / n_outcomes.max(1) as f64);
    }

    /// Creates the model of orders, from the empty context on.
    fn joined(orders: Vec<Order>, n_outcomes: usize) -> Self {
        let mut model = Self {
            orders,
            uniform: 0.0,
        };
        model.join(n_outcomes);
        model
    }

    /// Returns how often a symbol that was looked up was counted after each of the orders' contexts.
    pub(crate) fn counts(&self, found: &Found) -> impl Iterator<Item = (&Order, u32)> {
        self.orders.iter().map(|order| {
            let ngram = found.ngrams[order.length];
            (order, ngram.map_or(0, |ngram| order.value(ngram)))
        })
    }

    /// Returns the probability of a symbol that was looked up.
    pub(crate) fn probability(&self, found: &Found) -> f64 {
        self.probability_of(|length| found.ngrams[length])
    }

    /// Returns the probability of a symbol, given what n-gram it makes of the context of each length.
    fn probability_of(&self, ngram: impl Fn(usize) -> Option<NgramCounts>) -> f64 {
        let mut probability = self.uniform;
        for order in &self.orders {
            let count = ngram(order.length).map_or(0, |ngram| order.value(ngram));
            // Adding nothing is left out in a distribution as well.
            if count > 0 {
                probability += order.term(count);
            }
        }
        probability
    }

    /// Writes the probabilities of some symbols, ascending; the bits are those of
    /// [`probability`](Self::probability).
    pub(crate) fn probabilities(&self, trie: &Trie, symbols: &[u32], probabilities: &mut Vec<f64>) {
        probabilities.clear();
        probabilities.resize(symbols.len(), self.uniform);
        for orders in self.orders.chunk_by(Order::is_of_context) {
            let Some(first) = orders.first() else {
                continue;
            };
            trie.followers_among(first.length, first.context, symbols, |place, ngram| {
                for order in orders {
                    let count = order.value(ngram);
                    if count > 0 {
                        probabilities[place] += order.term(count);
                    }
                }
            });
        }
    }

    /// Writes the probability of every outcome; the bits are those of
    /// [`probability`](Self::probability).
    pub(crate) fn distribution(&self, trie: &Trie, probabilities: &mut [f64]) {
        probabilities.fill(self.uniform);
        for orders in self.orders.chunk_by(Order::is_of_context) {
            let Some(first) = orders.first() else {
                continue;
            };
            trie.followers(first.length, first.context, |ngram| {
                let Some(probability) = probabilities.get_mut(ngram.symbol as usize) else {
                    return;
                };
                for order in orders {
                    let count = order.value(ngram);
                    if count > 0 {
                        *probability += order.term(count);
                    }
                }
            });
        }
    }

    /// Returns what follows the contexts but the empty one, by symbol, with the orders of each context.
    pub(crate) fn followed(&self, trie: &Trie) -> Vec<(&[Order], Vec<NgramCounts>)> {
        let of_contexts = self.orders.chunk_by(Order::is_of_context);
        let followed = of_contexts.filter_map(|orders| {
            let order = orders.first().filter(|order| order.length > 0)?;
            let mut all = Vec::new();
            trie.followers(order.length, order.context, |ngram| all.push(ngram));
            // What was counted later comes behind.
            if !all.is_sorted_by_key(|ngram| ngram.symbol) {
                all.sort_unstable_by_key(|ngram| ngram.symbol);
            }
            Some((orders, all))
        });
        followed.collect()
    }

    /// Returns of every order its class and, for a symbol that came, the derivative of its
    /// probability by the logarithm of the odds of γₗ.
    ///
    /// Of what reaches an order, Rₗ = reached · pₗ, the part Bₗ comes from below. As Bₗ is in
    /// proportion to γₗ and the rest to 1 − γₗ, the derivative is Bₗ − γₗ Rₗ.
    pub(crate) fn gradients(&self, found: &Found) -> impl Iterator<Item = (OrderClass, f64)> {
        let mut below = self.uniform;
        let gradient = move |(order, count): (&Order, u32)| {
            let term = if count > 0 { order.term(count) } else { 0.0 };
            let gradient = below - order.left_over * (below + term);
            below += term;
            (order.class, gradient)
        };
        self.counts(found).map(gradient)
    }

    /// Returns the longest context that was seen, if any.
    pub(crate) fn last(&self) -> Option<&Order> {
        self.orders.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Discounts;

    #[test]
    fn gradients_are_those_of_small_steps() {
        let mut trie = Trie::new(3);
        for run in [[1, 2, 3, 1, 2, 4, 2, 3], [2, 2, 3, 1, 4, 4, 1, 2]] {
            for start in 0..run.len() {
                trie.count(&run[start..run.len().min(start + 3)], 0, 1)
                    .unwrap();
            }
        }
        let roots = Roots::of(&trie, 6, Discounts::Single);
        let contexts = Contexts::of(&trie, &[1, 2]);
        let mut model = KneserNey::default();
        model.set(&roots, &contexts, 6, &Weights::new());
        assert_eq!(model.orders.len(), 4);
        let mut all = Vec::new();
        model.probabilities(&trie, &[0, 1, 2, 3, 4, 5], &mut all);
        for symbol in 0..6 {
            let found = contexts.find(&trie, symbol);
            let before = model.probability(&found);
            assert_eq!(before, all[symbol as usize]);
            for (idx, (_, gradient)) in model.gradients(&found).enumerate() {
                let step = 1e-6;
                let mut orders = model.orders.clone();
                let order = &mut orders[idx];
                let odds = order.left_over / (1.0 - order.left_over) * libm::exp(step);
                order.left_over = odds / (1.0 + odds);
                order.trust = (1.0 - order.left_over) / (1.0 - order.held_back);
                let after = KneserNey::joined(orders, 6).probability(&found);
                let found = (after - before) / step;
                assert!(
                    (found - gradient).abs() < 1e-5,
                    "{symbol} {idx}: {found} {gradient}"
                );
            }
        }
    }
}
