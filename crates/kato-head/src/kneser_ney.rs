//! Interpolated Kneser-Ney over a tree of n-grams, as sums whose terms can be shown.
//!
//! With the last `l` symbols as context, an order contributes aₗ(w) = tₗ (c(w) − D(c(w))) / Σ c and
//! leaves the share γₗ to the order below. Discounts alone leave gₗ = Σ D(c) / Σ c; γₗ is what the
//! weights have learned about contexts like this one, gₗ before they have, and the trust
//! tₗ = (1 − γₗ) / (1 − gₗ) takes up the difference. The recursion pₗ = aₗ + γₗ pₗ₋₁, written out, is
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

use std::sync::OnceLock;

use crate::Weights;
use crate::best::sort_by_frequency;
use crate::options::Discounts;
use crate::options::MAX_ORDER;
use crate::symbols::Symbols;
use crate::trie::{NgramCounts, ROOT, Spectrum, Sums, Trie};
use crate::weights::OrderClass;

/// What one order says after one context, whatever the symbol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Order {
    /// Symbols of the context.
    pub(crate) length: usize,
    context: u32,
    /// Whether occurrences are counted, or else distinct symbols to the left.
    pub(crate) counts_occurrences: bool,
    /// Σ c.
    pub(crate) total: u64,
    /// Symbols that follow the context.
    pub(crate) distinct: u64,
    /// D(1), D(2), and D of all greater counts.
    pub(crate) discounts: [f64; 3],
    /// gₗ.
    held_back: f64,
    /// γₗ.
    pub(crate) left_over: f64,
    /// tₗ.
    pub(crate) trust: f64,
    /// γₗ₊₁ … γ_L: what the longer contexts leave to this one.
    pub(crate) reached: f64,
    /// `reached` · `trust` / Σ c.
    scale: f64,
    class: OrderClass,
}

/// The contexts that the last symbols of a history are, by length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contexts {
    /// Their ids; `None` where the n-grams hold no such context.
    ids: [Option<u32>; MAX_ORDER],
    /// Symbols of the longest that the history allows.
    longest: usize,
}

/// The n-grams that a symbol makes of the contexts before it, by length of the context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    ids: [Option<u32>; MAX_ORDER],
    ngrams: [Option<NgramCounts>; MAX_ORDER],
}

impl Contexts {
    /// Finds the contexts at the end of some symbols.
    pub(crate) fn of(trie: &Trie, symbols: &[u32]) -> Self {
        let longest = symbols.len().min(trie.order() - 1);
        let mut contexts = Self {
            ids: [None; MAX_ORDER],
            longest,
        };
        for (length, id) in contexts.ids.iter_mut().enumerate().take(longest + 1) {
            *id = trie.context(&symbols[symbols.len() - length..]);
        }
        contexts
    }

    /// Looks a symbol up after all contexts.
    pub(crate) fn find(&self, trie: &Trie, symbol: u32) -> Found {
        let mut found = Found {
            ids: [None; MAX_ORDER],
            ngrams: [None; MAX_ORDER],
        };
        for (length, context) in self.ids.iter().enumerate().take(self.longest + 1) {
            let id = context.and_then(|context| trie.follower(length, context, symbol));
            found.ids[length] = id;
            found.ngrams[length] = id.map(|id| trie.ngram(length + 1, id, symbol));
        }
        found
    }

    /// Returns the contexts after the symbol that was looked up, in a history that keeps at most so
    /// many symbols.
    pub(crate) fn after(&self, trie: &Trie, found: &Found, kept: usize) -> Self {
        let longest = (self.longest + 1).min(trie.order() - 1).min(kept);
        let mut ids = [None; MAX_ORDER];
        ids[0] = Some(ROOT);
        ids[1..=longest].copy_from_slice(&found.ids[..longest]);
        Self { ids, longest }
    }
}

/// The model after one context.
#[derive(Debug, Clone, Default)]
pub(crate) struct KneserNey {
    /// From the empty context on; only those that were seen. Occurrences after distinct symbols.
    pub(crate) orders: Vec<Order>,
    /// γ₀ … γ_L / V.
    pub(crate) uniform: f64,
}

