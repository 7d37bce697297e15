//! The symbols of one index: ids for texts and pattern names, and the counts of each.

#![expect(
    clippy::cast_possible_truncation,
    reason = "fewer than 2³² names are taken in: `check_room` sees to it"
)]

mod base_counts;

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::quality::RandomState;
use hashbrown::HashTable;
use kato_model::{PatternName, SymbolTable};

use self::base_counts::BaseCounts;
use crate::IndexError;
use crate::frozen::FrozenIndex;

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
    /// The index below, if there is one: its symbols have the first ids of each kind, and those of
    /// this table follow.
    base: Option<Arc<FrozenIndex>>,
    /// What was learned of the base's symbols since.
    base_counts: BaseCounts,
    /// What was taken back of what the base counts.
    base_taken: BaseCounts,
    /// The base's texts that were learned since, by hash: they are looked up with every pattern, and to
    /// bisect the base's texts takes several times as long.
    base_texts: HashTable<SymbolId>,
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SymbolCount {
    /// Distinct patterns that hold it (KATO's `pattern_member_frequency`).
    pub(crate) n_patterns: u32,
    /// Occurrences over all learns.
    pub(crate) frequency: u64,
}

impl SymbolCount {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            n_patterns: self.n_patterns.saturating_add(other.n_patterns),
            frequency: self.frequency.saturating_add(other.frequency),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            n_patterns: self.n_patterns.saturating_sub(other.n_patterns),
            frequency: self.frequency.saturating_sub(other.frequency),
        }
    }
}

impl Symbols {
    /// Creates a table whose first symbols are those of an index, without what was taken back of it.
    pub(crate) fn over(base: Arc<FrozenIndex>) -> Self {
        let mut symbols = Self {
            n_used: base.n_symbols(),
            ..Self::default()
        };
        if let Some(taken) = base.taken() {
            for (id, count) in &taken.symbols {
                *symbols.base_taken.entry(*id) = *count;
            }
            symbols.n_used = symbols.n_used.saturating_sub(taken.n_unused);
        }
        symbols.base = Some(base);
        symbols
    }

    /// Returns what was taken back of the base's symbols, by id.
    #[cfg(feature = "disk")]
    pub(crate) fn taken(&self) -> Vec<(SymbolId, SymbolCount)> {
        let taken = self.base_taken.iter();
        let mut taken: Vec<_> = taken
            .filter(|(_, count)| *count != SymbolCount::default())
            .collect();
        taken.sort_unstable_by_key(|(id, _)| *id);
        taken
    }

    /// Returns the number of texts that are the base's.
    fn first_text(&self) -> u32 {
        self.base.as_ref().map_or(0, |base| base.n_texts())
    }

    /// Returns the number of names that are the base's.
    fn first_name(&self) -> u32 {
        self.base.as_ref().map_or(0, |base| base.n_below())
    }

    /// Returns whether a symbol is the base's, and otherwise its place in this table's lists.
    fn place(&self, id: SymbolId) -> Result<usize, &FrozenIndex> {
        let idx = id.0 & !NAME;
        let first = match id.0 & NAME {
            0 => self.first_text(),
            _ => self.first_name(),
        };
        match (idx.checked_sub(first), &self.base) {
            (None, Some(base)) => Err(base),
            (own, _) => Ok(own.unwrap_or(0) as usize),
        }
    }

    /// Returns the number of symbols that occur in a pattern.
    pub(crate) fn n_used(&self) -> usize {
        self.n_used
    }

    /// Returns the id of a symbol; `None` if it was never interned.
    pub(crate) fn id(&self, symbol: &str) -> Option<SymbolId> {
        // The same division into names and texts as in `intern`: every symbol has one id.
        match PatternName::from_symbol(symbol) {
            Some(name) => self.name_id(&name),
            None => self.text_id(symbol),
        }
    }

    fn text_id(&self, text: &str) -> Option<SymbolId> {
        let base = self.base.as_ref().and_then(|base| base.id(text));
        base.or_else(|| self.own_text_id(text))
    }

    /// Returns the id of a text that the base does not have.
    fn own_text_id(&self, text: &str) -> Option<SymbolId> {
        Some(SymbolId(self.texts.id(text)? + self.first_text()))
    }

