//! Learned numbers by fact, found in a few nanoseconds and stored in one order.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Values by fact; facts that nothing was learned of have none.
#[derive(Debug, Clone)]
pub(super) struct Table<T>(HashMap<u64, T, FixedState>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<T: Default> Table<T> {
    #[inline]
    pub(super) fn get(&self, fact: u64) -> Option<&T> {
        self.0.get(&fact)
    }

    /// Returns the value of a fact, made if there is none.
    #[inline]
    pub(super) fn entry(&mut self, fact: u64) -> &mut T {
        self.0.entry(fact).or_default()
    }
}

impl<T: PartialEq> PartialEq for Table<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Serialize> Serialize for Table<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Equal weights have equal bytes.
        let sorted: BTreeMap<&u64, &T> = self.0.iter().collect();
        sorted.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sorted = BTreeMap::deserialize(deserializer)?;
        Ok(Self(sorted.into_iter().collect()))
    }
}
