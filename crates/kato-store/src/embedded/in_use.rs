//! What the patterns of a segment hold that are not deleted, and the names among it in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::Arc;

use kato_model::PatternName;

use super::segment::{ForeignCursor, Segment};
use crate::StoreError;

/// What the patterns of a segment's node hold, where some of these or of the node below are deleted.
pub(super) struct InUse {
    /// By rank in the dictionary.
    pub(super) texts: Vec<bool>,
    /// By number of the foreign name.
    foreign: Vec<bool>,
    /// By index among the deleted patterns of the node below.
    deleted: Vec<bool>,
}

impl InUse {
    /// Reads the patterns that are left; `None` where everything is in use, since nothing is deleted.
    pub(super) fn find(segment: &Segment, node_idx: usize) -> Result<Option<Self>, StoreError> {
        let below = match node_idx.checked_sub(1) {
            Some(below) => segment.deleted().rows(below),
            None => &[],
        };
        if below.is_empty() && segment.deleted().rows(node_idx).is_empty() {
            return Ok(None);
        }
        let (n_below, n_names) = (segment.n_below(node_idx), segment.n_names(node_idx));
        let mut found = Self {
            texts: vec![false; segment.dictionary(node_idx)?.len()],
            foreign: vec![false; segment.n_foreign(node_idx) as usize],
            deleted: vec![false; below.len()],
        };
        let width = segment.width(node_idx);
        let _ = segment.walk(node_idx, |_, _, record| {
            for symbol in record.symbols(width) {
                let in_use = if let Some(text) = symbol.checked_sub(n_names) {
                    found.texts.get_mut(text as usize)
                } else if let Some(foreign) = symbol.checked_sub(n_below) {
                    found.foreign.get_mut(foreign as usize)
                } else {
                    match below.binary_search(&symbol) {
                        Ok(idx) => found.deleted.get_mut(idx),
                        Err(_) => continue,
                    }
                };
                *in_use.ok_or_else(|| segment.corrupt_block())? = true;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Some(found))
    }
}

/// A walk along names of a node over several segments in order: foreign names, and those of deleted
/// patterns of the node below, as far as they are in use.
pub(super) struct NamesWalk {
    cursors: Vec<ForeignCursor>,
    in_use: Vec<Option<InUse>>,
    heap: BinaryHeap<Reverse<(PatternName, usize, HeldName)>>,
}

/// What a segment has a name for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HeldName {
    /// The foreign name of this number.
    Foreign(u32),
    /// The deleted pattern of this row.
    Deleted(u32),
}

impl NamesWalk {
    /// Creates a walk that begins at the first names.
    pub(super) fn new(
        segments: &[Arc<Segment>],
        node_idx: usize,
        in_use: Vec<Option<InUse>>,
    ) -> Result<Self, StoreError> {
        let cursors = segments
            .iter()
            .map(|segment| ForeignCursor::new(Arc::clone(segment), node_idx))
            .collect::<Result<Vec<_>, _>>()?;
        let mut walk = Self {
            cursors,
            in_use,
            heap: BinaryHeap::new(),
        };
        for (idx, segment) in segments.iter().enumerate() {
            walk.push_foreign(idx)?;
            let (Some(below), Some(in_use)) = (node_idx.checked_sub(1), &walk.in_use[idx]) else {
                continue;
            };
            // Deleted patterns are few beside what is merged, so all their names are held at once.
            let deleted = segment.deleted().rows(below).iter().zip(&in_use.deleted);
            for (&row, _) in deleted.filter(|(_, is_used)| **is_used) {
                let name = segment.name_of_rank(below, row)?;
                walk.heap.push(Reverse((name, idx, HeldName::Deleted(row))));
            }
        }
        Ok(walk)
    }

    /// Ends the walk, and returns what is in use.
    pub(super) fn into_in_use(self) -> Vec<Option<InUse>> {
        self.in_use
    }

    /// Adds the foreign name at which a segment's cursor stands, or the next one that is in use.
    fn push_foreign(&mut self, idx: usize) -> Result<(), StoreError> {
        let (cursor, in_use) = (&mut self.cursors[idx], &self.in_use[idx]);
        while let Some(name) = cursor.name() {
            let number = cursor.number();
            if in_use.as_ref().is_none_or(|it| it.foreign[number as usize]) {
                self.heap
                    .push(Reverse((name, idx, HeldName::Foreign(number))));
                break;
            }
            cursor.advance()?;
        }
        Ok(())
    }

    /// Returns the next name; `None` past the last.
    pub(super) fn name(&self) -> Option<PatternName> {
        self.heap.peek().map(|Reverse((name, ..))| *name)
    }

    /// Takes the next name of a segment if it is this one, and returns which segment's it was and what it
    /// has the name for.
    pub(super) fn take(
        &mut self,
        name: &PatternName,
    ) -> Result<Option<(usize, HeldName)>, StoreError> {
        if self.name() != Some(*name) {
            return Ok(None);
        }
        let Some(Reverse((_, idx, held))) = self.heap.pop() else {
            return Ok(None);
        };
        if matches!(held, HeldName::Foreign(_)) {
            self.cursors[idx].advance()?;
            self.push_foreign(idx)?;
        }
        Ok(Some((idx, held)))
    }
}