    /// Returns the id of a text of the base, and remembers it.
    fn base_text_id(&mut self, text: &str) -> Option<SymbolId> {
        let base = self.base.as_ref()?;
        let hash = self.hasher.hash_one(text);
        let found = self.base_texts.find(hash, |&id| base.is_text(id, text));
        if let Some(&id) = found {
            return Some(id);
        }
        let id = base.id(text)?;
        let hasher = &self.hasher;
        let rehash = |&id: &SymbolId| hasher.hash_one(&*base.text(id));
        self.base_texts.insert_unique(hash, id, rehash);
        Some(id)
    }

    /// Returns the id of a pattern name as a symbol; `None` if it was never interned.
    pub(crate) fn name_id(&self, name: &PatternName) -> Option<SymbolId> {
        let base = self.base.as_ref().and_then(|base| base.name_id(name));
        base.or_else(|| self.own_name_id(name))
    }

    /// Returns the id of a pattern name that the base does not have.
    fn own_name_id(&self, name: &PatternName) -> Option<SymbolId> {
        let hash = self.hasher.hash_one(name);
        let found = self
            .name_ids
            .find(hash, |&idx| self.names[idx as usize] == *name)?;
        Some(SymbolId((found + self.first_name()) | NAME))
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
        let known = self.own_text_id(text);
        if let Some(id) = known.or_else(|| self.base_text_id(text)) {
            return Ok(id);
        }
        // The table panics when it is full.
        let first = self.first_text();
        check_room(self.texts.len() + first as usize, limit)?;
        let id = self.texts.push(text);
        self.text_counts.push(SymbolCount::default());
        Ok(SymbolId(id + first))
    }

    /// Returns the id of a pattern name as a symbol, adding it with counts of 0 if it is new.
    pub(crate) fn intern_name(&mut self, name: &PatternName) -> Result<SymbolId, IndexError> {
        let base = self.base.as_ref().and_then(|base| base.name_id(name));
        base.map_or_else(|| self.intern_own_name(name), Ok)
    }

    /// Returns the id of a pattern name that the base does not have, as [`intern_name`](Self::intern_name) does.
    pub(crate) fn intern_own_name(&mut self, name: &PatternName) -> Result<SymbolId, IndexError> {
        if let Some(id) = self.own_name_id(name) {
            return Ok(id);
        }
        let first = self.first_name();
        check_room(self.names.len() + first as usize, LIMIT)?;
        let idx = self.names.len() as u32;
        self.names.push(*name);
        self.name_counts.push(SymbolCount::default());
        let (names, hasher) = (&self.names, &self.hasher);
        self.name_ids
            .insert_unique(hasher.hash_one(name), idx, |&idx| {
                hasher.hash_one(names[idx as usize])
            });
        Ok(SymbolId((idx + first) | NAME))
    }

    /// Returns whether this table gave out the id.
    pub(crate) fn knows(&self, id: SymbolId) -> bool {
        match (self.place(id), id.0 & NAME) {
            (Err(base), _) => base.knows(id),
            (Ok(idx), 0) => idx < self.text_counts.len(),
            (Ok(idx), _) => idx < self.name_counts.len(),
        }
    }

