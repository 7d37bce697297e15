//! Sequences: several observations taken in as one operation.

use kato_model::PatternName;
use serde::{Deserialize, Serialize};

use super::Session;
use crate::observation::SummedVector;
use crate::{EngineError, LearnOutcome, Observation};

/// A list of observations to take in one after the other, and when to learn. Reads from and
/// writes KATO's JSON.
///
/// ```
/// use kato_engine::{Engine, Observation, Sequence, SessionConfig};
///
/// let engine = Engine::in_memory(&["node0"]);
/// let mut session = engine.node("node0")?.session(SessionConfig::default());
/// let sequence = Sequence::new(["a", "b", "c"].map(|word| Observation::strings([word]))).learn_at_end();
/// let outcome = session.observe_sequence(sequence)?;
/// assert_eq!(outcome.steps.len(), 3);
/// let learned = outcome.final_learned.map(|learned| learned.to_string());
/// assert_eq!(learned.as_deref(), Some("PTRN|b98534b32c1d7489d4ce1a48724aa65aeecbdba9"));
/// # Ok::<(), kato_engine::EngineError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    #[serde(rename = "observations")]
    pub(super) items: Vec<SequencedObservation>,
    /// Learn after every observation that leaves something in the short-term memory.
    #[serde(default)]
    pub learn_after_each: bool,
    /// Learn what is in the short-term memory after the last observation.
    #[serde(default)]
    pub learn_at_end: bool,
    /// Empty the short-term memory before every observation but the first.
    #[serde(default)]
    pub clear_stm_between: bool,
}

/// One observation of a [`Sequence`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SequencedObservation {
    /// The observation.
    #[serde(flatten)]
    pub observation: Observation,
    /// The caller's name for the observation, which the answer repeats.
    #[serde(default)]
    pub unique_id: Option<String>,
}

/// The outcome of a [`Sequence`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SequenceOutcome {
    /// Events in the short-term memory before.
    pub initial_stm_length: usize,
    /// Events in the short-term memory after, before it was cut to the latest 1000.
    pub final_stm_length: usize,
    /// One step for each observation, in order.
    pub steps: Vec<SequenceStep>,
    /// All learns in KATO's order: of an observation the one that was asked for comes before the automatic
    /// one. Those that were asked for are there also when they were too short for a pattern.
    pub learned: Vec<LearnOutcome>,
    /// The learn at the end, if it was asked for and something was left to learn; `None` also where the
    /// engine's generation [swallows](kato_model::KatoGeneration::swallows_final_learn) its failure.
    pub final_learned: Option<LearnOutcome>,
}

/// The outcome of one observation of a [`Sequence`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SequenceStep {
    /// Events in the short-term memory, after learning.
    pub stm_length: usize,
    /// Observations since the session began or was cleared.
    pub time: u64,
    /// The caller's name for the observation.
    pub unique_id: Option<String>,
    /// The pattern that was learned automatically, if any.
    pub auto_learned: Option<PatternName>,
}

impl Sequence {
    /// Creates a sequence of observations that learns only as `max_pattern_length` asks.
    pub fn new(observations: impl IntoIterator<Item = Observation>) -> Self {
        let item = |observation| SequencedObservation {
            observation,
            unique_id: None,
        };
        Self::from_items(observations.into_iter().map(item))
    }

    /// Creates a sequence of observations that may have names.
    pub fn from_items(items: impl IntoIterator<Item = SequencedObservation>) -> Self {
        Self {
            items: items.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Sets the sequence to learn after every observation that leaves something in the
    /// short-term memory.
    #[must_use]
    pub fn learn_after_each(self) -> Self {
        Self {
            learn_after_each: true,
            ..self
        }
    }

    /// Sets the sequence to learn what is in the short-term memory after the last observation.
    #[must_use]
    pub fn learn_at_end(self) -> Self {
        Self {
            learn_at_end: true,
            ..self
        }
    }

    /// Sets the sequence to empty the short-term memory before every observation but the first.
    #[must_use]
    pub fn clear_stm_between(self) -> Self {
        Self {
            clear_stm_between: true,
            ..self
        }
    }
}

impl Session {
    /// Runs a checked sequence.
    ///
    /// When it fails, the session is left in the middle of it, and the caller has to restore it.
    pub(super) fn run(
        &mut self,
        sequence: Sequence,
        vectors: Vec<Option<SummedVector>>,
    ) -> Result<SequenceOutcome, EngineError> {
        let mut outcome = SequenceOutcome {
            initial_stm_length: self.stm().len(),
            ..SequenceOutcome::default()
        };
        for (idx, (item, vector)) in sequence.items.into_iter().zip(vectors).enumerate() {
            if sequence.clear_stm_between && idx > 0 {
                // KATO keeps emotives, metadata and the vectors that wait here, unlike in `clear_stm`.
                self.clear_events();
                self.state.past.clear();
            }
            let auto_learned = self.apply_observation(item.observation, vector)?.learned;
            if sequence.learn_after_each && !self.stm().is_empty() {
                outcome.learned.push(self.learn_stm()?);
            }
            // After the learn above, although it came first: KATO lists them in this order.
            outcome.learned.extend(auto_learned);
            let observed = self.observed(auto_learned.and_then(LearnOutcome::name));
            outcome.steps.push(SequenceStep {
                stm_length: observed.stm_length,
                time: observed.time,
                unique_id: item.unique_id,
                auto_learned: observed.auto_learned,
            });
        }
        if sequence.learn_at_end && !self.stm().is_empty() {
            match self.learn_stm() {
                Ok(learned) => {
                    outcome.learned.push(learned);
                    outcome.final_learned = Some(learned);
                }
                // As in KATO from 6.x on: what was observed stays, and the answer has no name.
                Err(_) if self.node.options().generation.swallows_final_learn() => {}
                Err(error) => return Err(error),
            }
        }
        outcome.final_stm_length = self.stm().len();
        Ok(outcome)
    }
}
