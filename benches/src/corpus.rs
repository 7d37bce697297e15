//! Corpora of any size: documents that resemble the sample text, as JSON Lines.

use kato_corpus::{CorpusModel, write_corpus};

use crate::sample_text;

/// Seed of every corpus that is measured on.
const SEED: u64 = 1;

/// Returns documents of about 500 tokens each, `n_bytes` and a little more in all: always the same
/// for the same sample text.
///
/// # Panics
///
/// When there is no sample text; see [`sample_text`].
#[must_use]
pub fn json_lines(n_bytes: u64) -> Vec<u8> {
    let model = CorpusModel::from_text(&sample_text()).expect("the sample text has words");
    let mut lines = Vec::new();
    write_corpus(&model, SEED, n_bytes, &mut lines).expect("a vector takes every write");
    lines
}
