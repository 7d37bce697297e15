//! Walks along all records of a node, for those who need all of them at once.

use std::ops::ControlFlow;

use kato_model::PatternName;

use super::{BlockBuffer, RawRecord, Segment, row_of};
use crate::StoreError;

impl Segment {
    /// Shows `visit` every pattern of a node with its row, in name order, until it breaks off.
    pub(crate) fn walk(
        &self,
        node_idx: usize,
        mut visit: impl FnMut(u32, PatternName, RawRecord<'_>) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let node = &self.nodes[node_idx];
        let mut block = BlockBuffer::default();
        for block_idx in 0..node.n_blocks() {
            self.load(node_idx, block_idx, &mut block)?;
            let n_patterns = node.patterns_in(block_idx);
            let (names, mut records) = block
                .split(n_patterns)
                .ok_or_else(|| self.corrupt_block())?;
            for (within, name) in names.iter().enumerate() {
                let record = RawRecord::take(&mut records, node.width)
                    .ok_or_else(|| self.corrupt_block())?;
                let row = row_of(block_idx, within);
                if self.deleted().holds(node_idx, row) {
                    continue;
                }
                if visit(row, PatternName::from_bytes(*name), record)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
