//! Interpolated Kneser-Ney over a tree of n-grams, as sums whose terms can be shown.
//!
//! With the last `l` symbols as context, an order contributes what is left of its counts after the
//! discount, aₗ(w) = (c(w) − D(c(w))) / Σ c, and leaves the share γₗ = Σ D(c) / Σ c to the order
//! below. The recursion pₗ = aₗ + γₗ pₗ₋₁, written out, is the sum that is computed here:
//!
//! p(w) = γ₀ … γ_L / V + Σₗ γₗ₊₁ … γ_L · aₗ(w)
//!
//! The longest context that the history allows uses counts of occurrences, the others the number of
//! distinct symbols to the left (Kneser and Ney 1995; interpolated as by Chen and Goodman 1998).

use crate::options::Discounts;
use crate::trie::{NgramCounts, ROOT, Spectrum, Trie};

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
    /// γₗ.
    pub(crate) left_over: f64,
    /// γₗ₊₁ … γ_L: what the longer contexts leave to this one.
    pub(crate) reached: f64,
    /// `reached` / Σ c.
    scale: f64,
}

/// The model after one context.
#[derive(Debug, Clone)]
pub(crate) struct KneserNey {
    /// From the empty context on; only those that were seen.
    pub(crate) orders: Vec<Order>,
    /// γ₀ … γ_L / V.
    pub(crate) uniform: f64,
}

impl Order {
    fn value(&self, ngram: NgramCounts) -> u32 {
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
}

impl KneserNey {
    /// Prepares the model for a context, of which the last symbols count; `n_outcomes` is V.
    pub(crate) fn after(
        trie: &Trie,
        roots: &Roots,
        context: &[u32],
        n_outcomes: usize,
        discounts: Discounts,
    ) -> Self {
        let longest = context.len().min(trie.order() - 1);
        let mut orders: Vec<Order> = Vec::with_capacity(longest + 1);
        let root = match longest {
            0 => roots.occurrences,
            _ => roots.continuations,
        };
        orders.extend((root.total > 0).then_some(root));
        for length in 1..=longest {
            let suffix = &context[context.len() - length..];
            let Some(id) = trie.context(suffix) else {
                // What never occurred is followed by nothing, and neither is a longer context.
                break;
            };
            let order = Order::of(trie, id, length, length == longest, discounts);
            // A context that only ever ended a pattern, or began all that hold it.
            if order.total > 0 {
                orders.push(order);
            }
        }
        Self::joined(orders, n_outcomes)
    }

    /// Creates the model that gives all outcomes the same probability.
    pub(crate) fn uniform(n_outcomes: usize) -> Self {
        Self::joined(Vec::new(), n_outcomes)
    }

    /// Joins orders, from the empty context on.
    fn joined(mut orders: Vec<Order>, n_outcomes: usize) -> Self {
        let mut reached = 1.0;
        for order in orders.iter_mut().rev() {
            order.reached = reached;
            order.scale = reached / order.total as f64;
            reached *= order.left_over;
        }
        Self {
            orders,
            uniform: reached * (1.0 / n_outcomes.max(1) as f64),
        }
    }

    /// Returns how often a symbol was counted after each of the orders' contexts.
    pub(crate) fn counts<'a>(
        &'a self,
        trie: &'a Trie,
        symbol: u32,
    ) -> impl Iterator<Item = (&'a Order, u32)> {
        self.orders.iter().map(move |order| {
            let id = trie.follower(order.length, order.context, symbol);
            let count = id.map_or(0, |id| order.value(trie.ngram(order.length + 1, id)));
            (order, count)
        })
    }

    /// Returns the probability of a symbol.
    pub(crate) fn probability(&self, trie: &Trie, symbol: u32) -> f64 {
        let mut probability = self.uniform;
        for (order, count) in self.counts(trie, symbol) {
            // Adding nothing is left out in a distribution as well.
            if count > 0 {
                probability += order.term(count);
            }
        }
        probability
    }

    /// Writes the probability of every outcome; the bits are those of
    /// [`probability`](Self::probability).
    pub(crate) fn distribution(&self, trie: &Trie, probabilities: &mut [f64]) {
        probabilities.fill(self.uniform);
        for order in &self.orders {
            trie.followers(order.length, order.context, |ngram| {
                let count = order.value(ngram);
                if count > 0
                    && let Some(probability) = probabilities.get_mut(ngram.symbol as usize)
                {
                    *probability += order.term(count);
                }
            });
        }
    }

    /// Returns the symbols of the longest context that was seen.
    pub(crate) fn matched(&self) -> usize {
        self.orders.last().map_or(0, |order| order.length)
    }
}

/// What the n-grams say without a context, which takes long to sum up and is the same everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    occurrences: Order,
    continuations: Order,
    /// The model of the empty context.
    empty: KneserNey,
}

impl Roots {
    pub(crate) fn of(trie: &Trie, n_outcomes: usize, discounts: Discounts) -> Self {
        let root = |counts_occurrences| Order::of(trie, ROOT, 0, counts_occurrences, discounts);
        let occurrences = root(true);
        let seen = (occurrences.total > 0).then_some(occurrences);
        Self {
            occurrences,
            continuations: root(false),
            empty: KneserNey::joined(seen.into_iter().collect(), n_outcomes),
        }
    }

    /// Returns the probability of a symbol by its frequency alone.
    pub(crate) fn probability(&self, trie: &Trie, symbol: u32) -> f64 {
        self.empty.probability(trie, symbol)
    }
}

impl Order {
    /// Sums up what follows a context.
    fn of(
        trie: &Trie,
        context: u32,
        length: usize,
        counts_occurrences: bool,
        discounts: Discounts,
    ) -> Self {
        let spectrum = match counts_occurrences {
            true => trie.counts(length + 1),
            false => trie.continuations(length + 1),
        };
        let mut order = Self {
            length,
            context,
            counts_occurrences,
            total: 0,
            distinct: 0,
            discounts: discounts_of(spectrum, discounts),
            left_over: 0.0,
            reached: 1.0,
            scale: 0.0,
        };
        // How many followers have each count: whole numbers, so that the order of summation does
        // not show.
        let mut n = [0u64; 3];
        trie.followers(length, context, |ngram| {
            let value = order.value(ngram);
            if value > 0 {
                order.total += u64::from(value);
                n[(value as usize).min(3) - 1] += 1;
            }
        });
        order.distinct = n.iter().sum();
        if order.total > 0 {
            let held_back = order.discounts[0] * n[0] as f64
                + order.discounts[1] * n[1] as f64
                + order.discounts[2] * n[2] as f64;
            order.left_over = held_back / order.total as f64;
        }
        order
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
}
