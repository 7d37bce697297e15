//! The limit on how many tokens of one paragraph are used.

use serde::{Deserialize, Serialize};

/// Tokens that the original keeps of one paragraph.
pub const ORIGINAL_MAX_PARAGRAPH_TOKENS: usize = 2048;

/// Limit on the tokens of one paragraph; of a section where chunks run through it, and of a segment where
/// segments are learned. By default there is none; the original cuts at 2048.
///
/// ```
/// use kato_learner::segment::TokenLimit;
///
/// let cut = TokenLimit::original().apply(2050);
/// assert_eq!((cut.n_kept, cut.n_dropped), (2048, 2));
/// assert_eq!(TokenLimit::default().apply(2050).n_dropped, 0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "limit", rename_all = "snake_case")]
pub enum TokenLimit {
    /// Keep the first `max_tokens` tokens; the others are reported as dropped.
    Cut {
        /// Tokens kept at most.
        max_tokens: usize,
    },
    /// Keep every token: long paragraphs are cut into more chunks.
    #[default]
    Unlimited,
}

impl TokenLimit {
    /// Returns the original's limit.
    #[must_use]
    pub fn original() -> Self {
        Self::Cut {
            max_tokens: ORIGINAL_MAX_PARAGRAPH_TOKENS,
        }
    }

    /// Returns how many of a paragraph's `n_tokens` tokens are kept, counted from its start, and
    /// how many are dropped.
    #[must_use]
    pub fn apply(self, n_tokens: usize) -> TokenCut {
        let n_kept = match self {
            Self::Cut { max_tokens } => n_tokens.min(max_tokens),
            Self::Unlimited => n_tokens,
        };
        TokenCut {
            n_kept,
            n_dropped: n_tokens - n_kept,
        }
    }
}

/// The outcome of a [`TokenLimit`]; the two counts add up to the paragraph's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCut {
    /// Tokens kept, from the paragraph's start.
    pub n_kept: usize,
    /// Tokens dropped, at the paragraph's end.
    pub n_dropped: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_the_first_tokens_and_counts_the_others() {
        let check = |limit: TokenLimit, n_tokens, n_kept, n_dropped| {
            assert_eq!(limit.apply(n_tokens), TokenCut { n_kept, n_dropped });
        };
        check(TokenLimit::original(), 0, 0, 0);
        check(TokenLimit::original(), 2048, 2048, 0);
        check(TokenLimit::original(), 5000, 2048, 2952);
        check(TokenLimit::Cut { max_tokens: 0 }, 7, 0, 7);
        check(TokenLimit::Unlimited, usize::MAX, usize::MAX, 0);
    }
}
