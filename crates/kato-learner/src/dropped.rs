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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Counts of these numbers, one a field.
    fn counts(numbers: &[u64]) -> Dropped {
        let Ok(Value::Object(fields)) = serde_json::to_value(Dropped::default()) else {
            panic!("counts are an object");
        };
        assert_eq!(fields.len(), numbers.len());
        let fields = fields
            .keys()
            .zip(numbers)
            .map(|(key, n)| (key.clone(), json!(n)));
        serde_json::from_value(Value::Object(fields.collect())).unwrap()
    }

    #[test]
    fn every_count_is_added_and_taken_away_by_itself() {
        let (own, part): (Vec<u64>, Vec<u64>) = (1..10).map(|n| (n * n, 100 + n)).unzip();
        let all: Vec<u64> = own
            .iter()
            .zip(&part)
            .map(|(own, part)| own + part)
            .collect();
        let mut sum = counts(&own);
        sum.merge(&counts(&part));
        assert_eq!(sum, counts(&all));
        assert_eq!(sum.checked_sub(&counts(&part)), Some(counts(&own)));
        for field in 0..all.len() {
            let mut more = all.clone();
            more[field] += 1;
            assert_eq!(sum.checked_sub(&counts(&more)), None);
        }
    }
}
