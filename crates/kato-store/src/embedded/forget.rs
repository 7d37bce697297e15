//! Forgetting: finding the rows of patterns in a segment, and what they count.

use kato_model::PatternName;

use super::Generation;
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
    /// Returns for each segment of a generation that nothing is found in it yet.
    pub(super) fn nothing_of(generation: &Generation) -> Vec<Self> {
        let n_nodes = generation.manifest.nodes.len();
        generation
            .segments
            .iter()
            .map(|_| Self::new(n_nodes))
            .collect()
    }

    fn new(n_nodes: usize) -> Self {
        Self {
            rows: vec![Vec::new(); n_nodes],
            totals: vec![NodeTotals::default(); n_nodes],
            symbols: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Finds the patterns of these names, which ascend in every node.
    pub(super) fn of_names(
        segment: &Segment,
        names: &[Vec<PatternName>],
    ) -> Result<Self, StoreError> {
        let mut found = Self::new(names.len());
        for (node_idx, names) in names.iter().enumerate() {
            found.find(segment, node_idx, names, |_, _| Ok(()))?;
        }
        Ok(found)
    }

    /// Adds the patterns of a node of these names, which ascend, and are behind those that were found in it
    /// before. `look` sees each with the place of its name.
    pub(super) fn find(
        &mut self,
        segment: &Segment,
        node_idx: usize,
        names: &[PatternName],
        mut look: impl FnMut(usize, RawRecord<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let width = segment.width(node_idx);
        segment.find_each(node_idx, names, |idx, row, record| {
            look(idx, record)?;
            self.push(node_idx, row, record, width);
            Ok(())
        })
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
