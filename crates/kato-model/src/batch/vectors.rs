//! Vectors that a node learned in one batch, one for each name.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::VectorName;
use crate::vector::smaller_vector;

/// A map of vectors by name.
#[derive(Debug, Default)]
pub(super) struct Vectors {
    by_name: BTreeMap<VectorName, Box<[f64]>>,
    /// Elements of all vectors.
    n_elements: usize,
}

impl Vectors {
    /// Adds a vector, unless a smaller one has its name.
    pub(super) fn record(&mut self, name: VectorName, vector: &[f64]) {
        match self.by_name.entry(name) {
            Entry::Vacant(free) => {
                self.n_elements += vector.len();
                free.insert(vector.into());
            }
            Entry::Occupied(mut held) if smaller_vector(vector, held.get()) => {
                // The smaller of two vectors is never the longer one, so this cannot wrap.
                self.n_elements -= held.get().len() - vector.len();
                held.insert(vector.into());
            }
            Entry::Occupied(_) => {}
        }
    }

    /// Returns whether no vector was recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Returns the heap bytes that the vectors take, roughly.
    pub(super) fn heap_bytes(&self) -> usize {
        const ENTRY: usize = 64;
        self.by_name.len() * ENTRY + self.n_elements * size_of::<f64>()
    }

    /// Returns all vectors in name order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (VectorName, &[f64])> {
        self.by_name.iter().map(|(name, vector)| (*name, &**vector))
    }
}
