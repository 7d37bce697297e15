//! Tombstones: names that a node must neither predict nor learn again.

use std::collections::BTreeMap;

use kato_model::PatternName;
use serde::{Deserialize, Serialize};

use crate::{PatternStore, StoreError};

/// What became of a pattern that was retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tombstone {
    /// It is hidden, and all that it taught is still there.
    Retired,
    /// It is gone, with all that it counted.
    Purged,
}

/// The tombstones of one node, by name. A name need not be that of a pattern.
///
/// ```
/// use kato_model::PatternName;
/// use kato_store::{Tombstone, Tombstones};
///
/// let name = PatternName::of_events(&[["a"], ["b"]]);
/// let mut tombstones = Tombstones::default();
/// assert!(tombstones.retire(name) && !tombstones.retire(name));
/// tombstones.purge(name);
/// assert_eq!(tombstones.get(&name), Some(Tombstone::Purged));
/// assert!(tombstones.raise(&name) && tombstones.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tombstones(BTreeMap<PatternName, Tombstone>);

impl Tombstones {
    /// Returns those of every node of a store, from the bottom of the hierarchy up.
    ///
    /// # Errors
    ///
    /// As [`PatternStore::tombstones`].
    pub fn of_store(store: &dyn PatternStore) -> Result<Vec<Self>, StoreError> {
        let nodes = 0..store.nodes().len();
        nodes.map(|idx| store.tombstones(idx)).collect()
    }

    /// Sets a tombstone, unless there is one; returns whether there was none.
    pub fn retire(&mut self, name: PatternName) -> bool {
        let is_new = !self.0.contains_key(&name);
        if is_new {
            self.0.insert(name, Tombstone::Retired);
        }
        is_new
    }

    /// Sets the tombstone of a pattern that is gone.
    pub fn purge(&mut self, name: PatternName) {
        self.0.insert(name, Tombstone::Purged);
    }

    /// Removes a tombstone; returns whether there was one.
    pub fn raise(&mut self, name: &PatternName) -> bool {
        self.0.remove(name).is_some()
    }

    /// Returns the tombstone of a name; `None` if it has none.
    #[must_use]
    pub fn get(&self, name: &PatternName) -> Option<Tombstone> {
        self.0.get(name).copied()
    }

    /// Returns the names with their tombstones, in name order.
    pub fn iter(&self) -> impl Iterator<Item = (PatternName, Tombstone)> {
        self.0.iter().map(|(name, tombstone)| (*name, *tombstone))
    }

    /// Returns the names of patterns that are retired and not purged, in name order.
    pub fn unpurged(&self) -> impl Iterator<Item = PatternName> {
        let retired = self.iter().filter(|(_, it)| *it == Tombstone::Retired);
        retired.map(|(name, _)| name)
    }

    /// Returns the number of tombstones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
