//! The position in a sequence of token batches, in a form that can be stored.

use kato_loader::Cursor;
use serde::{Deserialize, Serialize};

use crate::error::TokenBatchError;
use crate::options::Shape;

/// What became of the documents so far.
///
/// Documents count with their window: all at once, when its first batch is delivered. Batches,
/// sequences and tokens count one batch at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TokenBatchCounts {
    /// Documents read.
    pub documents: u64,
    /// Those that gave no token, and so no sequence.
    pub empty_documents: u64,
    /// Those skipped as [`BadDocument`](crate::BadDocument)s.
    pub bad_documents: u64,
    /// Those cut into several sequences.
    pub split_documents: u64,
    /// Those of which only the first tokens were kept.
    pub truncated_documents: u64,
    /// The tokens cut off from these.
    pub truncated_tokens: u64,
    /// Batches delivered.
    pub batches: u64,
    /// Sequences delivered.
    pub sequences: u64,
    /// Tokens delivered.
    pub tokens: u64,
}

impl TokenBatchCounts {
    /// Adds the counts of a window's documents.
    pub(crate) fn add_documents(&mut self, window: &Self) {
        self.documents += window.documents;
        self.empty_documents += window.empty_documents;
        self.bad_documents += window.bad_documents;
        self.split_documents += window.split_documents;
        self.truncated_documents += window.truncated_documents;
        self.truncated_tokens += window.truncated_tokens;
    }
}

/// The position between two token batches: a place in the corpus, and how many batches of the
/// window that begins there were delivered.
///
/// Stored with the state of whatever consumed the batches so far, it continues with exactly the
/// next one: build the loader with
/// [`with_cursor`](kato_loader::StreamingDatasetLoaderBuilder::with_cursor) of its
/// [`cursor`](Self::cursor) and the batches with
/// [`with_state`](crate::TokenBatchOptions::with_state), over the same corpus and with the
/// same encoder. At most one window of which batches were delivered is read
/// and encoded again. The number of workers may change;
/// options that decide what the batches are may not, and are compared.
///
/// A state says nothing about the corpus: store the [`CorpusIdentity`](kato_loader::CorpusIdentity)
/// beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBatchState {
    pub(crate) options: Shape,
    pub(crate) cursor: Cursor,
    pub(crate) batches: u64,
    /// What the window must come out as; present while it is partly delivered.
    pub(crate) window: Option<Fingerprint>,
    pub(crate) counts: TokenBatchCounts,
}

/// Hash, in hex, over documents and lengths of a window: another encoder or other documents do not
/// give the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint(pub(crate) String);

impl TokenBatchState {
    /// Creates the position in front of the first batch.
    pub(crate) fn start(options: Shape, cursor: Cursor) -> Self {
        Self {
            options,
            cursor,
            batches: 0,
            window: None,
            counts: TokenBatchCounts::default(),
        }
    }

    /// Returns this state if batches of these options, from a loader at this position, continue
    /// where it ends.
    ///
    /// # Errors
    ///
    /// [`TokenBatchError::OtherOptions`] and [`TokenBatchError::OtherPosition`].
    pub(crate) fn checked(self, options: &Shape, at: &Cursor) -> Result<Self, TokenBatchError> {
        let differences = self.options.diff(options);
        if !differences.is_empty() {
            return Err(TokenBatchError::OtherOptions { differences });
        }
        if self.cursor != *at {
            return Err(TokenBatchError::OtherPosition {
                expected: self.cursor.documents(),
                found: at.documents(),
            });
        }
        Ok(self)
    }

    /// Creates the error of a window that does not come out as it was.
    pub(crate) fn other_window(&self) -> TokenBatchError {
        TokenBatchError::OtherWindow {
            first_document: self.cursor.documents(),
        }
    }

    /// Returns the position at which the loader has to resume: the beginning of the window that the
    /// next batch belongs to.
    #[must_use]
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Returns the number of batches of that window that were delivered; 0 between two windows.
    #[must_use]
    pub fn batches_of_window(&self) -> u64 {
        self.batches
    }

    /// Returns what became of the documents so far, those of earlier runs included.
    #[must_use]
    pub fn counts(&self) -> TokenBatchCounts {
        self.counts
    }
}
