//! Large documents at hand: what they need while they are learned is counted, so that not many are
//! learned at a time.

use std::collections::HashMap;

use crate::dispatch::BatchId;

/// Text below which no batch is large, in bytes, however small the budget is.
const SMALL_BYTES: usize = 4 << 20;

/// The large batches that are kept until they are staged.
#[derive(Debug)]
pub(crate) struct LargeBatches {
    memory_budget: usize,
    /// Text of each, in bytes.
    kept: HashMap<BatchId, usize>,
}

impl LargeBatches {
    /// Creates the count of a run with this memory for what is learned.
    pub(crate) fn new(memory_budget: usize) -> Self {
        Self {
            memory_budget,
            kept: HashMap::new(),
        }
    }

    /// Counts a batch, if it is large: learning takes several times its text.
    pub(crate) fn add(&mut self, batch: BatchId, text_bytes: usize) {
        if text_bytes >= SMALL_BYTES.max(self.memory_budget / 8) {
            self.kept.insert(batch, text_bytes);
        }
    }

    /// Forgets batches that are not held any more.
    pub(crate) fn retain(&mut self, is_held: impl Fn(BatchId) -> bool) {
        self.kept.retain(|batch, _| is_held(*batch));
    }

    /// Returns whether there is so much large text that one batch has to be done before the next
    /// begins.
    pub(crate) fn are_too_many(&self) -> bool {
        self.kept.values().sum::<usize>() > self.memory_budget / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkDistribution;
    use crate::dispatch::Dispatch;

    #[test]
    fn large_documents_are_learned_together_only_within_half_of_the_budget() {
        let mut dispatch = Dispatch::new(WorkDistribution::WorkStealing, 2, 1);
        let mut batch = || dispatch.add_batch(1, None);
        let mut large = LargeBatches::new(256 << 20);
        for _ in 0..1000 {
            large.add(batch(), 512 << 10);
        }
        assert!(
            !large.are_too_many(),
            "batches of the usual size do not count"
        );
        let (one, other, third) = (batch(), batch(), batch());
        large.add(one, 60 << 20);
        large.add(other, 60 << 20);
        assert!(!large.are_too_many());
        large.add(third, 60 << 20);
        assert!(large.are_too_many());
        large.retain(|batch| batch != one);
        assert!(!large.are_too_many());
        let mut small = LargeBatches::new(64 << 20);
        small.add(one, 63 << 20);
        assert!(small.are_too_many());
    }
}
