//! What was taken back of what an index is of: patterns that lie in it, and that nothing knows or counts any more.

use kato_model::PatternName;

use crate::SymbolId;
use crate::symbols::SymbolCount;

/// What was taken back of the patterns of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The patterns with their ranks among all, which ascend.
    pub(crate) patterns: Vec<(u32, PatternName)>,
    /// What they counted of each of their symbols, which ascend.
    pub(crate) symbols: Vec<(SymbolId, SymbolCount)>,
    /// Symbols that no other pattern holds.
    pub(crate) n_unused: usize,
}

impl Taken {
    pub(super) fn heap_bytes(&self) -> usize {
        self.patterns.capacity() * size_of::<(u32, PatternName)>()
            + self.symbols.capacity() * size_of::<(SymbolId, SymbolCount)>()
    }
}
