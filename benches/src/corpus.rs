//! Corpora of any size: documents that resemble the sample text.

use kato_random::corpus::{CorpusModel, write_corpus};

use crate::sample_text;

/// Seed of the first corpus that is measured on.
const SEED: u64 = 1;

/// Returns documents of about 500 tokens each as JSON Lines, `n_bytes` and a little more in all:
/// always the same for the same sample text.
///
/// # Panics
///
/// When there is no sample text; see [`sample_text`].
#[must_use]
pub fn json_lines(n_bytes: u64) -> Vec<u8> {
    MadeText::new().lines(n_bytes)
}

/// Texts that resemble the sample, another one each time, the same ones in every run.
///
/// What is looked up by text (words, patterns) is faster the second time, so a text that comes again
/// measures the look-up.
#[derive(Debug)]
pub struct MadeText {
    model: CorpusModel,
    seed: u64,
}

impl Default for MadeText {
    fn default() -> Self {
        Self::new()
    }
}

impl MadeText {
    /// Learns the words of the sample text.
    ///
    /// # Panics
    ///
    /// When there is no sample text; see [`sample_text`].
    #[must_use]
    pub fn new() -> Self {
        Self {
            model: CorpusModel::from_text(&sample_text()).expect("the sample text has words"),
            seed: SEED,
        }
    }

    /// Returns the texts of the next documents, which are `n_bytes` and a little more as JSON Lines.
    #[must_use]
    pub fn documents(&mut self, n_bytes: u64) -> Vec<String> {
        texts(&self.lines(n_bytes))
    }

    fn lines(&mut self, n_bytes: u64) -> Vec<u8> {
        let mut lines = Vec::new();
        write_corpus(&self.model, self.seed, n_bytes, &mut lines)
            .expect("a vector takes every write");
        self.seed += 1;
        lines
    }
}

/// Returns the field `text` of every document of a made corpus.
///
/// # Panics
///
/// When a line is no object with a text.
#[must_use]
pub fn texts(lines: &[u8]) -> Vec<String> {
    let text = |line: &[u8]| {
        let document: serde_json::Value = serde_json::from_slice(line).expect("a line of JSON");
        document["text"]
            .as_str()
            .expect("a document has a text")
            .to_owned()
    };
    lines
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(text)
        .collect()
}

#[cfg(test)]
mod tests {
    use kato_tokenizer::{Tokenizer, gpt2};

    use super::*;

    #[test]
    fn made_texts_differ_and_have_as_many_tokens_within_a_hundredth() {
        let mut made = MadeText::new();
        let texts: Vec<String> = (0..3).map(|_| made.documents(1_000_000).concat()).collect();
        assert!(texts[0] != texts[1] && texts[1] != texts[2]);
        let tokens: Vec<f64> = texts
            .iter()
            .map(|text| gpt2().encode(text).expect("any text").len() as f64)
            .collect();
        for (text, n_tokens) in texts.iter().zip(&tokens) {
            let bytes = text.len() as f64 / texts[0].len() as f64;
            assert!((bytes - 1.0).abs() < 0.01, "{bytes}");
            assert!((n_tokens / tokens[0] - 1.0).abs() < 0.01, "{tokens:?}");
        }
    }
}
