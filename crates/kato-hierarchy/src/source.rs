//! Looks up where a pattern was first seen.

use kato_model::PatternName;
use kato_store::Source;

use crate::{Hierarchy, HierarchyError};

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
        Source::of_pattern(&**store, level, name).map_err(failed)
    }
}
