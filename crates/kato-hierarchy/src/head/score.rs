//! How surprising a text is.

use kato_head::{Scorer, Weights};
use kato_model::Event;
use serde::Serialize;

use super::TextHead;
use crate::chunked_prompt::ChunkedPrompt;
use crate::hierarchy::token_event;
use crate::{HierarchyError, Prompt};

/// The surprise of a text, token by token.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TextScore {
    /// The tokens, in order: those that training would have learned from this text, and a last
    /// chunk of any length.
    pub tokens: Vec<ScoredToken>,
    /// The surprise of all of them, in bits.
    pub bits: f64,
}

/// The surprise of one token.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ScoredToken {
    /// The token, in the tokenizer's own alphabet.
    pub token: String,
    /// Its text; a character that several tokens make up is not in one of them alone.
    pub text: String,
    /// The probability that it had after the tokens before it.
    pub probability: f64,
    /// −log₂ of the probability.
    pub bits: f64,
}

impl TextScore {
    fn push(&mut self, token: ScoredToken) {
        self.bits += token.bits;
        self.tokens.push(token);
    }

    /// Returns the surprise of a token on average, in bits; `None` without tokens.
    #[must_use]
    pub fn bits_per_token(&self) -> Option<f64> {
        (!self.tokens.is_empty()).then(|| self.bits / self.tokens.len() as f64)
    }

    /// Returns 2 to the power of [`bits_per_token`](Self::bits_per_token): among how many equally
    /// likely tokens the choice was as hard.
    #[must_use]
    pub fn perplexity(&self) -> Option<f64> {
        self.bits_per_token().map(libm::exp2)
    }
}

impl TextHead {
    /// Returns how surprising a text is.
    ///
    /// Whom to trust is learned from every token that came, beginning with the head's own
    /// [weights](Self::weights), which stay as they are: the bits are those of a code that could be
    /// decoded.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub fn score(&self, text: &str) -> Result<TextScore, HierarchyError> {
        self.score_with(text, &mut self.weights.clone())
    }

    /// Scores as [`score`](Self::score), and teaches these weights.
    pub(super) fn score_with(
        &self,
        text: &str,
        weights: &mut Weights,
    ) -> Result<TextScore, HierarchyError> {
        let chunked = ChunkedPrompt::new(&self.hierarchy, Prompt::Text(text))?;
        let (score, learned) = self.ask(|| {
            let mut scorer = self.head().scorer(weights.clone());
            let score = self.score_chunks(&chunked, &mut scorer)?;
            Ok((score, scorer.into_weights()))
        })?;
        *weights = learned;
        Ok(score)
    }

    fn score_chunks(
        &self,
        chunked: &ChunkedPrompt,
        scorer: &mut Scorer<'_>,
    ) -> Result<TextScore, HierarchyError> {
        let mut score = TextScore {
            tokens: Vec::new(),
            bits: 0.0,
        };
        let symbol = |token: &String| self.head().symbol(token);
        if self.asks_outside() {
            for chunk in chunked.closed.iter().chain([&chunked.open]) {
                let mut open: Vec<Event> = Vec::new();
                for token in chunk {
                    let outside = self.outside(&open)?;
                    let probability = scorer.score(symbol(token), outside.as_ref());
                    score.push(self.scored(token, probability));
                    open.push(token_event(token));
                }
            }
            return Ok(score);
        }
        let symbols: Vec<_> = chunked.tokens().map(symbol).collect();
        let mut tokens = chunked.tokens();
        scorer.score_all(&symbols, |probability| {
            if let Some(token) = tokens.next() {
                score.push(self.scored(token, probability));
            }
        });
        Ok(score)
    }

    /// Returns a token with its surprise.
    fn scored(&self, token: &str, probability: Option<f64>) -> ScoredToken {
        // Every token of the tokenizer has a symbol, so the fallback is not reached.
        let probability = probability.unwrap_or(0.0);
        ScoredToken {
            token: token.to_owned(),
            text: self.hierarchy.decode(&[token]),
            probability,
            bits: -libm::log2(probability),
        }
    }
}
