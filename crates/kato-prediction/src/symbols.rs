//! The symbols of one index: ids for texts and pattern names, and the counts of each.

use std::borrow::Cow;
use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use hashbrown::HashTable;
use kato_model::{PatternName, SymbolTable};

use crate::IndexError;

/// A symbol of one [`PatternIndex`](crate::PatternIndex), as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub(crate) u32);

/// The bit that marks the id of a pattern name; other symbols are texts.
const NAME: u32 = 1 << 31;

/// Most symbols of each kind. One less than the other 31 bits can number, so that no id equals that
/// of unknown symbols ([`UNKNOWN`](crate::state::UNKNOWN)).
const LIMIT: usize = (1 << 31) - 1;

/// A table of texts and pattern names as dense numbers, with counts.
///
/// Above level 0 nearly all symbols are pattern names, which take 20 bytes here
/// instead of a text of 45.
#[derive(Debug, Clone, Default)]
pub(crate) struct Symbols {
    texts: SymbolTable,
    names: Vec<PatternName>,
    name_ids: HashTable<u32>,
    // Names come from users, so the hasher is keyed at random.
    hasher: RandomState,
    text_counts: Vec<SymbolCount>,
    name_counts: Vec<SymbolCount>,
    /// Number of symbols that occur in a pattern.
    n_used: usize,
}

/// The counts of a symbol.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SymbolCount {
    /// Distinct patterns that hold it (KATO's `pattern_member_frequency`).
    pub(crate) n_patterns: u32,
    /// Occurrences over all learns.
    pub(crate) frequency: u64,
}

impl Symbols {
    /// Returns the number of symbols that occur in a pattern.
    pub(crate) fn n_used(&self) -> usize {
        self.n_used
    }

    /// Returns the id of a symbol; `None` if it was never interned.
    pub(crate) fn id(&self, symbol: &str) -> Option<SymbolId> {
        // The same division into names and texts as in `intern`: every symbol has one id.
        match PatternName::from_symbol(symbol) {
            Some(name) => self.name_id(&name),
            None => self.texts.id(symbol).map(SymbolId),
        }
    }

    /// Returns the id of a pattern name as a symbol; `None` if it was never interned.
    pub(crate) fn name_id(&self, name: &PatternName) -> Option<SymbolId> {
        let hash = self.hasher.hash_one(name);
        let found = self
            .name_ids
            .find(hash, |&idx| self.names[idx as usize] == *name)?;
        Some(SymbolId(found | NAME))
    }

    /// Returns the id of a symbol, adding it with counts of 0 if it is new.
    pub(crate) fn intern(&mut self, symbol: &str) -> Result<SymbolId, IndexError> {
        match PatternName::from_symbol(symbol) {
            Some(name) => self.intern_name(&name),
            None => self.intern_text(symbol, LIMIT),
        }
    }

    /// Returns the id of a text, adding it if it is new and there are fewer than `limit`.
    fn intern_text(&mut self, text: &str, limit: usize) -> Result<SymbolId, IndexError> {
        // Before the room is checked: what is known needs none.
        if let Some(id) = self.texts.id(text) {
            return Ok(SymbolId(id));
        }
        // The table panics when it is full.
        check_room(self.texts.len(), limit)?;
        let id = self.texts.push(text);
        self.text_counts.push(SymbolCount::default());
        Ok(SymbolId(id))
    }

    /// Returns the id of a pattern name as a symbol, adding it with counts of 0 if it is new.
    pub(crate) fn intern_name(&mut self, name: &PatternName) -> Result<SymbolId, IndexError> {
        if let Some(id) = self.name_id(name) {
            return Ok(id);
        }
        check_room(self.names.len(), LIMIT)?;
        let idx = self.names.len() as u32;
        self.names.push(*name);
        self.name_counts.push(SymbolCount::default());
        let (names, hasher) = (&self.names, &self.hasher);
        self.name_ids
            .insert_unique(hasher.hash_one(name), idx, |&idx| {
                hasher.hash_one(names[idx as usize])
            });
        Ok(SymbolId(idx | NAME))
    }

