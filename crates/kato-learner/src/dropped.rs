//! Counts of what is not learned.

use serde::{Deserialize, Serialize};

/// Counts of what the learner's rules left out, by rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dropped {
    /// Paragraphs with fewer characters than the minimum.
    pub short_paragraphs: u64,
    /// Characters of those.
    pub short_paragraph_chars: u64,
    /// Characters of headings that a book's or article's segmentation consumed.
    pub heading_chars: u64,
    /// Tokens over a paragraph's limit.
    pub tokens_over_limit: u64,
    /// Tokens of runs too short for a chunk, and of those with fewer words than an n-gram has.
    pub short_run_tokens: u64,
    /// Sentences with fewer tokens than the minimum.
    pub short_sentences: u64,
    /// Tokens of those.
    pub short_sentence_tokens: u64,
    /// Chunks of one token, which are no pattern.
    pub single_token_chunks: u64,
    /// Names that were alone in their level's buffer when the document ended.
    pub single_name_tails: u64,
}

impl Dropped {
    /// Adds what another part left out.
    pub fn merge(&mut self, other: &Self) {
        self.short_paragraphs += other.short_paragraphs;
        self.short_paragraph_chars += other.short_paragraph_chars;
        self.heading_chars += other.heading_chars;
        self.tokens_over_limit += other.tokens_over_limit;
        self.short_run_tokens += other.short_run_tokens;
        self.short_sentences += other.short_sentences;
        self.short_sentence_tokens += other.short_sentence_tokens;
        self.single_token_chunks += other.single_token_chunks;
        self.single_name_tails += other.single_name_tails;
    }

    /// Returns what is left without what a part left out; `None` if that is more of something.
    #[must_use]
    pub fn checked_sub(&self, part: &Self) -> Option<Self> {
        Some(Self {
            short_paragraphs: self.short_paragraphs.checked_sub(part.short_paragraphs)?,
            short_paragraph_chars: self
                .short_paragraph_chars
                .checked_sub(part.short_paragraph_chars)?,
            heading_chars: self.heading_chars.checked_sub(part.heading_chars)?,
            tokens_over_limit: self.tokens_over_limit.checked_sub(part.tokens_over_limit)?,
            short_run_tokens: self.short_run_tokens.checked_sub(part.short_run_tokens)?,
            short_sentences: self.short_sentences.checked_sub(part.short_sentences)?,
            short_sentence_tokens: self
                .short_sentence_tokens
                .checked_sub(part.short_sentence_tokens)?,
            single_token_chunks: self
                .single_token_chunks
                .checked_sub(part.single_token_chunks)?,
            single_name_tails: self.single_name_tails.checked_sub(part.single_name_tails)?,
        })
    }
}
