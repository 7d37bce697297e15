//! Operations that change a session: how each is sent, what its answer does to the mirror, and the
//! answer that it must have had if it acted and the answer was lost.

use hyper::Method;
use kato_protocol::observation::{LearnResult, ObservationResult};
use kato_protocol::sequence::{SequenceItemResult, SequenceResult};
use kato_protocol::{Observation, Sequence};
use serde::de::DeserializeOwned;

use super::Session;
use crate::ClientError;
use crate::call::Call;
use crate::calls::CallKind;
use crate::forecast::{Forecast, Steps};
use crate::mirror::Mirror;

/// An operation that may be sent only if it is certain that it has not acted.
pub(crate) trait Operation: Send + Sync {
    type Answer: DeserializeOwned + Send;

    /// Names the operation in errors.
    fn what(&self) -> String;

    /// Returns the request.
    fn call(&self, session: &Session, id: &str) -> Result<Call, ClientError>;

    /// Returns what it observes, and when it learns.
    fn steps(&self) -> Steps<'_>;

    /// Changes the mirror as the answer says.
    fn apply(&self, answer: &Self::Answer, mirror: &mut Mirror);

    /// Rebuilds the answer from what the operation must have done.
    fn rebuilt(
        &self,
        forecast: &Forecast,
        id: &str,
        node_id: &str,
        before: &Mirror,
    ) -> Self::Answer;
}

impl Operation for Observation {
    type Answer = ObservationResult;

    fn what(&self) -> String {
        format!("observe of {} symbols", self.strings.len())
    }

    fn call(&self, session: &Session, id: &str) -> Result<Call, ClientError> {
        session
            .call(CallKind::Observe, Method::POST, id, &["observe"])
            .json(self)
    }

    fn steps(&self) -> Steps<'_> {
        Steps {
            observations: vec![self],
            ..Steps::default()
        }
    }

    fn apply(&self, answer: &ObservationResult, mirror: &mut Mirror) {
        mirror.observed(self, answer.stm_length, answer.time);
        mirror.saved();
    }

    fn rebuilt(
        &self,
        forecast: &Forecast,
        id: &str,
        node_id: &str,
        before: &Mirror,
    ) -> ObservationResult {
        let (stm_length, learned) = forecast.steps.first().cloned().unwrap_or_default();
        ObservationResult {
            status: "okay".to_owned(),
            session_id: id.to_owned(),
            processor_id: Some(node_id.to_owned()),
            stm_length,
            time: before.time + 1,
            // The server made one, which is lost with the answer.
            unique_id: None,
            auto_learned_pattern: learned,
            vector_search: None,
        }
    }
}

impl Operation for Sequence {
    type Answer = SequenceResult;

    fn what(&self) -> String {
        format!(
            "observe-sequence of {} observations",
            self.observations.len()
        )
    }

    fn call(&self, session: &Session, id: &str) -> Result<Call, ClientError> {
        session
            .call(
                CallKind::ObserveSequence,
                Method::POST,
                id,
                &["observe-sequence"],
            )
            .json(self)
    }

    fn steps(&self) -> Steps<'_> {
        Steps {
            observations: self
                .observations
                .iter()
                .map(|item| &item.observation)
                .collect(),
            learn_after_each: self.learn_after_each,
            learn_at_end: self.learn_at_end,
            clear_between: self.clear_stm_between,
        }
    }

    fn apply(&self, answer: &SequenceResult, mirror: &mut Mirror) {
        for (item, result) in self.observations.iter().zip(&answer.results) {
            mirror.observed(&item.observation, result.stm_length, result.time);
        }
        // A learn at the end shows here alone: the results of the items were made before it.
        if answer.final_stm_length == 0 {
            mirror.learned();
        }
        mirror.saved();
    }

    fn rebuilt(
        &self,
        forecast: &Forecast,
        _id: &str,
        node_id: &str,
        before: &Mirror,
    ) -> SequenceResult {
        let results = self.observations.iter().zip(&forecast.steps).enumerate();
        SequenceResult {
            status: "completed".to_owned(),
            processor_id: Some(node_id.to_owned()),
            observations_processed: self.observations.len(),
            initial_stm_length: before.n_events(),
            final_stm_length: forecast.stm.len(),
            results: results
                .map(|(idx, (item, (stm_length, learned)))| SequenceItemResult {
                    status: "okay".to_owned(),
                    sequence_position: idx,
                    stm_length: *stm_length,
                    time: before.time + 1 + idx as u64,
                    unique_id: item.unique_id.clone(),
                    auto_learned_pattern: learned.clone(),
                })
                .collect(),
            auto_learned_patterns: forecast.learned.clone(),
            final_learned_pattern: forecast.last.clone(),
            isolated: self.clear_stm_between,
        }
    }
}

/// Learning of the short-term memory.
#[derive(Debug)]
pub(crate) struct Learn;

impl Operation for Learn {
    type Answer = LearnResult;

    fn what(&self) -> String {
        "learn".to_owned()
    }

    fn call(&self, session: &Session, id: &str) -> Result<Call, ClientError> {
        Ok(session.call(CallKind::Learn, Method::POST, id, &["learn"]))
    }

    fn steps(&self) -> Steps<'_> {
        Steps {
            learn_at_end: true,
            ..Steps::default()
        }
    }

    fn apply(&self, _answer: &LearnResult, mirror: &mut Mirror) {
        mirror.learned();
    }

    fn rebuilt(
        &self,
        forecast: &Forecast,
        id: &str,
        _node_id: &str,
        _before: &Mirror,
    ) -> LearnResult {
        let pattern_name = forecast.last.clone().unwrap_or_default();
        LearnResult {
            status: "learned".to_owned(),
            message: "learned; the answer was lost and is rebuilt".to_owned(),
            pattern_name,
            session_id: id.to_owned(),
            processor_id: None,
        }
    }
}
