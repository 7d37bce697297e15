//! Descriptions of documents that gave no sequence because they could not be used.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An entry of the ledger of [`TokenBatches`](crate::TokenBatches): a document that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BadDocument {
    /// The document's id.
    pub document: String,
    /// The document's index.
    pub index: u64,
    /// Why the document could not be used, with all causes.
    pub reason: String,
}

impl fmt::Display for BadDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "document {} (`{}`): {}",
            self.index, self.document, self.reason
        )
    }
}
