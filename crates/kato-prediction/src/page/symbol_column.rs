//! The column of symbols of a page: two bytes each as long as all ids fit, else four.

use std::ops::Range;

use crate::state::{OverlapBounds, State};
use crate::symbols::SymbolId;

/// Symbol ids, one pattern after another.
#[derive(Debug, Clone)]
pub(super) enum SymbolColumn {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Default for SymbolColumn {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl SymbolColumn {
    /// Creates an empty column with exactly the capacity that the symbols of these columns need.
    pub(super) fn for_symbols_of(columns: &[&Self]) -> Self {
        let n_symbols = columns.iter().map(|column| column.len()).sum();
        if columns
            .iter()
            .all(|column| matches!(column, Self::Narrow(_)))
        {
            Self::Narrow(Vec::with_capacity(n_symbols))
        } else {
            Self::Wide(Vec::with_capacity(n_symbols))
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Narrow(ids) => ids.len(),
            Self::Wide(ids) => ids.len(),
        }
    }

    /// Appends symbols, widening the column if one of them does not fit.
    pub(super) fn extend(&mut self, symbols: &[SymbolId]) {
        if let Self::Narrow(ids) = self {
            let before = ids.len();
            for symbol in symbols {
                let Ok(narrow) = u16::try_from(symbol.0) else {
                    // The wide column takes all of the symbols below, those already here included.
                    ids.truncate(before);
                    *self = Self::Wide(ids.iter().map(|&id| u32::from(id)).collect());
                    break;
                };
                ids.push(narrow);
            }
        }
        if let Self::Wide(ids) = self {
            ids.extend(symbols.iter().map(|symbol| symbol.0));
        }
    }

    pub(super) fn get(&self, idx: usize) -> SymbolId {
        SymbolId(match self {
            Self::Narrow(ids) => u32::from(ids[idx]),
            Self::Wide(ids) => ids[idx],
        })
    }

    /// Returns upper bounds of what the symbols of a range have in common with a state.
    #[inline]
    pub(super) fn common(&self, range: Range<usize>, state: &State<'_>) -> OverlapBounds {
        match self {
            Self::Narrow(ids) => {
                let symbols = ids[range].iter().map(|&id| SymbolId(u32::from(id)));
                state.common(symbols)
            }
            Self::Wide(ids) => state.common(ids[range].iter().map(|&id| SymbolId(id))),
        }
    }

    /// Returns the symbol after the first occurrence of a symbol in a range.
    #[inline]
    pub(super) fn follower(&self, range: Range<usize>, symbol: SymbolId) -> Option<SymbolId> {
        match self {
            Self::Narrow(ids) => {
                let ids = &ids[range];
                let at = ids.iter().position(|&id| u32::from(id) == symbol.0)?;
                ids.get(at + 1).map(|&id| SymbolId(u32::from(id)))
            }
            Self::Wide(ids) => {
                let ids = &ids[range];
                let at = ids.iter().position(|&id| id == symbol.0)?;
                ids.get(at + 1).map(|&id| SymbolId(id))
            }
        }
    }

    /// Replaces `out` by the symbols of a range.
    pub(super) fn read(&self, range: Range<usize>, out: &mut Vec<SymbolId>) {
        out.clear();
        match self {
            Self::Narrow(ids) => {
                out.extend(ids[range].iter().map(|&id| SymbolId(u32::from(id))));
            }
            Self::Wide(ids) => out.extend(ids[range].iter().map(|&id| SymbolId(id))),
        }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        match self {
            Self::Narrow(ids) => ids.shrink_to_fit(),
            Self::Wide(ids) => ids.shrink_to_fit(),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Narrow(ids) => ids.capacity() * size_of::<u16>(),
            Self::Wide(ids) => ids.capacity() * size_of::<u32>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widens_without_losing_or_doubling_a_symbol() {
        let ids = [1, 65_535, 2, 65_536, 3, u32::MAX].map(SymbolId);
        let mut column = SymbolColumn::default();
        column.extend(&ids[..2]);
        column.extend(&ids[2..]);
        let mut read = Vec::new();
        column.read(0..6, &mut read);
        assert_eq!(read, ids);
    }
}
