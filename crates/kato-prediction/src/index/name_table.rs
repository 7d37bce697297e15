//! The look-up of patterns by name: hash tables of places, one for each first byte of a name.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use hashbrown::HashTable;
use kato_model::PatternName;

use super::page_set::{Pages, Place};

/// Tables of a large look-up, one for each first byte of a name.
const PARTS: usize = 1 << 8;

/// Patterns from which on there is more than one table.
const SPLIT_AT: usize = 1 << 16;

/// Where patterns lie, by the hash of the name; the names themselves are in the pages.
///
/// Stores hand over patterns in name order. Of a large table every look-up would wait for memory; the
/// part that neighbours in this order share stays in the processor's cache.
#[derive(Debug, Clone, Default)]
pub(super) struct NameTable {
    /// None, one, or [`PARTS`].
    parts: Vec<HashTable<Place>>,
    len: usize,
    // Names come from users, so the hasher is keyed at random.
    hasher: RandomState,
}

/// A name as the table looks it up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    hash: u64,
    first_byte: u8,
}

impl NameTable {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn key(&self, name: &PatternName) -> Key {
        Key {
            hash: self.hasher.hash_one(name),
            first_byte: name.as_bytes()[0],
        }
    }

    /// Returns where a pattern lies, given the key of its name.
    pub(super) fn find(&self, key: Key, name: &PatternName, pages: &Pages) -> Option<Place> {
        let part = self.parts.get(self.part(key))?;
        part.find(key.hash, |&place| pages.name(place) == *name)
            .copied()
    }

    /// Adds the place of a pattern that is not in the table; its name is in the pages already.
    pub(super) fn insert(&mut self, key: Key, place: Place, pages: &Pages) {
        self.reserve(1, pages);
        let part = self.part(key);
        let rehash = hash_in(pages, &self.hasher);
        self.parts[part].insert_unique(key.hash, place, rehash);
        self.len += 1;
    }

    /// Replaces the place of a pattern that has moved.
    pub(super) fn update(&mut self, name: &PatternName, from: Place, to: Place) {
        let key = self.key(name);
        let part = self.part(key);
        // Compared by place, as the old places of entries not yet updated hold no names any more.
        let found = self.parts.get_mut(part);
        if let Some(place) = found.and_then(|part| part.find_mut(key.hash, |&place| place == from))
        {
            *place = to;
        }
    }

    /// Makes room for so many more patterns.
    pub(super) fn reserve(&mut self, additional: usize, pages: &Pages) {
        let len = self.len.saturating_add(additional);
        if self.parts.is_empty() {
            let n_parts = if len < SPLIT_AT { 1 } else { PARTS };
            self.parts.resize_with(n_parts, HashTable::new);
        } else if self.parts.len() < PARTS && len >= SPLIT_AT {
            self.split(pages);
        }
        // One more grows by itself.
        if additional > 1 {
            let share = additional.div_ceil(self.parts.len());
            let rehash = hash_in(pages, &self.hasher);
            for part in &mut self.parts {
                part.reserve(share, &rehash);
            }
        }
    }

    /// Gives back memory that was reserved for more.
    pub(super) fn shrink_to_fit(&mut self, pages: &Pages) {
        let rehash = hash_in(pages, &self.hasher);
        for part in &mut self.parts {
            part.shrink_to_fit(&rehash);
        }
    }

    /// Returns the bytes of memory that the tables take.
    pub(super) fn heap_bytes(&self) -> usize {
        let tables = self.parts.iter().map(HashTable::allocation_size);
        tables.sum::<usize>() + self.parts.capacity() * size_of::<HashTable<Place>>()
    }

    /// Puts what the only table holds into one for each first byte.
    fn split(&mut self, pages: &Pages) {
        let one = std::mem::take(&mut self.parts);
        self.parts.resize_with(PARTS, HashTable::new);
        let rehash = hash_in(pages, &self.hasher);
        for place in one.into_iter().flatten() {
            let key = self.key(&pages.name(place));
            let part = self.part(key);
            self.parts[part].insert_unique(key.hash, place, &rehash);
        }
    }

    /// Returns the number of the table that has the place of a name.
    fn part(&self, key: Key) -> usize {
        match self.parts.len() {
            PARTS => usize::from(key.first_byte),
            _ => 0,
        }
    }
}

/// Returns the hash by which a place is held: a table that changes its size hashes its entries again, by
/// the names in the pages.
fn hash_in<'a>(pages: &'a Pages, hasher: &'a RandomState) -> impl Fn(&Place) -> u64 + 'a {
    |place| hasher.hash_one(pages.name(*place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_patterns_have_one_table_and_many_have_one_for_each_first_byte() {
        let (mut table, pages) = (NameTable::default(), Pages::default());
        for (additional, n_parts) in [(1, 1), (1, 1), (SPLIT_AT, PARTS), (1, PARTS)] {
            table.reserve(additional, &pages);
            assert_eq!(table.parts.len(), n_parts);
        }
    }
}
