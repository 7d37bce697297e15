//! Reads all of a segment, for those who have to know that all of it is whole.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::{Segment, VectorCursor};
use crate::StoreError;
use crate::embedded::segment::foreign::ForeignCursor;

/// How much of a segment is looked at before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Its footer and its indexes, which opening checks.
    Indexes,
    /// Every block, too.
    Everything,
}

impl Segment {
    /// Returns the segment when it is whole as far as it is looked at.
    pub(crate) fn checked(self: Arc<Self>, depth: Depth) -> Result<Arc<Self>, StoreError> {
        if depth == Depth::Everything {
            self.documents()?;
            for node_idx in 0..self.nodes.len() {
                self.check_node(node_idx)?;
            }
        }
        Ok(self)
    }

    /// Reads all that the file has of a node.
    fn check_node(self: &Arc<Self>, node_idx: usize) -> Result<(), StoreError> {
        self.read_dictionary(node_idx)?;
        // Every block is read for it, and its checksum compared.
        let _ = self.walk(node_idx, |_, _, record| {
            record.extras().ok_or_else(|| self.corrupt_block())?;
            Ok(ControlFlow::Continue(()))
        })?;
        let mut foreign = ForeignCursor::new(Arc::clone(self), node_idx)?;
        while foreign.name().is_some() {
            foreign.advance()?;
        }
        let mut vectors = VectorCursor::new(Arc::clone(self), node_idx)?;
        while vectors.take()?.is_some() {}
        Ok(())
    }
}
