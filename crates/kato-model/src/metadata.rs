//! Metadata: for every key the set of values that came with a pattern, as text.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::metadata_value::MetadataValue;

/// The values seen for every key, as Python's `str` writes them, each once, sorted.
///
/// [`merge`](Self::merge) is the union, so it is commutative and associative. With a bound every
/// key keeps its smallest values, which is commutative and associative too as long as the bound is
/// the same throughout; KATO itself keeps all.
///
/// # Examples
///
/// ```
/// use kato_model::{Metadata, MetadataValue};
///
/// let mut metadata = Metadata::default();
/// metadata.insert("book", &MetadataValue::Integer(1), None);
/// metadata.insert("book", &MetadataValue::Text("0".to_owned()), None);
/// assert!(metadata.values("book").eq(["0", "1"]));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metadata {
    values: BTreeMap<String, BTreeSet<String>>,
}

impl Metadata {
    /// Adds a value to a key; with a bound, the key keeps its smallest values.
    pub fn insert(&mut self, key: &str, value: &MetadataValue, bound: Option<NonZeroUsize>) {
        self.insert_text(key, value.to_string(), bound);
    }

    /// Adds a value that is text already; with a bound, the key keeps its smallest values.
    pub fn insert_text(&mut self, key: &str, value: String, bound: Option<NonZeroUsize>) {
        // Looked up first, because `entry` takes an owned key even where the key is there already.
        let values = match self.values.get_mut(key) {
            Some(values) => values,
            None => self.values.entry(key.to_owned()).or_default(),
        };
        values.insert(value);
        keep_smallest(values, bound);
    }

    /// Adds all values of all keys of another; with a bound, every key keeps its smallest values.
    pub fn merge(&mut self, other: Self, bound: Option<NonZeroUsize>) {
        for (key, added) in other.values {
            let values = self.values.entry(key).or_default();
            values.extend(added);
            keep_smallest(values, bound);
        }
    }

    /// Returns whether there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the values of a key, ascending; none for a key that is not there.
    pub fn values(&self, key: &str) -> impl Iterator<Item = &str> {
        self.values
            .get(key)
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// Returns all keys with their values, both ascending.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &BTreeSet<String>)> {
        self.values
            .iter()
            .map(|(key, values)| (key.as_str(), values))
    }
}

/// Drops the largest values beyond the bound.
fn keep_smallest(values: &mut BTreeSet<String>, bound: Option<NonZeroUsize>) {
    while bound.is_some_and(|bound| values.len() > bound.get()) {
        values.pop_last();
    }
}
