//! The writer of a corpus: documents of a model as JSON Lines.

use std::io::{self, Write};

use crate::SplitMix64;

use super::error::CorpusError;
use super::model::CorpusModel;
use super::rng::below;

/// Bytes of text per document: uniform in this range, 2.1 kB on average, about 500 GPT-2 tokens of
/// English.
const DOCUMENT_BYTES: std::ops::Range<u32> = 1_000..3_200;
/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 18;

/// The size that a corpus came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CorpusStats {
    /// Documents, one per line.
    pub n_documents: u64,
    /// Bytes of all lines.
    pub n_bytes: u64,
}

/// Writes documents `{"id": …, "text": …}`, one per line, until there are `n_bytes` of them or a
/// little more.
///
/// **Shape**: ids are `s{seed}-{index}` with the index from 0; the corpus is longer than `n_bytes`
/// by less than its last line; it is the beginning of every longer corpus of the same model and
/// seed, on every platform. **Memory**: the model and a buffer, whatever `n_bytes` is.
///
/// # Errors
///
/// [`CorpusError::Write`] when `out` refuses bytes.
///
/// # Examples
///
/// ```
/// use kato_random::corpus::{CorpusModel, write_corpus};
///
/// let model = CorpusModel::from_text("The cat sat. The dog sat by the cat.")?;
/// let mut corpus = Vec::new();
/// let stats = write_corpus(&model, 7, 10_000, &mut corpus)?;
/// assert_eq!(stats.n_bytes, corpus.len() as u64);
/// assert!(corpus.starts_with(br#"{"id":"s7-0","text":""#));
/// # Ok::<(), kato_random::corpus::CorpusError>(())
/// ```
pub fn write_corpus(
    model: &CorpusModel,
    seed: u64,
    n_bytes: u64,
    out: &mut impl Write,
) -> Result<CorpusStats, CorpusError> {
    let mut random = SplitMix64::from_seed(seed);
    let mut stats = CorpusStats::default();
    // Room for a full buffer and the line that fills it, which is longer than its text's size by
    // its id and little more than a word, so the buffer never grows.
    let mut buffer = Vec::with_capacity(BUFFER_BYTES + 2 * DOCUMENT_BYTES.end as usize);
    while stats.n_bytes < n_bytes {
        let before = buffer.len();
        write_line(model, &mut random, seed, stats.n_documents, &mut buffer);
        stats.n_documents += 1;
        stats.n_bytes += (buffer.len() - before) as u64;
        if buffer.len() >= BUFFER_BYTES {
            out.write_all(&buffer)
                .map_err(|source| failed(stats, source))?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)
        .and_then(|()| out.flush())
        .map_err(|source| failed(stats, source))?;
    Ok(stats)
}

/// Appends one document, as a line of JSON with its line break.
fn write_line(
    model: &CorpusModel,
    random: &mut SplitMix64,
    seed: u64,
    idx: u64,
    line: &mut Vec<u8>,
) {
    write!(line, r#"{{"id":"s{seed}-{idx}","text":""#).expect("a vector takes every write");
    // Nothing but the generator decides a document, not the size of the corpus, so a smaller corpus
    // is the beginning of a larger one.
    let n_bytes = DOCUMENT_BYTES.start + below(random, DOCUMENT_BYTES.end - DOCUMENT_BYTES.start);
    model.write_document(random, n_bytes as usize, line);
    line.extend_from_slice(b"\"}\n");
}

/// Returns the error of a write, with what was handed to the writer before.
fn failed(stats: CorpusStats, source: io::Error) -> CorpusError {
    CorpusError::Write {
        n_documents: stats.n_documents,
        n_bytes: stats.n_bytes,
        source,
    }
}
