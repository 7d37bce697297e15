//! The columns of a node that count: texts, and what was learned again of patterns of lower indexes.

use std::collections::BTreeMap;
use std::path::Path;

use crate::frozen::Column;

use super::columns::{ColumnWriter, WrittenColumn};
use crate::disk::IndexFileError;

/// A writer of those columns.
pub(super) struct CountWriter<'a> {
    pub(super) dir: &'a Path,
    pub(super) node_idx: usize,
    pub(super) written: &'a mut BTreeMap<Column, WrittenColumn>,
}

impl CountWriter<'_> {
    fn column(&self, column: Column) -> Result<ColumnWriter, IndexFileError> {
        ColumnWriter::create(self.dir, self.node_idx, column)
    }

    fn finish(&mut self, column: Column, writer: ColumnWriter) -> Result<(), IndexFileError> {
        self.written.insert(column, writer.finish()?);
        Ok(())
    }

    /// Writes in how many patterns each text is, and how often it was learned. Of the texts of lower
    /// indexes, which are the first, those alone of which there is something to say.
    pub(super) fn write_texts(
        &mut self,
        first_text: u32,
        n_patterns: &[u32],
        frequencies: &[u64],
    ) -> Result<(), IndexFileError> {
        let mut own = self.column(Column::TextCounts)?;
        let mut lower_texts = self.column(Column::LowerTexts)?;
        let mut lower = self.column(Column::LowerTextCounts)?;
        let counts = n_patterns.iter().zip(frequencies);
        for ((n_patterns, frequency), text) in counts.zip(0_u32..) {
            let counts = match text < first_text {
                true if *n_patterns == 0 && *frequency == 0 => continue,
                true => {
                    lower_texts.push(&text.to_le_bytes())?;
                    &mut lower
                }
                false => &mut own,
            };
            counts.push(&n_patterns.to_le_bytes())?;
            counts.push(&frequency.to_le_bytes())?;
        }
        self.finish(Column::TextCounts, own)?;
        self.finish(Column::LowerTexts, lower_texts)?;
        self.finish(Column::LowerTextCounts, lower)
    }

    /// Writes how often patterns of lower indexes were learned again, given by their ranks.
    pub(super) fn write_learned(
        &mut self,
        mut learned: Vec<(u32, u64)>,
    ) -> Result<(), IndexFileError> {
        // They came by name: so ascend the ranks of one index, but not those of several.
        learned.sort_unstable();
        let mut ranks = self.column(Column::LearnedRanks)?;
        let mut frequencies = self.column(Column::LearnedFrequencies)?;
        for (rank, frequency) in learned {
            ranks.push(&rank.to_le_bytes())?;
            frequencies.push(&frequency.to_le_bytes())?;
        }
        self.finish(Column::LearnedRanks, ranks)?;
        self.finish(Column::LearnedFrequencies, frequencies)
    }
}
