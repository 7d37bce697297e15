//! The error of making a corpus from a sample.

use std::io;
use std::path::PathBuf;

/// Failure to make a corpus.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// The sample cannot be read.
    #[error("cannot read the sample {}: name a readable text file", path.display())]
    Read {
        /// The sample's path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The sample has no words to learn from.
    #[error("the sample holds no words: give a text with at least one")]
    Empty,
    /// The corpus cannot be written, for example because the disk is full; what was written before
    /// stays with the writer.
    #[error("cannot write the corpus: it ends at byte {n_bytes} (documents: {n_documents})")]
    Write {
        /// Documents up to the last one that was handed to the writer, which need not have written it.
        n_documents: u64,
        /// Their bytes.
        n_bytes: u64,
        /// The cause.
        source: io::Error,
    },
}
