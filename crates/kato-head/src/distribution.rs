//! The probability of everything that can come next.

use crate::best::Best;
use crate::symbols::{SymbolId, Symbols};

/// The probabilities of all outcomes: 1 in sum, but for rounding, and above 0 each.
#[derive(Debug, Clone)]
pub struct Distribution<'h> {
    /// By number of the symbol; the last one is any other symbol, where there can be one.
    probabilities: Vec<f64>,
    symbols: &'h Symbols,
}

impl<'h> Distribution<'h> {
    pub(crate) fn new(probabilities: Vec<f64>, symbols: &'h Symbols) -> Self {
        Self {
            probabilities,
            symbols,
        }
    }

    /// Returns the probability of a symbol.
    #[must_use]
    pub fn probability(&self, symbol: SymbolId) -> f64 {
        let known = symbol.index() < self.symbols.len();
        let probability = self.probabilities.get(symbol.index()).filter(|_| known);
        probability.copied().unwrap_or(0.0)
    }

    /// Returns the probability that a symbol comes that the head does not know; 0 where there is a
    /// vocabulary.
    #[must_use]
    pub fn of_unknown(&self) -> f64 {
        self.probabilities
            .get(self.symbols.len())
            .copied()
            .unwrap_or(0.0)
    }

    /// Returns the probabilities of all outcomes, by [number](SymbolId::index).
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.probabilities
    }

    /// Returns the `n` most probable symbols, the most probable first; equal ones by their
    /// text.
    #[must_use]
    pub fn top(&self, n: usize) -> Vec<(SymbolId, f64)> {
        let mut best = Best::new(n, self.symbols);
        // Numbers are below 2³².
        let symbols = (0u32..).map(SymbolId).zip(&self.probabilities);
        for (symbol, &probability) in symbols.take(self.symbols.len()) {
            best.offer(symbol, probability);
        }
        best.into_vec()
    }

    /// Returns all symbols, the most probable first; equal ones by their text.
    #[must_use]
    pub fn ranked(&self) -> Vec<(SymbolId, f64)> {
        let symbols = (0u32..)
            .map(SymbolId)
            .zip(self.probabilities.iter().copied());
        let mut ranked: Vec<(SymbolId, f64)> = symbols.take(self.symbols.len()).collect();
        ranked.sort_unstable_by(|(one, of_one), (other, of_other)| {
            let by_text = || self.symbols.text(*one).cmp(&self.symbols.text(*other));
            of_other.total_cmp(of_one).then_with(by_text)
        });
        ranked
    }

    /// Returns the expected surprise, in bits.
    #[must_use]
    pub fn entropy(&self) -> f64 {
        let positive = self.probabilities.iter().copied().filter(|&p| p > 0.0);
        let mut terms: Vec<f64> = positive.map(|p| -p * libm::log2(p)).collect();
        // Numbers depend on who was learned first, and the order of a sum shows in its last bits.
        terms.sort_unstable_by(f64::total_cmp);
        terms.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_ties_by_text() {
        let mut symbols = Symbols::new(None).unwrap();
        for text in ["e", "d", "c", "b", "a"] {
            symbols.intern(text).unwrap();
        }
        let distribution = Distribution::new(vec![0.1, 0.3, 0.1, 0.3, 0.05, 0.15], &symbols);
        let best = |n| -> Vec<&str> {
            let best = distribution.top(n).into_iter();
            best.filter_map(|(symbol, _)| symbols.text(symbol))
                .collect()
        };
        assert!(best(0).is_empty());
        assert_eq!(best(3), ["b", "d", "c"]);
        assert_eq!(best(9), ["b", "d", "c", "e", "a"]);
        assert_eq!(distribution.ranked(), distribution.top(9));
        assert_eq!(distribution.of_unknown(), 0.15);
        assert_eq!(distribution.probability(SymbolId(5)), 0.0);
    }
}
