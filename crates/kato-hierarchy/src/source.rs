//! Looks up where a pattern was first seen.

use kato_model::PatternName;
use serde::Serialize;

use crate::{Hierarchy, HierarchyError};

/// The place of a corpus at which a pattern was first learned, where training recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Source {
    /// The document's id; `None` where only its number is known.
    pub document: Option<String>,
    /// Number of the document in the corpus, from 0.
    pub sample_idx: u64,
    /// Number of the pattern's first token among the document's learned tokens, from 0.
    pub token_idx: u64,
}

impl Hierarchy {
    /// Returns where a pattern was first seen; `None` where that was not recorded or not yet
    /// committed. Reads the store.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Source`] when the store cannot be read.
    pub fn source(
        &self,
        level: usize,
        name: &PatternName,
    ) -> Result<Option<Source>, HierarchyError> {
        // Provenance is kept by the store, which an engine in memory does not have.
        let Some(store) = self.engine().store() else {
            return Ok(None);
        };
        let failed = |source| HierarchyError::Source {
            name: *name,
            source,
        };
        let pattern = store.pattern(level, name).map_err(failed)?;
        let Some(seen) = pattern.and_then(|pattern| pattern.first_seen) else {
            return Ok(None);
        };
        Ok(Some(Source {
            document: store.document(seen.sample_idx).map_err(failed)?,
            sample_idx: seen.sample_idx,
            token_idx: seen.token_idx,
        }))
    }
}
