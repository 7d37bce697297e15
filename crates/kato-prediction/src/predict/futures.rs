//! The futures that predictions share, and the weight of each.

#![expect(
    clippy::cast_possible_truncation,
    reason = "an event has fewer than 2³² symbols: their ids are checked"
)]

use super::survivor::Survivor;
use crate::cancel::{Cancel, Cancelled};
use crate::collections::HashMap;
use crate::metrics::aggregate_potential;

/// The distinct futures of an ensemble.
#[derive(Debug, Default)]
pub(super) struct Futures {
    pub(super) distinct: Vec<Future>,
    /// For every survivor, the index of its future in `distinct`; `None` if its future is empty.
    of_survivors: Vec<Option<usize>>,
    total_weight: f64,
}

/// A future: equal event lists, up to the order within events.
#[derive(Debug)]
pub(super) struct Future {
    /// The first survivor that has it, whose order within events is shown.
    pub(super) first: usize,
    /// Number of survivors that have it.
    pub(super) n_patterns: usize,
    /// Σ frequency × similarity.
    pub(super) weight: f64,
}

impl Futures {
    /// Collects the futures of survivors.
    pub(super) fn new(survivors: &[Survivor<'_>], cancel: &Cancel) -> Result<Self, Cancelled> {
        let mut futures = Self::default();
        let mut known: HashMap<Vec<u32>, usize> = HashMap::default();
        let mut key = Vec::new();
        for (idx, survivor) in survivors.iter().enumerate() {
            cancel.check()?;
            // A completed pattern expects nothing, and KATO leaves it out.
            if survivor.split.future.is_empty() {
                futures.of_survivors.push(None);
                continue;
            }
            read_key(survivor, &mut key);
            let entry = match known.get(&key) {
                Some(&entry) => entry,
                None => {
                    futures.distinct.push(Future {
                        first: idx,
                        n_patterns: 0,
                        weight: 0.0,
                    });
                    known.insert(key.clone(), futures.distinct.len() - 1);
                    futures.distinct.len() - 1
                }
            };
            let prediction = &survivor.prediction;
            let future = &mut futures.distinct[entry];
            future.n_patterns += 1;
            future.weight += prediction.frequency as f64 * prediction.similarity;
            futures.of_survivors.push(Some(entry));
        }
        futures.total_weight = futures.distinct.iter().map(|future| future.weight).sum();
        Ok(futures)
    }

    /// Returns the share of the weight of a survivor's future; `None` if the future is empty.
    pub(super) fn potential_of(&self, survivor: usize) -> Option<f64> {
        let entry = self.of_survivors[survivor]?;
        Some(self.potential(&self.distinct[entry]))
    }

    /// Returns the share of the weight of a future.
    pub(super) fn potential(&self, future: &Future) -> f64 {
        aggregate_potential(future.weight, self.total_weight)
    }
}

/// Replaces `key` by one that is equal for equal futures: every event's length, then its sorted symbols.
fn read_key(survivor: &Survivor<'_>, key: &mut Vec<u32>) {
    key.clear();
    for event in survivor.events(survivor.split.future.clone()) {
        key.push(event.len() as u32);
        let start = key.len();
        key.extend(event.iter().map(|symbol| symbol.0));
        key[start..].sort_unstable();
    }
}
