//! Says where in a corpus a pattern was first seen.

use kato_model::PatternName;
use serde::Serialize;

use crate::{PatternStore, StoreError};

/// The place of a corpus at which a pattern was first learned, where training recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Source {
    /// The document's id; `None` where only its number is known.
    pub document: Option<String>,
    /// Number of the document in the corpus, from 0.
    pub document_idx: u64,
    /// Number of the pattern's first token among the document's learned tokens, from 0.
    pub token_idx: u64,
}

impl Source {
    /// Looks up where a pattern was first seen; `None` where that was not recorded.
    ///
    /// # Errors
    ///
    /// As [`PatternStore::pattern`] and [`PatternStore::document`].
    pub fn of_pattern(
        store: &dyn PatternStore,
        level: usize,
        name: &PatternName,
    ) -> Result<Option<Self>, StoreError> {
        let pattern = store.pattern(level, name)?;
        let Some(seen) = pattern.and_then(|pattern| pattern.first_seen) else {
            return Ok(None);
        };
        Ok(Some(Self {
            document: store.document(seen.document_idx)?,
            document_idx: seen.document_idx,
            token_idx: seen.token_idx,
        }))
    }
}
