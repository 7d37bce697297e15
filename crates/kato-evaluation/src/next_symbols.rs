//! The symbols that may come next, by an answer's futures.

use std::collections::HashMap;

use kato_prediction::Predictions;

/// A symbol that may come next.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SymbolCandidate<'a> {
    /// The symbol.
    pub symbol: &'a str,
    /// Σ frequency × similarity over the predictions that expect it.
    pub weight: f64,
}

/// Returns the distinct symbols of the first events of an answer's futures, in the order of the
/// predictions that first expect them.
///
/// Predictions without a future expect nothing. Of an event of several symbols all are expected,
/// each with the whole weight.
#[must_use]
pub fn next_symbols(answer: &Predictions) -> Vec<SymbolCandidate<'_>> {
    let mut symbols: Vec<SymbolCandidate<'_>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for prediction in &answer.predictions {
        let Some(first) = prediction.future.first() else {
            continue;
        };
        let weight = prediction.frequency as f64 * prediction.similarity;
        for symbol in first.symbols() {
            // A symbol keeps the place of the first prediction that expects it, which is the best.
            let place = *places.entry(symbol).or_insert(symbols.len());
            match symbols.get_mut(place) {
                Some(known) => known.weight += weight,
                None => symbols.push(SymbolCandidate { symbol, weight }),
            }
        }
    }
    symbols
}

#[cfg(test)]
mod tests {
    use kato_engine::{Engine, Observation, Sequence, SessionConfig};

    use super::*;

    #[test]
    fn futures_are_counted_by_their_first_symbol() {
        let engine = Engine::in_memory(&["node0"]);
        let mut session = engine
            .node("node0")
            .unwrap()
            .session(SessionConfig::default());
        for (words, times) in [("a b c", 3), ("a b d", 1), ("a b c e", 1), ("x a b", 9)] {
            for _ in 0..times {
                let events = words.split(' ').map(|word| Observation::strings([word]));
                session
                    .observe_sequence(Sequence::new(events).learn_at_end())
                    .unwrap();
            }
        }
        for word in ["a", "b"] {
            session.observe(Observation::strings([word])).unwrap();
        }
        let answer = session.predict().unwrap();
        let found: Vec<(&str, f64)> = next_symbols(&answer)
            .iter()
            .map(|next| (next.symbol, next.weight))
            .collect();
        // abc and abd are 0.8 alike, abce is 2/3 alike, and xab has no future.
        let weight_c = 3.0 * 0.8 + 2.0 * 2.0 / 6.0;
        assert_eq!(found.len(), 2);
        for (symbol, weight) in [("c", weight_c), ("d", 0.8)] {
            assert!(
                found
                    .iter()
                    .any(|(found, w)| *found == symbol && (w - weight).abs() < 1e-12),
                "{found:?}"
            );
        }
        assert!(next_symbols(&Predictions::default()).is_empty());
    }
}