/// How far occurrences after a context are trusted that is not the longest, before anything was
/// learned.
const FIRST_TRUST: f64 = 0.3;

impl Order {
    pub(crate) fn value(&self, ngram: NgramCounts) -> u32 {
        match self.counts_occurrences {
            true => ngram.count,
            false => ngram.continuation,
        }
    }

    /// Returns D of a count.
    pub(crate) fn discount(&self, count: u32) -> f64 {
        match count {
            0 => 0.0,
            1 => self.discounts[0],
            2 => self.discounts[1],
            _ => self.discounts[2],
        }
    }

    /// Returns what this order adds to the probability of a symbol that was counted this often.
    pub(crate) fn term(&self, count: u32) -> f64 {
        self.scale * (f64::from(count) - self.discount(count))
    }

    /// Returns gₗ and tₗ before anything was learned, of which the first is what is left over then.
    fn by_discounts(&self, is_longest: bool) -> (f64, f64) {
        match self.counts_occurrences && !is_longest {
            true => (1.0 - (1.0 - self.held_back) * FIRST_TRUST, FIRST_TRUST),
            false => (self.held_back, 1.0),
        }
    }

    /// Sets how far the counts are trusted.
    fn weigh(&mut self, weights: &Weights, is_longest: bool, is_last: bool) {
        self.class = OrderClass::of(
            self.length,
            self.counts_occurrences,
            is_last,
            self.total,
            self.distinct,
        );
        let (by_discounts, trust) = self.by_discounts(is_longest);
        self.left_over = weights.left_over(self.class, by_discounts);
        self.trust = match self.left_over == by_discounts {
            true => trust,
            false => (1.0 - self.left_over) / (1.0 - self.held_back),
        };
    }
}

