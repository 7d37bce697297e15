//! Answers as they are kept under idempotency keys, where they are not simply written as they are.

use kato_model::PatternName;
use serde::{Deserialize, Serialize};

use crate::ServiceError;
use crate::answer::{LearnAnswer, ObserveOutcome};
use crate::journal::StoredAnswer;

/// An answer to an observation as it is kept, where it has no search for vectors.
#[derive(Serialize, Deserialize)]
struct KeptObservation {
    node_id: String,
    unique_id: String,
    observed: KeptObserved,
}

#[derive(Serialize, Deserialize)]
struct KeptObserved {
    stm_length: usize,
    time: u64,
    auto_learned: Option<PatternName>,
}

/// Makes the form in which an answer to an observation is kept.
pub(super) fn observation(outcome: &ObserveOutcome) -> StoredAnswer {
    let observed = &outcome.observed;
    if observed.vector_search.is_some() {
        // As JSON, in which a part may be left out.
        let json = serde_json::to_string(outcome).expect("an answer is plain data");
        return StoredAnswer::packed(&json);
    }
    StoredAnswer::whole(&KeptObservation {
        node_id: outcome.node_id.clone(),
        unique_id: outcome.unique_id.clone(),
        observed: KeptObserved {
            stm_length: observed.stm_length,
            time: observed.time,
            auto_learned: observed.auto_learned,
        },
    })
}

/// Reads a kept answer to an observation.
pub(super) fn read_observation(answer: StoredAnswer) -> Result<ObserveOutcome, ServiceError> {
    let outcome = match answer {
        StoredAnswer::Whole(bytes) => {
            let kept: KeptObservation = StoredAnswer::read(&bytes)?;
            serde_json::to_value(kept).and_then(serde_json::from_value)
        }
        StoredAnswer::Packed(bytes) => {
            let json: String = StoredAnswer::read(&bytes)?;
            serde_json::from_str(&json)
        }
    };
    outcome.map_err(|error| ServiceError::corrupt("read a kept answer", error))
}

/// Reads the kept answer to a learn.
pub(super) fn read_learn(answer: StoredAnswer) -> Result<LearnAnswer, ServiceError> {
    let (StoredAnswer::Whole(bytes) | StoredAnswer::Packed(bytes)) = answer;
    StoredAnswer::read(&bytes).or_else(|error| {
        // Journals of before have no number of events.
        let (node_id, outcome) = StoredAnswer::read(&bytes).map_err(|_| error)?;
        Ok(LearnAnswer {
            node_id,
            outcome,
            events: 0,
        })
    })
}
