//! Forgetting: finding the rows of patterns in a segment, and what they count.

use kato_model::PatternName;

use super::segment::{NodeTotals, RawRecord, Segment, count_distinct};
use crate::StoreError;

/// The patterns of a segment that are to be forgotten.
pub(super) struct Found {
    /// Their rows by node, ascending.
    pub(super) rows: Vec<Vec<u32>>,
    /// What they count, by node.
    pub(super) totals: Vec<NodeTotals>,
    symbols: Vec<u32>,
    scratch: Vec<u32>,
}

impl Found {
    /// Finds the patterns of these names, which ascend in every node.
    pub(super) fn find(segment: &Segment, names: &[Vec<PatternName>]) -> Result<Self, StoreError> {
        let mut found = Self {
            rows: vec![Vec::new(); names.len()],
            totals: vec![NodeTotals::default(); names.len()],
            symbols: Vec::new(),
            scratch: Vec::new(),
        };
        for (node_idx, names) in names.iter().enumerate() {
            let width = segment.width(node_idx);
            segment.find_each(node_idx, names, |row, record| {
                found.push(node_idx, row, record, width);
                Ok(())
            })?;
        }
        Ok(found)
    }

    fn push(&mut self, node_idx: usize, row: u32, record: RawRecord<'_>, width: usize) {
        self.rows[node_idx].push(row);
        self.symbols.clear();
        self.symbols.extend(record.symbols(width));
        let n_distinct = count_distinct(&self.symbols, &mut self.scratch);
        let n_symbols = self.symbols.len() as u64;
        self.totals[node_idx].count(record.frequency, n_symbols, n_distinct);
    }

    /// Returns whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.iter().all(Vec::is_empty)
    }
}