impl KneserNey {
    /// Prepares the model for what follows contexts; `n_outcomes` is V. What the model was before is
    /// forgotten.
    pub(crate) fn set(
        &mut self,
        trie: &Trie,
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
            let [before, occurrences] = Order::both(trie, id, length, &roots.discounts[length]);
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
        let mut probability = self.uniform;
        for (order, count) in self.counts(found) {
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

/// What the n-grams say without a context, and the discounts of all orders: the same everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    occurrences: Order,
    continuations: Order,
    /// The model of the empty context.
    empty: KneserNey,
    /// By length of the context, those of distinct symbols to the left and those of occurrences.
    discounts: Vec<[[f64; 3]; 2]>,
    /// All symbols with how often they were counted, by that: distinct symbols to the left, and occurrences.
    by_frequency: [OnceLock<Vec<(u32, u32)>>; 2],
}

impl Roots {
    pub(crate) fn of(trie: &Trie, n_outcomes: usize, discounts: Discounts) -> Self {
        let both = |order: usize| {
            [trie.continuations(order), trie.counts(order)]
                .map(|spectrum| discounts_of(spectrum, discounts))
        };
        let discounts: Vec<_> = (1..=trie.order()).map(both).collect();
        let [continuations, occurrences] = Order::both(trie, ROOT, 0, &discounts[0]);
        let seen = (occurrences.total > 0).then_some(occurrences);
        Self {
            occurrences,
            continuations,
            empty: KneserNey::joined(seen.into_iter().collect(), n_outcomes),
            discounts,
            by_frequency: Default::default(),
        }
    }

    /// Returns all symbols with how often they were counted, those first to which that gives the most.
    pub(crate) fn by_frequency(
        &self,
        trie: &Trie,
        symbols: &Symbols,
        occurrences: bool,
    ) -> &[(u32, u32)] {
        let order = match occurrences {
            true => &self.occurrences,
            false => &self.continuations,
        };
        self.by_frequency[usize::from(occurrences)].get_or_init(|| {
            // Numbers have 32 bits.
            let mut counts: Vec<(u32, u32)> = (0..symbols.len() as u32)
                .map(|symbol| (symbol, 0))
                .collect();
            trie.followers(0, ROOT, |ngram| {
                if let Some((_, count)) = counts.get_mut(ngram.symbol as usize) {
                    *count = order.value(ngram);
                }
            });
            sort_by_frequency(&mut counts, order, symbols);
            counts
        })
    }

    /// Returns the probability of a symbol by its frequency alone.
    pub(crate) fn probability(&self, trie: &Trie, symbol: u32) -> f64 {
        self.empty
            .probability(&Contexts::of(trie, &[]).find(trie, symbol))
    }
}

impl Order {
    /// Returns whether another order is of the same context.
    fn is_of_context(&self, other: &Self) -> bool {
        self.length == other.length
    }

    /// Sums up what follows a context: distinct symbols to the left, and occurrences.
    fn both(trie: &Trie, context: u32, length: usize, discounts: &[[f64; 3]; 2]) -> [Self; 2] {
        let sums = trie.sums(length, context);
        [false, true].map(|counts_occurrences| {
            let place = usize::from(counts_occurrences);
            let (Sums { total, n }, discounts) = (sums[place], discounts[place]);
            let mut held_back = 0.0;
            if total > 0 {
                let sum = discounts[0] * n[0] as f64
                    + discounts[1] * n[1] as f64
                    + discounts[2] * n[2] as f64;
                held_back = sum / total as f64;
            }
            Self {
                length,
                context,
                counts_occurrences,
                total,
                distinct: n.iter().sum(),
                discounts,
                held_back,
                left_over: held_back,
                trust: 1.0,
                reached: 1.0,
                scale: 0.0,
                class: OrderClass::default(),
            }
        })
    }
}

/// Returns the discounts of an order.
///
/// Formulas: Y = n₁ / (n₁ + 2 n₂), which is the only discount, or Dₖ = k − (k + 1) Y nₖ₊₁ / nₖ.
/// Where a count does not occur, Y takes the place of its discount; where Y would be 0 or 1, ½ does.
fn discounts_of(spectrum: Spectrum, discounts: Discounts) -> [f64; 3] {
    let n = |count: usize| spectrum.n_with(count) as f64;
    if n(1) == 0.0 || n(2) == 0.0 {
        return [0.5; 3];
    }
    let single = n(1) / (n(1) + 2.0 * n(2));
    match discounts {
        Discounts::Single => [single; 3],
        Discounts::Modified => [1u8, 2, 3].map(|count| {
            let (k, n_of, n_of_next) = (f64::from(count), n(count.into()), n(count as usize + 1));
            if n_of == 0.0 || n_of_next == 0.0 {
                return single;
            }
            let discount = k - (k + 1.0) * single * n_of_next / n_of;
            // Small samples can give any number. Something has to be left to what was never seen,
            // and something to every symbol that was.
            match discount > 0.0 {
                true => discount.min(MOST_DISCOUNT * k),
                false => single,
            }
        }),
    }
}

/// Largest discount, as a share of the count.
const MOST_DISCOUNT: f64 = 0.99;

#[cfg(test)]
mod tests {
    use super::*;

    fn spectrum(counts: &[u32]) -> Spectrum {
        Spectrum::of(counts.iter().copied())
    }

    #[test]
    fn discounts_are_those_of_the_formulas() {
        let counts = [1, 1, 1, 1, 2, 2, 3, 3, 4, 9];
        let single = 4.0 / 8.0;
        assert_eq!(
            discounts_of(spectrum(&counts), Discounts::Single),
            [single; 3]
        );
        let modified = [
            1.0 - 2.0 * single * 2.0 / 4.0,
            2.0 - 3.0 * single * 2.0 / 2.0,
            3.0 - 4.0 * single * 1.0 / 2.0,
        ];
        assert_eq!(
            discounts_of(spectrum(&counts), Discounts::Modified),
            modified
        );
        // 3 − 4 Y n₄ / n₃ is below 0 here, and nothing would be left to what was never seen.
        let few = [1, 1, 2, 3, 4, 4];
        assert_eq!(discounts_of(spectrum(&few), Discounts::Modified)[2], 0.5);
        assert_eq!(
            discounts_of(spectrum(&[1, 1]), Discounts::Modified),
            [0.5; 3]
        );
        assert_eq!(discounts_of(spectrum(&[]), Discounts::Single), [0.5; 3]);
    }

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
        model.set(&trie, &roots, &contexts, 6, &Weights::new());
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
