//! Looking up names that come in order.

use std::sync::Arc;

use kato_model::PatternName;

use super::FrozenIndex;
use super::units::NearName;
use crate::SymbolId;

/// A look-up of names in an index on the disk, by whoever inserts nothing himself; see
/// [`PatternIndex::insert_found`](crate::PatternIndex::insert_found). It is quickest where names come in
/// order.
#[derive(Debug, Clone)]
pub struct LookUp {
    index: Arc<FrozenIndex>,
    /// Where the name before lies, or would.
    near: Vec<u32>,
    /// The same of names as symbols.
    near_symbols: Vec<NearName>,
}

/// What was found of a name: where in an index its pattern lies, or that it is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found(Option<u32>);

/// What was found of a name as a symbol: its id in an index, or that no pattern there holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundSymbol(Option<SymbolId>);

impl LookUp {
    /// Creates a look-up in an index.
    #[must_use]
    pub const fn new(index: Arc<FrozenIndex>) -> Self {
        Self {
            index,
            near: Vec::new(),
            near_symbols: Vec::new(),
        }
    }

    /// Looks up a name. Where the index is damaged, what is found is worth nothing.
    pub fn find(&mut self, name: &PatternName) -> Found {
        Found(self.index.rank_near(name, &mut self.near))
    }

    /// Looks up a name as a symbol; see [`PatternIndex::intern_found`](crate::PatternIndex::intern_found). Where the
    /// index is damaged, what is found is worth nothing.
    pub fn find_symbol(&mut self, name: &PatternName) -> FoundSymbol {
        FoundSymbol(self.index.name_id_near(name, &mut self.near_symbols))
    }
}

impl Found {
    /// Returns the rank of the pattern; `None` if it is not there.
    pub(crate) const fn rank(self) -> Option<u32> {
        self.0
    }
}

impl FoundSymbol {
    /// Returns the id of the symbol; `None` if no pattern holds it.
    pub(crate) const fn id(self) -> Option<SymbolId> {
        self.0
    }
}
