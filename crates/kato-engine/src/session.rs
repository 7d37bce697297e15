//! A session: the state machine of observing, learning and clearing.

mod sequence;
mod steps;

use kato_model::{Event, PatternName};
use kato_prediction::Predictions;
use serde::{Deserialize, Serialize};

pub use self::sequence::{Sequence, SequenceOutcome, SequenceStep, SequencedObservation};
pub(crate) use self::steps::{STM_BYTES, add_as_text};
use crate::node::Lesson;
use crate::observation::{SummedVector, check_limit};
use crate::state::{LastObservation, MAX_RETAINED};
pub use crate::state::{Percept, SessionState};
use crate::{EngineError, LearnOutcome, Node, Observation, SessionConfig, VectorSearchAccount};

/// One user's conversation with a node, created by [`Node::session`] or [`Node::resume`].
///
/// Cheap to create and keep. Everything in it is its own; only what it learns is shared, at
/// once, with the other sessions of the node. An operation that fails leaves session and
/// node as they were, but that a node keeps what a [sequence](Self::observe_sequence) taught it before.
///
/// Between operations at most the latest 1000 events of the short-term memory, emotive maps, metadata
/// maps and vectors are kept, and the [history](SessionState::history) before that memory.
#[derive(Debug, Clone)]
pub struct Session {
    node: Node,
    config: SessionConfig,
    state: SessionState,
    /// Bytes of the symbols of the short-term memory.
    stm_bytes: usize,
    /// The last observation but one, kept only so that its memory is used again.
    spare: LastObservation,
    /// The lessons taught since they were last taken; `None` if they are not recorded.
    recorded_lessons: Option<Vec<Lesson>>,
}

/// The answer to an observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Observed {
    /// Events in the short-term memory, after an auto-learn.
    pub stm_length: usize,
    /// Observations since the session began or was cleared.
    pub time: u64,
    /// The pattern that was learned automatically, if any.
    pub auto_learned: Option<PatternName>,
    /// The search for vectors near the observation's own, if there is one and
    /// [`return_vector_search_results`](SessionConfig::return_vector_search_results) is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_search: Option<Box<VectorSearchAccount>>,
}

impl Session {
    /// Creates a session with a state, which may come from storage.
    pub(crate) fn new(node: Node, config: SessionConfig, state: SessionState) -> Self {
        let stm_bytes = state.stm.iter().map(bytes_of).sum();
        Self {
            node,
            config,
            state,
            stm_bytes,
            spare: LastObservation::default(),
            recorded_lessons: None,
        }
    }

    /// Returns the node that the session observes for and learns into.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// Returns the configuration to be changed, for example by [`SessionConfig::update`].
    ///
    /// Changes take effect with the next operation.
    pub const fn config_mut(&mut self) -> &mut SessionConfig {
        &mut self.config
    }

    /// Returns everything that the session remembers.
    #[must_use]
    pub const fn state(&self) -> &SessionState {
        &self.state
    }

    /// Returns configuration and state, for storing the session; [`Node::resume`] brings it back.
    #[must_use]
    pub fn into_parts(self) -> (SessionConfig, SessionState) {
        (self.config, self.state)
    }

    /// Returns the short-term memory, oldest event first.
    #[must_use]
    pub fn stm(&self) -> &[Event] {
        self.state.stm()
    }

    /// Returns the last observation; `None` before the first.
    #[must_use]
    pub fn percept(&self) -> Option<Percept> {
        self.state.percept()
    }

    /// Sets whether the session keeps a copy of every lesson that it teaches its node.
    ///
    /// They are for [`take_lessons`](Self::take_lessons). A new session keeps none.
    pub fn record_lessons(&mut self, record: bool) {
        self.recorded_lessons = record.then(Vec::new);
    }

