//! The answer to a batch, kept in a bit a sequence: names are those of the request's own sequences,
//! which come again with it.

use kato_engine::LearnOutcome;
use kato_engine::node::Lesson;
use serde::{Deserialize, Serialize};

use super::batch::sort;
use crate::ServiceError;
use crate::answer::BatchOutcome;
use crate::journal::StoredAnswer;

/// The part of the answer to a batch that its request does not contain.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PackedBatch {
    node_id: String,
    /// Whether the strings of events were sorted: a setting of the session that asked first.
    is_sorted: bool,
    /// Which patterns were new: a bit a sequence, the first in the lowest bit of the first byte.
    new: Vec<u8>,
}

impl PackedBatch {
    /// Packs an answer.
    pub(super) fn pack(outcome: &BatchOutcome, is_sorted: bool) -> Self {
        let is_new = |outcome: &LearnOutcome| matches!(outcome, LearnOutcome::New(_));
        let byte = |part: &[LearnOutcome]| {
            let bits = part.iter().enumerate();
            bits.fold(0, |byte, (bit, outcome)| {
                byte | u8::from(is_new(outcome)) << bit
            })
        };
        Self {
            node_id: outcome.node_id.clone(),
            is_sorted,
            new: outcome.outcomes.chunks(8).map(byte).collect(),
        }
    }

    /// Returns the first answer to these sequences.
    pub(super) fn outcome(self, mut items: Vec<Lesson>) -> Result<BatchOutcome, ServiceError> {
        // The digest is that of the same request, so the record is at fault.
        if self.new.len() != items.len().div_ceil(8) {
            return Err(ServiceError::corrupt(
                "read the answer to a batch",
                "it has another number of sequences",
            ));
        }
        // As the first time, whatever the session that asks now has set: names depend on the order
        // of symbols.
        if self.is_sorted {
            items.iter_mut().for_each(sort);
        }
        let outcome = |(idx, item): (usize, &Lesson)| {
            let is_new = self.new[idx / 8] >> (idx % 8) & 1 == 1;
            match (item.pattern_name(), is_new) {
                (Some(name), true) => LearnOutcome::New(name),
                (Some(name), false) => LearnOutcome::Repeated(name),
                (None, _) => LearnOutcome::TooShort,
            }
        };
        let outcomes = items.iter().enumerate().map(outcome).collect();
        Ok(BatchOutcome {
            node_id: self.node_id,
            outcomes,
        })
    }

    /// Reads the first answer, as it is kept: all of it in a record of format version 1.
    pub(super) fn read(
        answer: &StoredAnswer,
        items: Vec<Lesson>,
    ) -> Result<BatchOutcome, ServiceError> {
        match answer {
            StoredAnswer::Whole(bytes) => StoredAnswer::read(bytes),
            kept => StoredAnswer::read::<Self>(kept.bytes())?.outcome(items),
        }
    }
}
