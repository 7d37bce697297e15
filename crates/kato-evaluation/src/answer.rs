//! Asks a node one question, and keeps what counts of its answer.

use kato_engine::{Node, SessionConfig};

use crate::EvaluationError;
use crate::document::Chunk;
use crate::mixture::Evidence;
use crate::next_symbols::next_symbols;

/// A node's answer to a whole chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RecognitionAnswer {
    /// Greatest similarity of a prediction; `None` without predictions.
    pub(crate) similarity: Option<f64>,
}

/// A node's answer to the beginning of a chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NextAnswer {
    /// Number of events of the beginning.
    pub(crate) context: usize,
    /// Whether the node expected anything.
    pub(crate) is_answer: bool,
    /// Whether the node knows the symbol that came.
    pub(crate) is_known: bool,
    /// Position of the symbol that came among those expected, from 0.
    pub(crate) rank: Option<usize>,
    /// Kind of the answer, and share of the symbol that came in the weight of all expected; `None`
    /// where nothing was expected.
    pub(crate) expected: Option<(Evidence, f64)>,
}

impl RecognitionAnswer {
    /// Asks what a whole chunk resembles.
    pub(crate) fn ask(
        node: &Node,
        config: &SessionConfig,
        chunk: &Chunk,
    ) -> Result<Self, EvaluationError> {
        let answer = node.predict(&chunk.events, config)?;
        let similarities = answer
            .predictions
            .iter()
            .map(|prediction| prediction.similarity);
        // Predictions come in the order of the ranking metric, which need not be the similarity.
        Ok(Self {
            similarity: similarities.max_by(f64::total_cmp),
        })
    }
}

impl NextAnswer {
    /// Asks what follows the first `context` events of a chunk. Only symbols that `is_possible` are
    /// expected: the others cannot come next, so they get no share. Returns also what is expected,
    /// with its weight.
    pub(crate) fn ask(
        node: &Node,
        config: &SessionConfig,
        chunk: &Chunk,
        context: usize,
        is_possible: impl Fn(&str) -> bool,
    ) -> Result<(Self, Vec<(String, f64)>), EvaluationError> {
        let answer = node.predict(&chunk.events[..context], config)?;
        let came = chunk.symbol(context).unwrap_or_default();
        let mut expected = next_symbols(&answer);
        // Before the shares: what cannot come must not take weight from what can.
        expected.retain(|next| is_possible(next.symbol));
        let rank = expected.iter().position(|next| next.symbol == came);
        let total: f64 = expected.iter().map(|next| next.weight).sum();
        let share = |rank: usize| expected[rank].weight / total;
        let with_future = answer
            .predictions
            .iter()
            .filter(|prediction| !prediction.future.is_empty());
        let similarity = with_future
            .map(|prediction| prediction.similarity)
            .max_by(f64::total_cmp);
        let weights = expected
            .iter()
            .map(|next| (next.symbol.to_owned(), next.weight))
            .collect();
        // Shares of no weight at all are not defined; then nothing is expected.
        let expected = similarity.filter(|_| total > 0.0).map(|similarity| {
            let evidence = Evidence {
                context,
                similarity,
            };
            (evidence, rank.map_or(0.0, share))
        });
        let answer = Self {
            context,
            is_answer: total > 0.0,
            is_known: node.symbol_counts(came)?.n_patterns > 0,
            rank,
            expected,
        };
        Ok((answer, weights))
    }
}
