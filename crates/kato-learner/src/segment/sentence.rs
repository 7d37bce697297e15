//! Cuts runs of tokens into sentences: the original's sentence mode, which decides by the tokens
//! alone.

use std::iter::FusedIterator;
use std::ops::Range;

use kato_tokenizer::Family;
use serde::{Deserialize, Serialize};

/// Shortest sentence, in tokens, that the original learns.
pub const DEFAULT_MIN_SENTENCE_TOKENS: usize = 3;

/// The rule by which the token after `.`, `!` or `?` shows that the sentence ended there.
///
/// Only a token that *is* the mark can end a sentence: text whose punctuation stands apart, which a
/// GPT-2 tokenizer turns into `Ġ.`, has no sentence ends under any of the rules, and abbreviations
/// do end sentences. Both are the original's behaviour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentenceBoundary {
    /// The next token starts with `Ġ` (a blank in GPT-2's alphabet) or with `Â`.
    #[default]
    Gpt2,
    /// The next token does not continue a word, that is, it does not start with `##`.
    Bert,
    /// The next token starts with a blank, `Ġ`, `Â` or an upper-case letter.
    Other,
}

impl SentenceBoundary {
    /// Returns whether a sentence mark before the token `next` ends the sentence.
    fn confirms(self, next: &str) -> bool {
        match self {
            Self::Gpt2 => next.starts_with(['Ġ', 'Â']),
            Self::Bert => !next.starts_with("##"),
            Self::Other => {
                next.starts_with(|c: char| matches!(c, ' ' | 'Ġ' | 'Â') || c.is_uppercase())
            }
        }
    }
}

impl From<Family> for SentenceBoundary {
    fn from(family: Family) -> Self {
        match family {
            Family::Gpt2 => Self::Gpt2,
            Family::Bert => Self::Bert,
            Family::Other => Self::Other,
        }
    }
}

/// Counts of what a [`Sentences`] iterator has left out so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DroppedSentences {
    /// Sentences shorter than the minimum.
    pub n_sentences: u64,
    /// Tokens of those sentences.
    pub n_tokens: u64,
}

/// Cuts `tokens` into sentences and returns their ranges, in order.
///
/// A sentence ends behind a token `.`, `!` or `?` that `boundary` confirms, and at the end of the
/// tokens. Sentences of fewer than `min_tokens` tokens are skipped and counted, not merged with a
/// neighbour.
///
/// **Shape**: ascending, not empty; consecutive but for the skipped ones. **Complexity**: one pass,
/// no allocation.
///
/// ```
/// use kato_learner::segment::{SentenceBoundary, sentence_ranges};
///
/// let tokens = ["It", "Ġrains", ".", "ĠOh", "!", "ĠWe", "Ġstay", "."];
/// let mut sentences = sentence_ranges(&tokens, SentenceBoundary::Gpt2, 3);
/// assert_eq!(sentences.by_ref().collect::<Vec<_>>(), [0..3, 5..8]);
/// assert_eq!(sentences.dropped().n_tokens, 2);
/// ```
pub fn sentence_ranges<T: AsRef<str>>(
    tokens: &[T],
    boundary: SentenceBoundary,
    min_tokens: usize,
) -> Sentences<'_, T> {
    Sentences {
        tokens,
        at: 0,
        boundary,
        min_tokens,
        dropped: DroppedSentences::default(),
    }
}

/// An iterator over the ranges of the sentences in a run of tokens; created by [`sentence_ranges`].
#[derive(Debug, Clone)]
pub struct Sentences<'a, T> {
    tokens: &'a [T],
    at: usize,
    boundary: SentenceBoundary,
    min_tokens: usize,
    dropped: DroppedSentences,
}

impl<T> Sentences<'_, T> {
    /// Returns what was left out so far; complete once the iterator has returned `None`.
    #[must_use]
    pub fn dropped(&self) -> DroppedSentences {
        self.dropped
    }
}

impl<T: AsRef<str>> Sentences<'_, T> {
    /// Returns whether a sentence ends behind the token at `idx`.
    fn ends_behind(&self, idx: usize) -> bool {
        matches!(self.tokens[idx].as_ref(), "." | "!" | "?")
            && self
                .tokens
                .get(idx + 1)
                // The end of the tokens confirms every mark, under all rules.
                .is_none_or(|next| self.boundary.confirms(next.as_ref()))
    }
}

