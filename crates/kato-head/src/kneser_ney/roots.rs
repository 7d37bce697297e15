//! What the n-grams say without a context, and how much of every count goes to what was never seen.

use std::sync::OnceLock;

use super::{KneserNey, Order};
use crate::best::sort_by_frequency;
use crate::options::Discounts;
use crate::symbols::Symbols;
use crate::trie::{ROOT, Spectrum, Trie};

/// What the n-grams say without a context, and the discounts of all orders: the same everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    pub(super) occurrences: Order,
    pub(super) continuations: Order,
    /// The model of the empty context.
    empty: KneserNey,
    /// By length of the context, those of distinct symbols to the left and those of occurrences.
    pub(super) discounts: Vec<[[f64; 3]; 2]>,
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
        let [continuations, occurrences] = Order::both(&trie.sums(0, ROOT), ROOT, 0, &discounts[0]);
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
        let id = trie.follower(0, ROOT, symbol);
        let ngram = id.map(|id| trie.ngram(1, id, symbol));
        self.empty.probability_of(|_| ngram)
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