    /// Returns the text of a symbol, which a pattern name is given with its prefix `PTRN|`.
    pub(crate) fn text(&self, id: SymbolId) -> Cow<'_, str> {
        match (self.place(id), id.0 & NAME) {
            (Err(base), _) => base.text(id),
            (Ok(idx), 0) => Cow::Borrowed(self.texts.text(idx as u32).unwrap_or_default()),
            (Ok(idx), _) => Cow::Owned(self.names[idx].prefixed().to_string()),
        }
    }

    pub(crate) fn count(&self, id: SymbolId) -> SymbolCount {
        match self.place(id) {
            Err(base) => {
                let taken = self.base_taken.get(id);
                base.count(id).plus(self.learned(id)).minus(taken)
            }
            Ok(idx) => self.own_count(id, idx),
        }
    }

    /// Returns the number of patterns that hold a symbol: [`count`](Self::count) without the
    /// frequency, which may take longer.
    pub(crate) fn n_patterns(&self, id: SymbolId) -> u32 {
        match self.place(id) {
            Err(base) => base
                .n_patterns_with(id)
                .saturating_add(self.learned(id).n_patterns)
                .saturating_sub(self.base_taken.get(id).n_patterns),
            Ok(idx) => self.own_count(id, idx).n_patterns,
        }
    }

    /// Returns what was learned of one of the base's symbols since.
    fn learned(&self, id: SymbolId) -> SymbolCount {
        self.base_counts.get(id)
    }

    fn own_count(&self, id: SymbolId, idx: usize) -> SymbolCount {
        let counts = match id.0 & NAME {
            0 => &self.text_counts,
            _ => &self.name_counts,
        };
        counts.get(idx).copied().unwrap_or_default()
    }

    /// Adds `occurrences` over learns, and one pattern if it is new.
    pub(crate) fn add(&mut self, id: SymbolId, occurrences: u64, is_new: bool) {
        let idx = self.place(id).ok();
        let count = match (idx, id.0 & NAME) {
            (None, _) => self.base_counts.entry(id),
            (Some(idx), 0) => &mut self.text_counts[idx],
            (Some(idx), _) => &mut self.name_counts[idx],
        };
        // The base is asked last: most symbols have been met since, and looking there takes longer.
        let base = self.base.as_ref().filter(|_| idx.is_none());
        let taken = &self.base_taken;
        let is_in_base =
            || base.is_some_and(|base| base.n_patterns_with(id) > taken.get(id).n_patterns);
        self.n_used += usize::from(is_new && count.n_patterns == 0 && !is_in_base());
        // Cannot overflow: with two pages always free, pages hold fewer than 2³² patterns.
        count.n_patterns += u32::from(is_new);
        count.frequency = count.frequency.saturating_add(occurrences);
    }

    /// Takes back `occurrences` over learns, and one pattern if `is_pattern`.
    pub(crate) fn take(&mut self, id: SymbolId, occurrences: u64, is_pattern: bool) {
        // Asked once for each symbol of a pattern: how many patterns of the base hold a name takes several look-ups.
        let is_last = is_pattern && self.n_patterns(id) == 1;
        let taken = SymbolCount {
            n_patterns: u32::from(is_pattern),
            frequency: occurrences,
        };
        match (self.place(id).ok(), id.0 & NAME) {
            (None, _) => {
                // What was learned since first: only where nothing of it is left is the base asked
                // whether a symbol is in use.
                let learned = self.base_counts.entry(id);
                let rest = taken.minus(*learned);
                *learned = learned.minus(taken);
                let of_base = self.base_taken.entry(id);
                *of_base = of_base.plus(rest);
            }
            (Some(idx), 0) => self.text_counts[idx] = self.text_counts[idx].minus(taken),
            (Some(idx), _) => self.name_counts[idx] = self.name_counts[idx].minus(taken),
        }
        self.n_used -= usize::from(is_last);
    }

    /// Returns all symbols that occur in a pattern with their counts, texts before names of the
    /// base and of the table each.
    pub(crate) fn used(&self) -> impl Iterator<Item = (SymbolId, SymbolCount)> {
        let base = self.base.iter().flat_map(|base| {
            let known = base.used();
            // What no pattern of the base holds may be held by one that was learned since.
            let since = self
                .base_counts
                .iter()
                .filter(|(id, count)| count.n_patterns > 0 && base.n_patterns_with(*id) == 0);
            known.chain(since.map(|(id, _)| id))
        });
        let texts = self.text_counts.iter().zip(self.first_text()..);
        let names = self.name_counts.iter().zip(self.first_name() | NAME..);
        let own = texts
            .chain(names)
            .filter(|(count, _)| count.n_patterns > 0)
            .map(|(count, id)| (SymbolId(id), *count));
        let is_used = |(_, count): &(SymbolId, SymbolCount)| count.n_patterns > 0;
        let below = base.map(|id| (id, self.count(id)));
        below.filter(is_used).chain(own)
    }

    /// Copies the number of patterns of every symbol, for the statistics of a finalized node.
    pub(crate) fn snapshot(&self) -> SymbolSnapshot {
        // The base never changes, so only what was learned since is copied.
        SymbolSnapshot(Self {
            base: self.base.clone(),
            base_counts: self.base_counts.clone(),
            base_taken: self.base_taken.clone(),
            text_counts: self.text_counts.clone(),
            name_counts: self.name_counts.clone(),
            ..Self::default()
        })
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
            + self.name_ids.allocation_size()
            + (self.text_counts.capacity() + self.name_counts.capacity()) * size_of::<SymbolCount>()
            + self.base_counts.heap_bytes()
            + self.base_taken.heap_bytes()
            + self.base_texts.allocation_size()
    }
}

/// The number of patterns that held each symbol at some time: a table without its texts.
#[derive(Debug, Clone)]
pub(crate) struct SymbolSnapshot(Symbols);

impl SymbolSnapshot {
    /// Returns the number of patterns that held a symbol; 0 for symbols that came later.
    pub(crate) fn n_patterns(&self, id: SymbolId) -> u32 {
        self.0.n_patterns(id)
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