impl<T: AsRef<str>> Iterator for Sentences<'_, T> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.tokens.len() {
            let start = self.at;
            self.at = (start..self.tokens.len())
                .find(|&idx| self.ends_behind(idx))
                .map_or(self.tokens.len(), |mark| mark + 1);
            if self.at - start >= self.min_tokens {
                return Some(start..self.at);
            }
            // A short sentence is skipped, not joined to its neighbour, as in the original.
            self.dropped.n_sentences += 1;
            self.dropped.n_tokens += (self.at - start) as u64;
        }
        None
    }
}

impl<T: AsRef<str>> FusedIterator for Sentences<'_, T> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `text` holds tokens separated by `|`, `expected` the sentences that are kept, separated by a
    /// blank.
    #[track_caller]
    fn check(boundary: SentenceBoundary, text: &str, expected: &[&str], dropped: (u64, u64)) {
        let tokens: Vec<_> = text.split('|').filter(|token| !token.is_empty()).collect();
        let mut sentences = sentence_ranges(&tokens, boundary, 3);
        let found: Vec<_> = sentences
            .by_ref()
            .map(|range| tokens[range].join("|"))
            .collect();
        assert_eq!(found, expected);
        let left_out = sentences.dropped();
        assert_eq!((left_out.n_sentences, left_out.n_tokens), dropped);
    }

    #[test]
    fn gpt2_needs_a_blank_behind_the_mark() {
        let check =
            |text, expected: &[_], dropped| check(SentenceBoundary::Gpt2, text, expected, dropped);
        check("", &[], (0, 0));
        check("a|Ġb|.|ĠC|Ġd|?", &["a|Ġb|.", "ĠC|Ġd|?"], (0, 0));
        check("a|b|!|Âc|d|e", &["a|b|!", "Âc|d|e"], (0, 0));
        check("3|.|5|Ġper|Ġcent", &["3|.|5|Ġper|Ġcent"], (0, 0));
        check("a|Ġb|Ġ.|ĠC|Ġd|Ġ.", &["a|Ġb|Ġ.|ĠC|Ġd|Ġ."], (0, 0));
        check("a|b|..|Ġc|Ġd|...", &["a|b|..|Ġc|Ġd|..."], (0, 0));
        check("No|.|ĠMr|.|ĠA|Ġb|.|Ġx", &["ĠA|Ġb|."], (3, 5));
    }

    #[test]
    fn bert_ends_unless_the_word_goes_on() {
        let check =
            |text, expected: &[_], dropped| check(SentenceBoundary::Bert, text, expected, dropped);
        check("a|b|.|c|d|!", &["a|b|.", "c|d|!"], (0, 0));
        check("a|b|.|##c|d|!", &["a|b|.|##c|d|!"], (0, 0));
        check("a|.|b", &[], (2, 3));
    }

    #[test]
    fn other_tokenizers_need_a_blank_or_an_upper_case_letter() {
        let check =
            |text, expected: &[_], dropped| check(SentenceBoundary::Other, text, expected, dropped);
        check("a|b|.| c|d|e", &["a|b|.", " c|d|e"], (0, 0));
        check("a|b|.|Éc|d|e", &["a|b|.", "Éc|d|e"], (0, 0));
        check("a|b|.|ĠÂ|d|e", &["a|b|.", "ĠÂ|d|e"], (0, 0));
        check("a|b|.|c|▁d|e", &["a|b|.|c|▁d|e"], (0, 0));
    }

    proptest! {
        #[test]
        fn kept_and_dropped_tokens_are_all_tokens(
            tokens in prop::collection::vec(prop::sample::select(vec![".", "!", "a", "Ġb", "##c", "D", "Ġ.", ""]), 0..60),
            boundary in prop::sample::select(vec![SentenceBoundary::Gpt2, SentenceBoundary::Bert, SentenceBoundary::Other]),
            min_tokens in 0..5usize,
        ) {
            let mut sentences = sentence_ranges(&tokens, boundary, min_tokens);
            let kept: Vec<_> = sentences.by_ref().collect();
            let n_kept: usize = kept.iter().map(ExactSizeIterator::len).sum();
            prop_assert_eq!(n_kept as u64 + sentences.dropped().n_tokens, tokens.len() as u64);
            prop_assert!(kept.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(kept.iter().all(|range| range.len() >= min_tokens.max(1)));
        }
    }
}
