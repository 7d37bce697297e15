//! Answers and errors as they are kept under idempotency keys, where they are not simply written as
//! they are.

use kato_engine::EngineError;
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

/// An error that a sequence can meet behind something that it has taught.
#[derive(Serialize, Deserialize)]
enum KeptRefusal {
    Retired {
        node: String,
        name: PatternName,
    },
    VectorLength {
        node: String,
        expected: usize,
        found: usize,
    },
}

/// Makes the form in which an error is kept; `None` for one that has none, such as that of a node that
/// is full or damaged.
pub(super) fn refusal(error: &ServiceError) -> Option<StoredAnswer> {
    let ServiceError::Engine(error) = error else {
        return None;
    };
    let kept = match error {
        EngineError::Retired { node, name } => KeptRefusal::Retired {
            node: node.clone(),
            name: *name,
        },
        EngineError::VectorLength {
            node,
            expected,
            found,
        } => KeptRefusal::VectorLength {
            node: node.clone(),
            expected: *expected,
            found: *found,
        },
        _ => return None,
    };
    Some(StoredAnswer::refused(&kept))
}

/// Reads a kept error.
pub(super) fn read_refusal(bytes: &[u8]) -> Result<ServiceError, ServiceError> {
    let error = match StoredAnswer::read(bytes)? {
        KeptRefusal::Retired { node, name } => EngineError::Retired { node, name },
        KeptRefusal::VectorLength {
            node,
            expected,
            found,
        } => EngineError::VectorLength {
            node,
            expected,
            found,
        },
    };
    Ok(error.into())
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
pub(super) fn read_observation(answer: &StoredAnswer) -> Result<ObserveOutcome, ServiceError> {
    let outcome = match answer {
        StoredAnswer::Whole(bytes) => {
            let kept: KeptObservation = StoredAnswer::read(bytes)?;
            serde_json::to_value(kept).and_then(serde_json::from_value)
        }
        kept => {
            let json: String = StoredAnswer::read(kept.bytes())?;
            serde_json::from_str(&json)
        }
    };
    outcome.map_err(|error| ServiceError::corrupt("read a kept answer", error))
}

/// Reads the kept answer to a learn.
pub(super) fn read_learn(answer: &StoredAnswer) -> Result<LearnAnswer, ServiceError> {
    StoredAnswer::read(answer.bytes()).or_else(|error| {
        // Journals of before have no number of events.
        let (node_id, outcome) = StoredAnswer::read(answer.bytes()).map_err(|_| error)?;
        Ok(LearnAnswer {
            node_id,
            outcome,
            events: 0,
        })
    })
}
