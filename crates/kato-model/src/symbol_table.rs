//! Symbol tables: text symbols interned as dense 32-bit ids.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use hashbrown::HashTable;

/// Text symbols with dense ids `0..len`, in order of first interning.
///
/// All text is kept in one buffer, so a table of a tokenizer's vocabulary costs about its text plus
/// 20 bytes a symbol.
///
/// ```
/// use kato_model::SymbolTable;
///
/// let mut table = SymbolTable::new();
/// let cat = table.intern("Ġcat");
/// assert_eq!(table.intern("Ġcat"), cat);
/// assert_eq!(table.text(cat), Some("Ġcat"));
/// assert_eq!(table.id("Ġdog"), None);
/// ```
#[derive(Debug, Clone, Default)]
pub struct SymbolTable {
    text: String,
    /// End of each symbol's text in `text`.
    ends: Vec<usize>,
    /// The first id of every text. Text comes from users, so the hasher is keyed at random.
    ids: HashTable<u32>,
    hasher: RandomState,
}

impl SymbolTable {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of symbols.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether the table holds no symbol.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the bytes of heap that the table holds, within a few per cent.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 8 + self.ids.allocation_size()
    }

    /// Returns the text of a symbol, if `id` is in the table.
    #[must_use]
    pub fn text(&self, id: u32) -> Option<&str> {
        let idx = id as usize;
        let end = *self.ends.get(idx)?;
        let start = if idx == 0 { 0 } else { self.ends[idx - 1] };
        Some(&self.text[start..end])
    }

    /// Returns the id of a symbol, if it was interned.
    #[must_use]
    pub fn id(&self, text: &str) -> Option<u32> {
        self.ids
            .find(self.hasher.hash_one(text), |&id| {
                self.text(id) == Some(text)
            })
            .copied()
    }

    /// Returns the id of a symbol, interning it first if it is new.
    ///
    /// # Panics
    ///
    /// When the table already holds 2³¹ symbols, which is more than any memory this crate targets.
    pub fn intern(&mut self, text: &str) -> u32 {
        if let Some(id) = self.id(text) {
            return id;
        }
        self.push(text)
    }

    /// Appends a symbol under the next id even if its text is already there; lookups find the
    /// first.
    ///
    /// A tokenizer's vocabulary may name one text twice, and its ids must stay what they are.
    ///
    /// # Panics
    ///
    /// As [`SymbolTable::intern`].
    pub fn push(&mut self, text: &str) -> u32 {
        // Ids fit 31 bits, because a learn batch marks literals with the top bit of a packed
        // symbol.
        let id = u32::try_from(self.ends.len())
            .ok()
            .filter(|&id| id < 1 << 31)
            .expect("a symbol table holds at most 2^31 symbols");
        let is_new = self.id(text).is_none();
        self.text.push_str(text);
        self.ends.push(self.text.len());
        // A repeated text stays out of the index, so that lookups find its first id.
        if is_new {
            // Taken out for the call, because a table that grows hashes its texts again through
            // `self`.
            let mut ids = std::mem::take(&mut self.ids);
            ids.insert_unique(self.hasher.hash_one(text), id, |&id| {
                self.hasher.hash_one(self.text(id).unwrap_or_default())
            });
            self.ids = ids;
        }
        id
    }

    /// Returns all symbols in id order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|idx| {
            let start = if idx == 0 { 0 } else { self.ends[idx - 1] };
            &self.text[start..self.ends[idx]]
        })
    }
}

impl<S: AsRef<str>> FromIterator<S> for SymbolTable {
    /// Creates a table whose ids follow the iterator's order, also for texts that repeat.
    fn from_iter<I: IntoIterator<Item = S>>(symbols: I) -> Self {
        let mut table = Self::new();
        for symbol in symbols {
            table.push(symbol.as_ref());
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_texts_keep_their_ids() {
        let table: SymbolTable = ["a", "b", "a"].into_iter().collect();
        assert_eq!(table.len(), 3);
        assert_eq!(table.id("a"), Some(0));
        assert_eq!(table.text(2), Some("a"));
        assert_eq!(table.text(3), None);
        assert_eq!(table.iter().collect::<Vec<_>>(), ["a", "b", "a"]);
    }

    #[test]
    fn the_empty_string_is_a_symbol() {
        let mut table = SymbolTable::new();
        let empty = table.intern("");
        assert_eq!(table.intern(""), empty);
        assert_eq!(table.text(empty), Some(""));
    }
}
