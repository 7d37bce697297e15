//! What the n-grams of one length say after one context.

use crate::Weights;
use crate::trie::{BothSums, NgramCounts, Sums};
use crate::weights::OrderClass;

/// What one order says after one context, whatever the symbol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Order {
    /// Symbols of the context.
    pub(crate) length: usize,
    pub(super) context: u32,
    /// Whether occurrences are counted, or else distinct symbols to the left.
    pub(crate) counts_occurrences: bool,
    /// Σ c.
    pub(crate) total: u64,
    /// Symbols that follow the context.
    pub(crate) distinct: u64,
    /// D(1), D(2), and D of all greater counts.
    pub(crate) discounts: [f64; 3],
    /// gₗ.
    pub(super) held_back: f64,
    /// γₗ.
    pub(crate) left_over: f64,
    /// tₗ.
    pub(crate) trust: f64,
    /// γₗ₊₁ … γ_L: what the longer contexts leave to this one.
    pub(crate) reached: f64,
    /// `reached` · `trust` / Σ c.
    pub(super) scale: f64,
    pub(super) class: OrderClass,
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
    pub(super) fn weigh(&mut self, weights: &Weights, is_longest: bool, is_last: bool) {
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

    /// Returns whether another order is of the same context.
    pub(super) fn is_of_context(&self, other: &Self) -> bool {
        self.length == other.length
    }

    /// Creates the two orders of a context of what follows it: distinct symbols to the left, and occurrences.
    pub(super) fn both(
        sums: &BothSums,
        context: u32,
        length: usize,
        discounts: &[[f64; 3]; 2],
    ) -> [Self; 2] {
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
