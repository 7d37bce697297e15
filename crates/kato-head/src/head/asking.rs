//! What comes next, and learning whom to trust about it.

use super::Head;
use crate::Weights;
use crate::history::History;
use crate::next::{NextDistribution, Outside};
use crate::options::Expert;
use crate::symbols::SymbolId;

impl Head {
    /// Says what comes next after a history.
    ///
    /// The preparation does what all questions about this position have in common. `outside` is
    /// what somebody else expects; see [`outside`](Self::outside).
    #[must_use]
    pub fn next<'h>(
        &'h self,
        history: &'h History,
        weights: &Weights,
        outside: Option<&'h Outside>,
    ) -> NextDistribution<'h> {
        self.next_by_experts(&self.options.experts, history, weights, outside)
    }

    /// Says what comes next by some of the experts, whatever the options say; see
    /// [`next`](Self::next). Where none of them has anything to say, all outcomes are alike.
    #[must_use]
    pub fn next_by_experts<'h>(
        &'h self,
        experts: &[Expert],
        history: &'h History,
        weights: &Weights,
        outside: Option<&'h Outside>,
    ) -> NextDistribution<'h> {
        NextDistribution::new(self, experts, history, weights, outside)
    }

    /// Creates an outside opinion of symbols and their weights, such as KATO's predictions. Symbols
    /// that the head does not know are left out, as are weights that are not above 0 or infinite.
    #[must_use]
    pub fn outside<'a>(&self, weights: impl IntoIterator<Item = (&'a str, f64)>) -> Outside {
        // In the order given, which is that of their sum.
        let known = weights.into_iter().filter_map(|(symbol, weight)| {
            let id = self.symbols.id(symbol)?;
            (weight > 0.0 && weight.is_finite()).then_some((id.0, weight))
        });
        Outside::of(known)
    }

    /// Learns how far to trust the experts, from a symbol that came after a history, and returns
    /// the probability that it had. `None`, and nothing is learned, for a symbol that could not
    /// come.
    pub fn learn_weights(
        &self,
        weights: &mut Weights,
        history: &History,
        outside: Option<&Outside>,
        symbol: Option<SymbolId>,
    ) -> Option<f64> {
        self.next(history, weights, outside)
            .update_weights(weights, symbol)
    }

    /// Returns the number of an outcome: a symbol, or what stands for all that are unknown.
    pub(crate) fn outcome(&self, symbol: Option<SymbolId>) -> Option<u32> {
        let outcome = match symbol {
            Some(symbol) if symbol.index() < self.symbols.len() => symbol.index(),
            Some(_) => return None,
            None => self.symbols.len(),
        };
        // The highest numbers are not given out.
        (outcome < self.n_outcomes()).then_some(outcome as u32)
    }
}
