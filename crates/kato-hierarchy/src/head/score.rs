//! How surprising a text is.

use kato_head::Weights;
use kato_model::Event;
use serde::Serialize;

use super::{Reading, TextHead};
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
    /// [`HierarchyError::Tokenize`].
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
        let mut reading = Reading {
            history: self.head.history(),
            open: Vec::new(),
        };
        let mut score = TextScore {
            tokens: Vec::new(),
            bits: 0.0,
        };
        for chunk in chunked.closed.iter().chain([&chunked.open]) {
            reading.open.clear();
            for token in chunk {
                let scored = self.score_token(&mut reading, token, weights)?;
                score.bits += scored.bits;
                score.tokens.push(scored);
            }
        }
        Ok(score)
    }

    /// Scores a token, and reads it.
    fn score_token(
        &self,
        reading: &mut Reading,
        token: &str,
        weights: &mut Weights,
    ) -> Result<ScoredToken, HierarchyError> {
        let outside = self.outside(&reading.open)?;
        let (head, symbol) = (&self.head, self.head.symbol(token));
        let history = &reading.history;
        let next = head.next(history, weights, outside.as_ref());
        // Every token of the tokenizer has a symbol, so the fallback is not reached.
        let probability = next.update_weights(weights, symbol).unwrap_or(0.0);
        head.read_id(&mut reading.history, symbol);
        let event: Event = token_event(token);
        reading.open.push(event);
        Ok(ScoredToken {
            token: token.to_owned(),
            text: self.hierarchy.decode(&[token]),
            probability,
            bits: -libm::log2(probability),
        })
    }
}
