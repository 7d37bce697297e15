//! Numbering of words, in both directions.

use std::hash::BuildHasher as _;

use foldhash::quality::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Distinct words, numbered from 0 in the order of insertion.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// All words, one behind the other.
    text: String,
    /// Where each word ends in `text`: ascending, at borders of characters.
    ends: Vec<u64>,
    /// Numbers of words, by hash of the word.
    table: HashTable<u32>,
    hasher: RandomState,
}

/// Result of an insertion.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    New,
    Known,
    /// There are 2³² words already.
    Full,
}

impl Words {
    /// Creates words as they were stored; `None` if `text` and `ends` do not make distinct words.
    pub(crate) fn from_parts(text: String, ends: Vec<u64>) -> Option<Self> {
        let mut words = Self {
            table: HashTable::with_capacity(ends.len()),
            text,
            ends,
            hasher: RandomState::default(),
        };
        let mut start = 0;
        for idx in 0..words.ends.len() {
            let end = usize::try_from(words.ends[idx]).ok()?;
            let number = u32::try_from(idx).ok()?;
            // Refuses ends that descend, lie behind the text or within a character. `slice` relies
            // on it.
            let word = words.text.get(start..end)?;
            start = end;
            let (text, ends, hasher) = (&words.text, &words.ends, &words.hasher);
            let entry = words.table.entry(
                hasher.hash_one(word),
                |&other| slice(text, ends, other as usize) == word,
                |&other| hasher.hash_one(slice(text, ends, other as usize)),
            );
            let Entry::Vacant(place) = entry else {
                return None;
            };
            place.insert(number);
        }
        // Text behind the last word would belong to the next one inserted.
        (start == words.text.len()).then_some(words)
    }

    /// Inserts a word, unless it is known.
    pub(crate) fn insert(&mut self, word: &str) -> Inserted {
        let (text, ends, hasher) = (&self.text, &self.ends, &self.hasher);
        let entry = self.table.entry(
            hasher.hash_one(word),
            |&other| slice(text, ends, other as usize) == word,
            |&other| hasher.hash_one(slice(text, ends, other as usize)),
        );
        let Entry::Vacant(place) = entry else {
            return Inserted::Known;
        };
        // Four bytes a word keep the hash table small, and vectors come for millions of words, not
        // billions.
        let Ok(number) = u32::try_from(self.ends.len()) else {
            return Inserted::Full;
        };
        place.insert(number);
        self.text.push_str(word);
        self.ends.push(self.text.len() as u64);
        Inserted::New
    }

    /// Returns the number of words.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the word of a number, if there is one.
    pub(crate) fn word(&self, idx: usize) -> Option<&str> {
        (idx < self.len()).then(|| slice(&self.text, &self.ends, idx))
    }

    /// Returns the number of a word, if it is known.
    pub(crate) fn index_of(&self, word: &str) -> Option<usize> {
        let is_word = |&other: &u32| slice(&self.text, &self.ends, other as usize) == word;
        let found = self.table.find(self.hasher.hash_one(word), is_word)?;
        Some(*found as usize)
    }

    /// Returns all words, one behind the other.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns where each word ends in the text.
    pub(crate) fn ends(&self) -> &[u64] {
        &self.ends
    }
}

/// Returns word `idx`, which must be one.
fn slice<'a>(text: &'a str, ends: &[u64], idx: usize) -> &'a str {
    // Every end is an offset in a text that is in memory, so that it fits `usize`.
    let end = |idx: usize| ends[idx] as usize;
    let start = if idx == 0 { 0 } else { end(idx - 1) };
    &text[start..end(idx)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Words {
        let mut all = Words::default();
        for word in words {
            all.insert(word);
        }
        all
    }

    #[test]
    fn the_first_of_equal_words_stands() {
        let mut all = words(&["b", "a", ""]);
        assert_eq!(all.insert("a"), Inserted::Known);
        assert_eq!(all.insert("ab"), Inserted::New);
        let found = ["b", "a", "", "ab", "x"].map(|word| all.index_of(word));
        assert_eq!(found, [Some(0), Some(1), Some(2), Some(3), None]);
        assert_eq!((all.word(3), all.word(4)), (Some("ab"), None));
    }

    #[test]
    fn parts_are_checked() {
        let check = |text: &str, ends: &[u64]| {
            Words::from_parts(text.to_owned(), ends.to_vec()).map(|all| all.len())
        };
        let all = words(&["b", "ä", "abc"]);
        assert_eq!(check(all.text(), all.ends()), Some(3));
        assert_eq!(check("", &[]), Some(0));
        assert_eq!(check("aa", &[1, 2]), None, "equal words");
        assert_eq!(check("ab", &[2, 1]), None, "descending");
        assert_eq!(check("ab", &[1]), None, "text left over");
        assert_eq!(check("ab", &[1, 3]), None, "text missing");
        assert_eq!(check("ä", &[1, 2]), None, "inside a character");
        assert_eq!(check("a", &[u64::MAX]), None, "out of range");
    }
}