    /// Returns whether this table gave out the id.
    pub(crate) fn knows(&self, id: SymbolId) -> bool {
        let idx = (id.0 & !NAME) as usize;
        match id.0 & NAME {
            0 => idx < self.text_counts.len(),
            _ => idx < self.name_counts.len(),
        }
    }

    /// Returns the text of a symbol, which a pattern name is given with its prefix `PTRN|`.
    pub(crate) fn text(&self, id: SymbolId) -> Cow<'_, str> {
        if id.0 & NAME == 0 {
            Cow::Borrowed(self.texts.text(id.0).unwrap_or_default())
        } else {
            Cow::Owned(self.names[(id.0 & !NAME) as usize].prefixed().to_string())
        }
    }

    pub(crate) fn count(&self, id: SymbolId) -> SymbolCount {
        let idx = (id.0 & !NAME) as usize;
        let counts = match id.0 & NAME {
            0 => &self.text_counts,
            _ => &self.name_counts,
        };
        counts.get(idx).copied().unwrap_or_default()
    }

    /// Adds `occurrences` over learns, and one pattern if it is new.
    pub(crate) fn add(&mut self, id: SymbolId, occurrences: u64, is_new: bool) {
        let idx = (id.0 & !NAME) as usize;
        let count = match id.0 & NAME {
            0 => &mut self.text_counts[idx],
            _ => &mut self.name_counts[idx],
        };
        self.n_used += usize::from(is_new && count.n_patterns == 0);
        // Cannot overflow: with two pages always free, an index holds fewer than 2³² patterns.
        count.n_patterns += u32::from(is_new);
        count.frequency = count.frequency.saturating_add(occurrences);
    }

    /// Returns all symbols that occur in a pattern, texts before names.
    pub(crate) fn used(&self) -> impl Iterator<Item = (SymbolId, SymbolCount)> {
        let texts = self.text_counts.iter().zip(0..);
        let names = self.name_counts.iter().zip(NAME..);
        texts
            .chain(names)
            .filter(|(count, _)| count.n_patterns > 0)
            .map(|(count, id)| (SymbolId(id), *count))
    }

    /// Copies the number of patterns of every symbol, for the statistics of a finalized node.
    pub(crate) fn snapshot(&self) -> SymbolSnapshot {
        let n_patterns = |counts: &[SymbolCount]| counts.iter().map(|c| c.n_patterns).collect();
        SymbolSnapshot {
            texts: n_patterns(&self.text_counts),
            names: n_patterns(&self.name_counts),
        }
    }

    /// Gives back memory that was reserved for more symbols.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.names.shrink_to_fit();
        self.text_counts.shrink_to_fit();
        self.name_counts.shrink_to_fit();
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.texts.heap_bytes()
            + self.names.capacity() * size_of::<PatternName>()
            + self.name_ids.capacity() * (size_of::<u32>() + 1)
            + (self.text_counts.capacity() + self.name_counts.capacity()) * size_of::<SymbolCount>()
    }
}

/// The number of patterns that held each symbol at some time.
#[derive(Debug, Clone)]
pub(crate) struct SymbolSnapshot {
    texts: Vec<u32>,
    names: Vec<u32>,
}

impl SymbolSnapshot {
    /// Returns the number of patterns that held a symbol; 0 for symbols that came later.
    pub(crate) fn n_patterns(&self, id: SymbolId) -> u32 {
        let idx = (id.0 & !NAME) as usize;
        let counts = match id.0 & NAME {
            0 => &self.texts,
            _ => &self.names,
        };
        counts.get(idx).copied().unwrap_or(0)
    }
}

/// Fails if a list of `len` symbols of one kind is full.
fn check_room(len: usize, limit: usize) -> Result<(), IndexError> {
    if len < limit {
        return Ok(());
    }
    Err(IndexError::Full {
        what: "distinct symbols",
        limit: limit as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_still_knows_its_texts() {
        let mut symbols = Symbols::default();
        let first = symbols.intern_text("a", 1).unwrap();
        assert_eq!(symbols.intern_text("a", 1).unwrap(), first);
        assert!(matches!(
            symbols.intern_text("b", 1),
            Err(IndexError::Full { limit: 1, .. })
        ));
    }
}
