//! The symbols of one index: numbers for texts and names, and what is counted for each.

use std::borrow::Cow;
use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use hashbrown::HashTable;
use kato_model::{PatternName, SymbolTable};

use crate::IndexError;

/// A symbol of one [`PatternIndex`](crate::PatternIndex), as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub(crate) u32);

/// Marks the id of a pattern name; other symbols are texts.
const NAME: u32 = 1 << 31;

/// Most symbols of each kind.
const LIMIT: usize = (1 << 31) - 1;

/// Texts and pattern names as dense numbers, with counts.
///
/// Above level 0 nearly all symbols are pattern names, which take 20 bytes here instead of a text of 45.
#[derive(Debug, Clone, Default)]
pub(crate) struct Symbols {
    texts: SymbolTable,
    names: Vec<PatternName>,
    name_ids: HashTable<u32>,
    // Names come from users, so the hasher is keyed at random.
    hasher: RandomState,
    text_counts: Vec<SymbolCount>,
    name_counts: Vec<SymbolCount>,
    n_used: usize,
}

/// What is counted for a symbol.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SymbolCount {
    /// Distinct patterns that hold it (KATO's `pattern_member_frequency`).
    pub(crate) n_patterns: u32,
    /// Occurrences over all learns.
    pub(crate) frequency: u64,
}

impl Symbols {
    /// Number of symbols that occur in a pattern.
    pub(crate) fn n_used(&self) -> usize {
        self.n_used
    }

    pub(crate) fn id(&self, symbol: &str) -> Option<SymbolId> {
        match PatternName::from_symbol(symbol) {
            Some(name) => self.name_id(&name),
            None => self.texts.id(symbol).map(SymbolId),
        }
    }

    pub(crate) fn name_id(&self, name: &PatternName) -> Option<SymbolId> {
        let hash = self.hasher.hash_one(name);
        let found = self
            .name_ids
            .find(hash, |&idx| self.names[idx as usize] == *name)?;
        Some(SymbolId(found | NAME))
    }

    pub(crate) fn intern(&mut self, symbol: &str) -> Result<SymbolId, IndexError> {
        if let Some(name) = PatternName::from_symbol(symbol) {
            return self.intern_name(&name);
        }
        check_room(self.texts.len())?;
        let id = self.texts.intern(symbol);
        self.text_counts
            .resize(self.texts.len(), SymbolCount::default());
        Ok(SymbolId(id))
    }

    pub(crate) fn intern_name(&mut self, name: &PatternName) -> Result<SymbolId, IndexError> {
        if let Some(id) = self.name_id(name) {
            return Ok(id);
        }
        check_room(self.names.len())?;
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

    /// Whether this index gave out the id.
    pub(crate) fn knows(&self, id: SymbolId) -> bool {
        let idx = (id.0 & !NAME) as usize;
        match id.0 & NAME {
            0 => idx < self.text_counts.len(),
            _ => idx < self.name_counts.len(),
        }
    }

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

    /// Counts `occurrences` in learns, and the pattern itself if it is new.
    pub(crate) fn add(&mut self, id: SymbolId, occurrences: u64, is_new: bool) {
        let idx = (id.0 & !NAME) as usize;
        let count = match id.0 & NAME {
            0 => &mut self.text_counts[idx],
            _ => &mut self.name_counts[idx],
        };
        self.n_used += usize::from(is_new && count.n_patterns == 0);
        count.n_patterns += u32::from(is_new);
        count.frequency = count.frequency.saturating_add(occurrences);
    }

    /// All symbols that occur in a pattern, texts before names.
    pub(crate) fn used(&self) -> impl Iterator<Item = (SymbolId, SymbolCount)> {
        let texts = self.text_counts.iter().zip(0..);
        let names = self.name_counts.iter().zip(NAME..);
        texts
            .chain(names)
            .filter(|(count, _)| count.n_patterns > 0)
            .map(|(count, id)| (SymbolId(id), *count))
    }

    /// For every symbol the number of patterns that hold it, for a later look.
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

/// How many patterns held each symbol at some time.
#[derive(Debug, Clone)]
pub(crate) struct SymbolSnapshot {
    texts: Vec<u32>,
    names: Vec<u32>,
}

impl SymbolSnapshot {
    pub(crate) fn n_patterns(&self, id: SymbolId) -> u32 {
        let idx = (id.0 & !NAME) as usize;
        let counts = match id.0 & NAME {
            0 => &self.texts,
            _ => &self.names,
        };
        counts.get(idx).copied().unwrap_or(0)
    }
}

fn check_room(len: usize) -> Result<(), IndexError> {
    if len < LIMIT {
        return Ok(());
    }
    Err(IndexError::Full {
        what: "distinct symbols",
        limit: LIMIT as u64,
    })
}
