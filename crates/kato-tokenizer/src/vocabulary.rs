//! The table from ids to token strings.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// Token strings by id, in the tokenizer's own alphabet. Cloning shares the table.
///
/// Ids are dense: `0..len()`. A file may leave ids unused; those, like an empty
/// string, have no token.
///
/// ```
/// use kato_tokenizer::Vocabulary;
/// let vocabulary = Vocabulary::from_tokens(["a", "b"]);
/// assert_eq!(vocabulary.get(1), Some("b"));
/// assert_eq!(vocabulary.id("b"), Some(1));
/// assert_eq!(vocabulary.get(2), None);
/// ```
#[derive(Clone)]
pub struct Vocabulary {
    table: Arc<Table>,
}

struct Table {
    /// All token strings, one after the other.
    text: String,
    /// `ends[id]` is where the token of `id` ends in `text`; it begins where the one before ends.
    ends: Vec<usize>,
    /// Ids ordered by (string, id); sorted when a string is first looked up.
    by_text: OnceLock<Vec<u32>>,
}

impl Vocabulary {
    /// Creates a vocabulary whose ids number the given strings from 0; an empty string
    /// leaves its id unused.
    ///
    /// # Panics
    ///
    /// If there are 2³² strings or more.
    pub fn from_tokens<T: AsRef<str>>(tokens: impl IntoIterator<Item = T>) -> Self {
        let mut text = String::new();
        let ends: Vec<usize> = tokens
            .into_iter()
            .map(|token| {
                text.push_str(token.as_ref());
                text.len()
            })
            .collect();
        assert!(u32::try_from(ends.len()).is_ok(), "ids are 32 bits wide");
        let by_text = OnceLock::new();
        Self {
            table: Arc::new(Table {
                text,
                ends,
                by_text,
            }),
        }
    }

    /// Returns the number of ids, unused ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.ends.len()
    }

    /// Returns whether there is no id at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.ends.is_empty()
    }

    /// Returns the token string of `id`; `None` when the id is out of range or unused.
    ///
    /// Complexity: O(1).
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&str> {
        self.table.get(id)
    }

    /// Returns the id of a token string, the lowest where several ids share it.
    ///
    /// Complexity: O(log len) string comparisons.
    #[must_use]
    pub fn id(&self, token: &str) -> Option<u32> {
        let by_text = self.table.by_text.get_or_init(|| self.table.order());
        let at =
            by_text.partition_point(|&id| self.table.get(id).is_some_and(|known| known < token));
        by_text
            .get(at)
            .copied()
            .filter(|&id| self.table.get(id) == Some(token))
    }

    /// Returns every id that has a token, ascending, with its token.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        (0u32..)
            .zip(&self.table.ends)
            .filter_map(|(id, _)| Some((id, self.get(id)?)))
    }
}

impl Table {
    fn get(&self, id: u32) -> Option<&str> {
        let id = id as usize;
        let end = *self.ends.get(id)?;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        self.text.get(start..end).filter(|token| !token.is_empty())
    }

    /// Returns the ids that have a token, ordered by token, then by id.
    fn order(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = (0u32..).zip(&self.ends).map(|(id, _)| id).collect();
        ids.retain(|&id| self.get(id).is_some());
        // Stable, so that of the ids that share a token the lowest stays first.
        ids.sort_by_key(|&id| self.get(id));
        ids
    }
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vocabulary")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Vocabulary;

    #[test]
    fn unused_ids_have_no_token() {
        let vocabulary = Vocabulary::from_tokens(["a", "", "c"]);
        assert_eq!(vocabulary.len(), 3);
        assert_eq!(vocabulary.iter().collect::<Vec<_>>(), [(0, "a"), (2, "c")]);
        assert_eq!(vocabulary.id(""), None);
        assert_eq!(Vocabulary::from_tokens([""; 0]).id("a"), None);
    }

    proptest! {
        #[test]
        fn the_lowest_id_of_a_string_is_found(tokens in prop::collection::vec("[ab]{1,3}", 0..30), probe in "[ab]{1,3}") {
            let vocabulary = Vocabulary::from_tokens(&tokens);
            let expected = tokens.iter().position(|token| *token == probe).map(|at| at as u32);
            prop_assert_eq!(vocabulary.id(&probe), expected);
            for (id, token) in (0u32..).zip(&tokens) {
                prop_assert_eq!(vocabulary.get(id), Some(token.as_str()));
            }
        }
    }
}
