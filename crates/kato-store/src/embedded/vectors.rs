//! Vectors of a node over several segments, in name order, one for each name.

use std::sync::Arc;

use kato_model::VectorName;
use kato_model::vector::smaller_vector;

use super::segment::{Segment, VectorCursor};
use crate::StoreError;

/// A walk along one node's vectors over several segments; holds one vector of each segment.
#[derive(Debug)]
pub(super) struct MergedVectors {
    cursors: Vec<VectorCursor>,
}

impl MergedVectors {
    /// Creates a walk that begins at the first vectors.
    pub(super) fn new(segments: &[Arc<Segment>], node_idx: usize) -> Result<Self, StoreError> {
        let cursors = segments
            .iter()
            .map(|segment| VectorCursor::new(Arc::clone(segment), node_idx));
        Ok(Self {
            cursors: cursors.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the next vector: of all that have its name the smallest.
    pub(super) fn next_vector(&mut self) -> Result<Option<(VectorName, Vec<f64>)>, StoreError> {
        let Some(name) = self.cursors.iter().filter_map(VectorCursor::name).min() else {
            return Ok(None);
        };
        let mut smallest: Option<Vec<f64>> = None;
        let same = |cursor: &&mut VectorCursor| cursor.name() == Some(name);
        // All cursors at the name move on, also those whose vector is not the smallest.
        for cursor in self.cursors.iter_mut().filter(same) {
            if let Some((_, vector)) = cursor.take()?
                && smallest
                    .as_ref()
                    .is_none_or(|smallest| smaller_vector(&vector, smallest))
            {
                smallest = Some(vector);
            }
        }
        Ok(smallest.map(|vector| (name, vector)))
    }
}
