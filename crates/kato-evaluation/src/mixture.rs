//! A proper probability model made from predictions: what they expect, mixed with how frequent
//! tokens are.

/// The facts about a question that are known before its answer is looked up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Evidence {
    /// Number of events of the state.
    pub(crate) context: usize,
    /// Greatest similarity among the predictions that expect something.
    pub(crate) similarity: f64,
}

/// The trust in predictions, learned while coding.
///
/// A token after a state has the probability λ · p + (1 − λ) · q: p is its share of the weight of
/// all expected next symbols ([`next_symbols`](crate::next_symbols::next_symbols)), q its
/// probability by frequency alone. The trust λ depends on what is known before the token is: the
/// length of the state and the greatest similarity, in tenths. It is estimated from the tokens
/// coded before, so that nothing has to be fitted beforehand and the lengths are those of a code
/// that can be decoded: λ = (½ + Σ r) / (1 + n) after n tokens of that kind, r = λ p / (λ p + (1 −
/// λ) q) being the share of the prediction in each.
///
/// Where nothing is expected, and at the start of a chunk, the probability is q. As p and q sum to
/// 1, so does the mixture.
#[derive(Debug, Default)]
pub(crate) struct Mixture {
    trusts: Vec<Trust>,
}

/// The tokens of one kind that were coded, and the sum of the shares of predictions in them.
#[derive(Debug, Clone, Copy, Default)]
struct Trust {
    n: f64,
    shares: f64,
}

impl Trust {
    /// Returns λ, which is strictly between 0 and 1.
    fn value(self) -> f64 {
        (0.5 + self.shares) / (1.0 + self.n)
    }
}

/// Longer states are counted as states of this length.
const CONTEXTS: usize = 8;
/// Classes of similarity.
const TENTHS: usize = 10;

impl Mixture {
    /// Creates a mixture that trusts all predictions by half.
    pub(crate) fn new() -> Self {
        Self {
            trusts: vec![Trust::default(); CONTEXTS * TENTHS],
        }
    }

    /// Returns how far predictions of this kind are trusted at present, in `0..1`.
    pub(crate) fn trust(&self, evidence: Evidence) -> f64 {
        self.trusts[kind(evidence)].value()
    }

    /// Returns the probability of the token that came, and learns from it; `expected` is its share
    /// by the predictions and `frequency` its probability by frequency.
    pub(crate) fn code(&mut self, evidence: Evidence, expected: f64, frequency: f64) -> f64 {
        // The trust before this token: a decoder does not know the token yet.
        let trust = self.trust(evidence);
        let of_prediction = trust * expected;
        let probability = of_prediction + (1.0 - trust) * frequency;
        let learned = &mut self.trusts[kind(evidence)];
        learned.n += 1.0;
        // Not a quotient by zero: λ is below 1 and no frequency is 0, so the probability is
        // positive.
        learned.shares += of_prediction / probability;
        probability
    }
}

/// Returns the class of a question.
fn kind(evidence: Evidence) -> usize {
    let context = evidence.context.clamp(1, CONTEXTS) - 1;
    // The cast saturates, so values out of range are counted in the first and last class.
    let tenth = ((evidence.similarity * TENTHS as f64) as usize).min(TENTHS - 1);
    context * TENTHS + tenth
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normalized(weights: &[f64]) -> Vec<f64> {
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    #[test]
    fn trust_follows_what_came() {
        let evidence = Evidence {
            context: 2,
            similarity: 0.8,
        };
        let mut mixture = Mixture::new();
        assert_eq!(mixture.trust(evidence), 0.5);
        // The prediction's share in the first token is 0.4 / (0.4 + 0.1).
        assert_eq!(mixture.code(evidence, 0.8, 0.2), 0.5);
        assert!((mixture.trust(evidence) - 1.3 / 2.0).abs() < 1e-12);
        for _ in 0..1000 {
            mixture.code(evidence, 0.0, 0.2);
        }
        assert!(mixture.trust(evidence) < 0.01);
        assert_eq!(
            mixture.trust(Evidence {
                context: 3,
                similarity: 0.8
            }),
            0.5
        );
    }

    proptest! {
        #[test]
        fn every_step_is_a_distribution(
            steps in prop::collection::vec((0..12usize, 0.0..=1.0, 0..4usize), 0..40),
            expected in prop::collection::vec(0.0..1.0, 4).prop_map(|weights| normalized(&weights)),
            frequency in prop::collection::vec(0.01..1.0, 4).prop_map(|weights| normalized(&weights)),
        ) {
            let mut mixture = Mixture::new();
            for (context, similarity, token) in steps {
                let evidence = Evidence { context, similarity };
                let trust = mixture.trust(evidence);
                let sum: f64 = (0..4).map(|token| trust * expected[token] + (1.0 - trust) * frequency[token]).sum();
                prop_assert!((sum - 1.0).abs() < 1e-9);
                let coded = mixture.code(evidence, expected[token], frequency[token]);
                prop_assert!((coded - (trust * expected[token] + (1.0 - trust) * frequency[token])).abs() < 1e-12);
                prop_assert!(coded > 0.0 && coded <= 1.0);
            }
        }
    }
}
