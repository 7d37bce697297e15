//! Walks along the vectors of a node in name order, one in memory at a time.

use std::sync::Arc;

use kato_model::VectorName;

use super::Segment;
use crate::StoreError;
use crate::embedded::segment::vector::{self, HEAD_BYTES, Head};

/// A cursor at one vector of a node.
#[derive(Debug)]
pub(crate) struct VectorCursor {
    segment: Arc<Segment>,
    /// Offsets of the next vector and of the end of the last.
    next: u64,
    end: u64,
    current: Option<(VectorName, Vec<f64>)>,
}

impl VectorCursor {
    /// Creates a cursor at the node's first vector.
    pub(crate) fn new(segment: Arc<Segment>, node_idx: usize) -> Result<Self, StoreError> {
        let vectors = segment
            .footer
            .nodes
            .get(node_idx)
            .and_then(|node| node.vectors);
        let extent = vectors.unwrap_or_default();
        let mut cursor = Self {
            next: extent.offset,
            end: extent.end().ok_or_else(|| segment.corrupt_vector())?,
            segment,
            current: None,
        };
        cursor.advance()?;
        Ok(cursor)
    }

    /// Returns the name of the current vector; `None` past the last.
    pub(crate) fn name(&self) -> Option<VectorName> {
        self.current.as_ref().map(|(name, _)| *name)
    }

    /// Returns the current vector and moves to the next.
    pub(crate) fn take(&mut self) -> Result<Option<(VectorName, Vec<f64>)>, StoreError> {
        let taken = self.current.take();
        self.advance()?;
        // Merging relies on the order, which no checksum covers.
        let ascending = match (&taken, self.name()) {
            (Some((name, _)), Some(next)) => *name < next,
            _ => true,
        };
        if ascending {
            Ok(taken)
        } else {
            Err(self.segment.corrupt_vector())
        }
    }

    /// Reads the next vector.
    fn advance(&mut self) -> Result<(), StoreError> {
        self.current = None;
        if self.next == self.end {
            return Ok(());
        }
        let elements_at = self.offset_after(HEAD_BYTES as u64)?;
        let mut head_bytes = [0; HEAD_BYTES];
        self.segment.file.read_at(&mut head_bytes, self.next)?;
        let head = Head::decode(&head_bytes).ok_or_else(|| self.segment.corrupt_vector())?;
        let n_bytes = head
            .element_bytes()
            .ok_or_else(|| self.segment.corrupt_vector())?;
        self.next = elements_at;
        // Checked before memory is taken for as many elements as the head announces.
        let after = self.offset_after(n_bytes)?;
        let length = usize::try_from(n_bytes).map_err(|_| self.segment.corrupt_vector())?;
        let mut elements = vec![0; length];
        self.segment.file.read_at(&mut elements, elements_at)?;
        let decoded = vector::decode(&head_bytes, head.crc32, &elements);
        let elements = decoded.ok_or_else(|| self.segment.corrupt_vector())?;
        self.next = after;
        self.current = Some((head.name, elements));
        Ok(())
    }

    /// Returns the offset so many bytes further on, if the vectors reach as far.
    fn offset_after(&self, n_bytes: u64) -> Result<u64, StoreError> {
        let offset = self.next.checked_add(n_bytes);
        offset
            .filter(|&offset| offset <= self.end)
            .ok_or_else(|| self.segment.corrupt_vector())
    }
}

impl Segment {
    /// Creates the error for a vector that does not decode.
    fn corrupt_vector(&self) -> StoreError {
        self.file.corrupt("a vector does not decode")
    }
}
