//! The steps of a session: taking in an observation, learning the short-term memory, and
//! undoing what failed.

use std::collections::{BTreeMap, BTreeSet};

use kato_model::{Event, Metadata, MetadataValue, VectorName};

use super::{Session, bytes_of};
use crate::config::{StmMode, VectorEventMode};
use crate::node::LessonRef;
use crate::observation::{SummedVector, check_limit};
use crate::options::AttributeScope;
use crate::session::SessionState;
use crate::vectors::MOST_NEAREST;
use crate::{EngineError, LearnOutcome, Observation, VectorSearchAccount};

/// The thing that [`Limits::stm_bytes`](crate::options::Limits) limits, for error messages.
pub(crate) const STM_BYTES: &str = "bytes of a short-term memory's symbols";

/// What became of an observation.
pub(super) struct Applied {
    /// The auto-learn, if that made a pattern.
    pub(super) learned: Option<LearnOutcome>,
    pub(super) search: Option<Box<VectorSearchAccount>>,
}

impl Session {
    /// Takes in a checked observation.
    ///
    /// Changes nothing when it fails.
    pub(super) fn apply_observation(
        &mut self,
        observation: Observation,
        vector: Option<SummedVector>,
    ) -> Result<Applied, EngineError> {
        let is_event = !observation.is_empty();
        let Observation {
            mut strings,
            vectors,
            emotives,
            metadata,
        } = observation;
        if self.sorts() {
            strings.sort_unstable();
        }
        let gathered = (!metadata.is_empty()).then(|| as_text(&metadata));
        let mut percept = std::mem::take(&mut self.spare);
        // Reuses the spare's memory, as this runs for every observation.
        percept.strings.clone_from(&strings);
        percept.vectors = vectors;
        percept.metadata = metadata;

        let before = Lengths::new(&self.state);
        let bytes_before = self.stm_bytes;
        let mut search = None;
        if is_event {
            let event;
            (event, search) = self.event(strings, vector.as_ref());
            self.push_event(event)?;
        }
        // A sum that left the range of numbers has a name, but no distance to anything.
        let stored =
            vector.filter(|vector| vector.elements.iter().all(|element| element.is_finite()));
        let stored = stored.map(|SummedVector { name, elements }| (name, elements));
        self.state.vectors.extend(stored);
        self.state
            .emotives
            .extend((!emotives.is_empty()).then_some(emotives));
        self.state.metadata.extend(gathered);

        let is_due = is_event && self.learns_at(self.state.stm.len());
        let learned = match is_due.then(|| self.auto_learn()).transpose() {
            Ok(outcome) => outcome.filter(|outcome| outcome.name().is_some()),
            Err(error) => {
                // Up to here entries were only appended, and a learn that fails removes none.
                before.restore(&mut self.state);
                self.stm_bytes = bytes_before;
                return Err(error);
            }
        };
        self.state.time += 1;
        let previous = self.state.percept.replace(percept);
        self.spare = previous.unwrap_or_default();
        Ok(Applied { learned, search })
    }

    /// Returns how many nearest vectors are searched for.
    pub(super) fn n_nearest(&self) -> usize {
        match self.config.vector_event_mode {
            VectorEventMode::SelfOnly => 0,
            VectorEventMode::NeighborsPlusSelf => usize::try_from(self.config.vector_search_limit)
                .unwrap_or(MOST_NEAREST)
                .min(MOST_NEAREST),
        }
    }

    /// Returns whether a short-term memory of this many events is learned automatically.
    pub(super) const fn learns_at(&self, n_events: usize) -> bool {
        let max_length = self.config.max_pattern_length;
        max_length > 0 && n_events as u64 >= max_length
    }

    /// Returns whether the strings of an observation are sorted.
    fn sorts(&self) -> bool {
        let options = self.node.options();
        // KATO 3.10.1 accepts the setting for a session and follows that of its process
        // (docs/compatibility.md).
        match options.session_sort_symbols {
            true => self.config.sort_symbols,
            false => options.sort_symbols,
        }
    }

    /// Creates the event of strings in their order, and of a vector with those nearest to it, and the
    /// account of that search, if the settings ask for it.
    fn event(
        &self,
        strings: Vec<String>,
        vector: Option<&SummedVector>,
    ) -> (Event, Option<Box<VectorSearchAccount>>) {
        let Some(vector) = vector else {
            return (Event::in_given_order(strings), None);
        };
        let searches = self.config.vector_event_mode == VectorEventMode::NeighborsPlusSelf;
        let nearest = searches.then(|| self.node.nearest(&vector.elements, self.n_nearest()));
        let account = || {
            let limit = self.config.vector_search_limit;
            Box::new(VectorSearchAccount::new(
                vector.name,
                limit,
                nearest.as_deref(),
            ))
        };
        let account = self.config.return_vector_search_results.then(account);
        // A sorted set, as in KATO: the vector's own name may be among the nearest.
        let names = nearest.into_iter().flatten().map(|(_, name)| name);
        let names: BTreeSet<VectorName> = names.chain([vector.name]).collect();
        let names = names.iter().map(VectorName::to_string);
        let event = Event::in_given_order(names.chain(strings).collect());
        (event, account)
    }