    /// Returns the lessons that the session has taught its node since the last call, in order.
    ///
    /// Empty unless they are [recorded](Self::record_lessons). What was too short for a pattern
    /// is not among them. After an operation that failed these are the lessons that the node
    /// keeps nevertheless.
    pub fn take_lessons(&mut self) -> Vec<Lesson> {
        self.recorded_lessons
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Adds an event to the short-term memory, which is learned when it reaches
    /// `max_pattern_length`.
    ///
    /// Strings are sorted, unless the options say otherwise; vectors are added up to one symbol, which the names of the stored vectors
    /// join that are nearest to it, as many as the settings say. An observation without strings and vectors adds
    /// no event and still counts for time, emotives and metadata.
    ///
    /// # Errors
    ///
    /// [`EngineError::TooLarge`], [`EngineError::Vectors`], [`EngineError::VectorLength`],
    /// [`EngineError::VectorNotFinite`], [`EngineError::EmotiveRange`]; on an auto-learn as
    /// [`learn`](Self::learn).
    pub fn observe(&mut self, observation: Observation) -> Result<Observed, EngineError> {
        let vector = observation.check(&self.node.options().limits)?;
        self.check_lengths(vector.as_ref())?;
        // Before anything is taken in, so that an error of the store changes nothing. Due also for
        // an observation that adds no event, which is a commit too early and does no harm.
        if self.learns_at(self.state.stm.len() + 1) {
            self.node.commit_if_due()?;
        }
        let applied = self.apply_observation(observation, vector)?;
        self.trim();
        Ok(Observed {
            vector_search: applied.search,
            ..self.observed(applied.learned.and_then(LearnOutcome::name))
        })
    }

    /// Takes in several observations as one operation; see [`Sequence`].
    ///
    /// # Errors
    ///
    /// As [`observe`](Self::observe), for any of the observations, all of which are checked before
    /// the first is taken in; but not of the learn at the end, where the engine's generation
    /// [swallows it](kato_model::KatoGeneration::swallows_final_learn). Should a pattern on the way be retired, or the node's index turn out to
    /// be full, the session is as before, and the node keeps what it learned by then.
    pub fn observe_sequence(&mut self, sequence: Sequence) -> Result<SequenceOutcome, EngineError> {
        let limits = &self.node.options().limits;
        check_limit(
            "observations of a sequence",
            sequence.items.len(),
            limits.sequence_observations,
        )?;
        // Added up for the whole sequence, so that no event can turn out to be too large when
        // others are learned already.
        let n_nearest = self.n_nearest();
        let items = sequence.items.iter();
        let bytes = items.map(|item| item.observation.bytes(n_nearest));
        let bytes = bytes.fold(self.stm_bytes, usize::saturating_add);
        check_limit(STM_BYTES, bytes, limits.stm_bytes)?;
        let check = |item: &SequencedObservation| item.observation.check(limits);
        let vectors: Vec<_> = sequence.items.iter().map(check).collect::<Result<_, _>>()?;
        self.check_lengths(vectors.iter().flatten())?;
        // Once and not before each learn: an error in the middle would leave half of the sequence.
        self.node.commit_if_due()?;
        // A sequence may empty the memory several times, so only a copy can bring it back.
        let before = (self.state.clone(), self.stm_bytes);
        let outcome = self.run(sequence, vectors);
        match outcome {
            // After the answer, which reports all events: KATO cuts when it saves the session.
            Ok(_) => self.trim(),
            Err(_) => (self.state, self.stm_bytes) = before,
        }
        outcome
    }

    /// Learns the short-term memory as a pattern and empties it.
    ///
    /// Fewer than two symbols make no pattern: the short-term memory is emptied and
    /// nothing is stored.
    ///
    /// # Errors
    ///
    /// [`EngineError::EmptyStm`]; [`EngineError::Retired`] when the pattern is retired;
    /// [`EngineError::Index`] when the node is full;
    /// [`EngineError::VectorLength`] when the node has learned vectors of another length meanwhile;
    /// [`EngineError::Store`] when the store is open for reading only, and when an automatic commit was
    /// due and failed; and as [`predict`](Self::predict).
    pub fn learn(&mut self) -> Result<LearnOutcome, EngineError> {
        if self.state.stm.is_empty() {
            return Err(EngineError::EmptyStm);
        }
        self.node.commit_if_due()?;
        self.learn_stm()
    }

    /// Returns the patterns that the short-term memory resembles, best first, and
    /// what they expect next.
    ///
    /// Empty for an empty memory, and where no pattern is similar enough.
    ///
    /// # Errors
    ///
    /// As [`Node::predict`].
    pub fn predict(&self) -> Result<Predictions, EngineError> {
        self.node.predict(&self.state.stm, &self.config)
    }

    /// Clears the short-term memory, the emotives and metadata that have gathered, and the last
    /// observation; time is 0 again.
    ///
    /// The node keeps what it learned.
    pub fn clear_stm(&mut self) {
        self.state = SessionState::default();
        self.stm_bytes = 0;
    }

    /// Clears the **node**, for all its sessions, and then this session as
    /// [`clear_stm`](Self::clear_stm) does.
    ///
    /// # Errors
    ///
    /// As [`Node::clear`].
    pub fn clear_all(&mut self) -> Result<(), EngineError> {
        self.node.clear()?;
        self.clear_stm();
        Ok(())
    }

    /// Refuses vectors that are not as long as each other, those observed before and those of the
    /// node, where the options ask for it.
    ///
    /// They could never be nearest to each other, and the node would not store them.
    fn check_lengths<'v>(
        &self,
        vectors: impl IntoIterator<Item = &'v SummedVector>,
    ) -> Result<(), EngineError> {
        let mut vectors = vectors.into_iter().peekable();
        if vectors.peek().is_none() || !self.node.options().one_vector_length {
            return Ok(());
        }
        let observed = &self.state.vectors;
        let mut observed = observed.iter().map(|(_, elements)| elements.len());
        // A vector without elements is stored nowhere, so its length does not matter.
        let observed = observed.rfind(|&length| length > 0);
        let expected = observed.or_else(|| self.node.dimension());
        let lengths = vectors.map(|vector| vector.elements.len());
        self.node.check_lengths(expected, lengths)
    }

    /// Returns the answer to an observation that was taken in.
    fn observed(&self, auto_learned: Option<PatternName>) -> Observed {
        Observed {
            stm_length: self.state.stm.len(),
            time: self.state.time,
            auto_learned,
            vector_search: None,
        }
    }

    /// Cuts the state to what a session keeps between operations.
    fn trim(&mut self) {
        let surplus = self.state.stm.len().saturating_sub(MAX_RETAINED);
        let dropped: usize = self.state.stm[..surplus].iter().map(bytes_of).sum();
        self.stm_bytes -= dropped;
        self.state.trim();
    }
}

/// Returns the bytes of an event's symbols.
pub(crate) fn bytes_of(event: &Event) -> usize {
    event.symbols().iter().map(String::len).sum()
}
