//! The error of token batches.

use std::error::Error;
use std::io;

use kato_loader::LoadError;

/// Why token batches could not be set up, or why they ended.
///
/// After an error there are no further batches. [`TokenBatches::state`](crate::TokenBatches::state)
/// lies behind the last batch delivered, so nothing is lost by resuming from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenBatchError {
    /// An option has a value that no batch can be made with.
    #[error("option `{option}` is out of range: {reason}")]
    InvalidOption {
        /// Name of the setter, or of the argument of `new`.
        option: &'static str,
        /// What is allowed.
        reason: &'static str,
    },
    /// The state to resume from belongs to other options, with which the batches would be others.
    #[error("these are other options than before:\n  {}\ngive the same, or start anew", differences.join("\n  "))]
    OtherOptions {
        /// What differs, in words.
        differences: Vec<String>,
    },
    /// The loader does not stand where the state to resume from does.
    #[error(
        "the loader stands behind document {found}, the state behind document {expected}; give the loader's builder \
         `with_cursor(state.cursor().clone())`"
    )]
    OtherPosition {
        /// Documents behind the state's cursor.
        expected: u64,
        /// Documents behind the loader's cursor.
        found: u64,
    },
    /// The window in which the earlier run stopped comes out differently.
    #[error(
        "the documents from {first_document} on, of which some batches were delivered before, now give other sequences; \
         resume with the same corpus, the same encoder and the same limit of documents"
    )]
    OtherWindow {
        /// Index of the first document of the window, as the corpus counts.
        first_document: u64,
    },
    /// The threads could not be started.
    #[error("worker threads cannot be started; ask for fewer, or for 0 to use none")]
    Threads(#[source] io::Error),
    /// The corpus cannot be read on.
    #[error("the documents of the next batches cannot be read")]
    Load(#[source] LoadError),
    /// The encoder refused a document, and the policy is to stop.
    #[error(
        "document {index} (`{document}`) cannot be encoded; correct it or the encoder, or list and skip such documents with \
         `OnBadDocument::Skip`"
    )]
    Encode {
        /// The document's id.
        document: String,
        /// The document's index.
        index: u64,
        /// What the encoder said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A document has more tokens than a sequence may have, and the policies are to refuse it and
    /// to stop.
    #[error(
        "document {index} (`{document}`) has {n_tokens} tokens where {limit} are allowed; choose another `LongDocuments`, or \
         list and skip such documents with `OnBadDocument::Skip`"
    )]
    LongDocument {
        /// The document's id.
        document: String,
        /// The document's index.
        index: u64,
        /// The tokens it has.
        n_tokens: usize,
        /// The tokens it may have.
        limit: usize,
    },
    /// The ledgers are full: the caller does not drain them, or nearly every record or document is
    /// bad.
    #[error(
        "{entries} bad records and documents would be waiting where {capacity} may, the last being {last}; drain them with \
         `take_bad_records` and `take_bad_documents`, and check the options of the loader and the encoder"
    )]
    LedgerFull {
        /// Entries there would be.
        entries: usize,
        /// Entries there may be.
        capacity: usize,
        /// The last of them, in words.
        last: String,
    },
}