    /// Appends an event to the short-term memory, unless that becomes too large.
    fn push_event(&mut self, event: Event) -> Result<(), EngineError> {
        let bytes = self.stm_bytes.saturating_add(bytes_of(&event));
        let limit = self.node.options().limits.stm_bytes;
        check_limit(STM_BYTES, bytes, limit)?;
        self.stm_bytes = bytes;
        self.state.stm.push(event);
        Ok(())
    }

    /// Learns the short-term memory, which has reached `max_pattern_length`, and shortens it.
    fn auto_learn(&mut self) -> Result<LearnOutcome, EngineError> {
        // KATO 3.10.1 attaches nothing to what it learns automatically.
        let attaches = self.node.options().attribute_scope == AttributeScope::Pattern;
        let outcome = self.teach(attaches)?;
        let kept = match self.config.stm_mode {
            StmMode::Clear => 0,
            // As in KATO, a memory of one event becomes empty in both modes.
            StmMode::Rolling if self.state.stm.len() == 1 => 0,
            // The length is above 0, or no learn would be due.
            StmMode::Rolling => {
                usize::try_from(self.config.max_pattern_length)
                    .expect("a learn is due when there are as many events in memory")
                    - 1
            }
        };
        self.state.retire_all_but(kept);
        self.stm_bytes = self.state.stm.iter().map(bytes_of).sum();
        Ok(outcome)
    }

    /// Learns the short-term memory with what has gathered, and empties it.
    pub(super) fn learn_stm(&mut self) -> Result<LearnOutcome, EngineError> {
        let outcome = self.teach(true)?;
        self.state.retire_all_but(0);
        self.clear_events();
        Ok(outcome)
    }

    /// Teaches the node the short-term memory, with the gathered emotives and
    /// metadata if `attaches`.
    fn teach(&mut self, attaches: bool) -> Result<LearnOutcome, EngineError> {
        let state = &mut self.state;
        let (emotives, metadata) = match attaches {
            true => (state.emotives.as_slice(), state.metadata.as_slice()),
            false => (&[] as &[_], &[] as &[_]),
        };
        let lesson = LessonRef {
            events: &state.stm,
            emotives,
            metadata,
            vectors: &state.vectors,
        };
        // The last step that can fail; what follows only removes.
        let outcome = self.node.learn_observed(&lesson)?;
        if let (Some(lessons), Some(_)) = (&mut self.recorded_lessons, outcome.name()) {
            lessons.push(lesson.to_lesson());
        }
        state.vectors.clear();
        // In the scope of a session they stay, as in KATO 3.10.1: every later learn attaches them
        // again, until the session is cleared.
        if self.node.options().attribute_scope == AttributeScope::Pattern {
            state.emotives.clear();
            state.metadata.clear();
        }
        Ok(outcome)
    }

    /// Clears the events, and nothing else.
    pub(super) fn clear_events(&mut self) {
        self.state.stm.clear();
        self.stm_bytes = 0;
    }
}

/// The lengths of a state's lists before an operation, for undoing it.
struct Lengths {
    stm: usize,
    emotives: usize,
    metadata: usize,
    vectors: usize,
}

impl Lengths {
    fn new(state: &SessionState) -> Self {
        Self {
            stm: state.stm.len(),
            emotives: state.emotives.len(),
            metadata: state.metadata.len(),
            vectors: state.vectors.len(),
        }
    }

    /// Cuts the lists to these lengths.
    fn restore(self, state: &mut SessionState) {
        state.stm.truncate(self.stm);
        state.emotives.truncate(self.emotives);
        state.metadata.truncate(self.metadata);
        state.vectors.truncate(self.vectors);
    }
}

/// Adds the metadata of one observation in the form that learning keeps.
pub(crate) fn add_as_text(text: &mut Metadata, metadata: &BTreeMap<String, MetadataValue>) {
    for (key, value) in metadata {
        text.insert(key, value, None);
    }
}

/// Returns the metadata of one observation in the form that learning keeps.
fn as_text(metadata: &BTreeMap<String, MetadataValue>) -> Metadata {
    let mut text = Metadata::default();
    add_as_text(&mut text, metadata);
    text
}
