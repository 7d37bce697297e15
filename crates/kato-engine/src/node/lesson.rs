//! Lessons: learn calls as values, and what can be computed of them before a lock is taken.

use std::collections::BTreeMap;

use kato_model::emotives::mean_emotives;
use kato_model::{
    AttributeLimits, EmotiveMap, Event, Metadata, MetadataValue, PatternName, VectorName,
};
use serde::{Deserialize, Serialize};

use crate::EngineError;
use crate::observation::{METADATA_BYTES, check_emotives, check_limit};
use crate::options::Limits;
use crate::session::{STM_BYTES, add_as_text, bytes_of};

/// Fewest symbols of a pattern: KATO answers shorter ones without a name and stores nothing.
const MIN_SYMBOLS: usize = 2;

/// The content of one learn: a pattern, and what is attached to it.
///
/// Serialises, so that learns can be journaled: the lessons that a session
/// [recorded](crate::Session::record_lessons), taught in the same order to a node that was as the
/// first one, make it the same again.
///
/// ```
/// use kato_engine::Engine;
/// use kato_engine::node::Lesson;
/// use kato_model::Event;
///
/// let node = Engine::in_memory(&["node0"]).node("node0")?;
/// let lesson = Lesson::new([["the"], ["cat"], ["sleeps"]].map(Event::new));
/// assert_eq!(node.teach(&lesson)?.to_string(), "PTRN|4fcced76b3ddc506df362b9a8c040a592279b586");
/// # Ok::<(), kato_engine::EngineError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Lesson {
    /// The pattern, oldest event first. Events are learned as they are: [`Event::new`] sorts.
    pub events: Vec<Event>,
    /// Emotives to attach, oldest first.
    pub emotives: Vec<EmotiveMap>,
    /// Metadata to attach.
    pub metadata: Metadata,
    /// Vectors to store, mostly of the events' symbols; of finite elements.
    pub vectors: Vec<(VectorName, Vec<f64>)>,
}

impl Lesson {
    /// Creates the lesson of a pattern to which nothing is attached.
    pub fn new(events: impl IntoIterator<Item = Event>) -> Self {
        Self {
            events: events.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Attaches the emotives of one more observation; an empty map is none.
    #[must_use]
    pub fn with_emotives(mut self, emotives: EmotiveMap) -> Self {
        self.emotives
            .extend((!emotives.is_empty()).then_some(emotives));
        self
    }

    /// Attaches metadata as observations do: every value as text.
    #[must_use]
    pub fn with_metadata(mut self, metadata: &BTreeMap<String, MetadataValue>) -> Self {
        add_as_text(&mut self.metadata, metadata);
        self
    }

    /// Returns the number of symbols, all events together.
    #[must_use]
    pub fn n_symbols(&self) -> usize {
        self.events.iter().map(Event::len).sum()
    }

    /// Returns the name of the pattern that it teaches; `None` if it has too few symbols for one.
    #[must_use]
    pub fn pattern_name(&self) -> Option<PatternName> {
        (self.n_symbols() >= MIN_SYMBOLS).then(|| PatternName::of_events(&self.events))
    }

    /// Checks the limits and numbers that observations of the same content would be checked for;
    /// vectors one by one, as a lesson does not say which were observed together.
    ///
    /// # Errors
    ///
    /// [`EngineError::TooLarge`], [`EngineError::EmotiveRange`], [`EngineError::VectorNotFinite`].
    pub fn check(&self, limits: &Limits) -> Result<(), EngineError> {
        // An event counts as an observation, as each comes from one.
        let bytes = self.events.iter().map(bytes_of);
        check_limit(
            STM_BYTES,
            bytes.fold(0, usize::saturating_add),
            limits.stm_bytes,
        )?;
        check_limit(
            "observations of a sequence",
            self.events.len(),
            limits.sequence_observations,
        )?;
        for event in &self.events {
            let longest = event.symbols().iter().map(String::len).max();
            check_limit(
                "bytes of a symbol",
                longest.unwrap_or(0),
                limits.symbol_bytes,
            )?;
            check_limit(
                "strings of an observation",
                event.len(),
                limits.observation_strings,
            )?;
        }
        for (_, elements) in &self.vectors {
            check_limit(
                "elements of an observation's vectors",
                elements.len(),
                limits.vector_elements,
            )?;
        }
        for emotives in &self.emotives {
            check_limit(
                "emotives of an observation",
                emotives.len(),
                limits.attributes,
            )?;
        }
        check_limit(
            "metadata keys of an observation",
            self.metadata.iter().len(),
            limits.attributes,
        )?;
        let entries = self.metadata.iter();
        let metadata = entries.map(|(key, values)| {
            let values = values.iter().map(String::len);
            key.len() + values.sum::<usize>()
        });
        check_limit(METADATA_BYTES, metadata.sum(), limits.metadata_bytes)?;
        self.check_values()
    }

    /// Checks that every number is one that a store keeps.
    pub(crate) fn check_values(&self) -> Result<(), EngineError> {
        self.emotives.iter().try_for_each(check_emotives)?;
        let is_invalid = |(_, elements): &(VectorName, Vec<f64>)| {
            elements.iter().any(|element| !element.is_finite())
        };
        match self.vectors.iter().position(is_invalid) {
            Some(vector_idx) => Err(EngineError::VectorNotFinite { vector_idx }),
            None => Ok(()),
        }
    }

    /// Returns whether it is a pattern alone, which may as well be learned ahead of others.
    pub(crate) fn is_plain(&self) -> bool {
        self.emotives.is_empty() && self.metadata.is_empty() && self.vectors.is_empty()
    }

    /// Borrows the lesson in the form that sessions teach.
    pub(crate) fn borrowed(&self) -> LessonRef<'_> {
        LessonRef {
            events: &self.events,
            emotives: &self.emotives,
            metadata: std::slice::from_ref(&self.metadata),
            vectors: &self.vectors,
        }
    }
}

/// A borrowed lesson, as a session teaches it to its node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LessonRef<'a> {
    pub(crate) events: &'a [Event],
    /// Emotives to attach, oldest first.
    pub(crate) emotives: &'a [EmotiveMap],
    /// Metadata to attach.
    pub(crate) metadata: &'a [Metadata],
    /// Vectors to store.
    pub(crate) vectors: &'a [(VectorName, Vec<f64>)],
}

/// A lesson with everything computed that needs no lock.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    pub(crate) name: PatternName,
    pub(crate) events: &'a [Event],
    pub(crate) n_symbols: usize,
    pub(crate) emotives: &'a [EmotiveMap],
    /// Mean of the emotives, which is added to the affinity of the symbols.
    pub(crate) mean: EmotiveMap,
    pub(crate) metadata: Metadata,
    pub(crate) vectors: &'a [(VectorName, Vec<f64>)],
}

impl<'a> LessonRef<'a> {
    /// Copies the lesson.
    pub(crate) fn to_lesson(self) -> Lesson {
        Lesson {
            events: self.events.to_vec(),
            emotives: self.emotives.to_vec(),
            // Without a limit of values: the node that learns the copy applies its own.
            metadata: merge_metadata(self.metadata, &AttributeLimits::default()),
            vectors: self.vectors.to_vec(),
        }
    }

    /// Computes what needs no lock; `None` if there are too few symbols for a pattern.
    pub(crate) fn prepare(&self, limits: &AttributeLimits) -> Option<Prepared<'a>> {
        let n_symbols: usize = self.events.iter().map(Event::len).sum();
        let name = (n_symbols >= MIN_SYMBOLS).then(|| PatternName::of_events(self.events))?;
        Some(self.prepare_named(name, limits))
    }

    /// Computes what needs no lock beside the name.
    pub(crate) fn prepare_named(
        &self,
        name: PatternName,
        limits: &AttributeLimits,
    ) -> Prepared<'a> {
        Prepared {
            name,
            events: self.events,
            n_symbols: self.events.iter().map(Event::len).sum(),
            emotives: self.emotives,
            mean: mean_emotives(self.emotives),
            metadata: merge_metadata(self.metadata, limits),
            vectors: self.vectors,
        }
    }
}

/// Merges the metadata of several observations.
fn merge_metadata(metadata: &[Metadata], limits: &AttributeLimits) -> Metadata {
    let mut merged = Metadata::default();
    for observed in metadata {
        merged.merge(observed.clone(), limits.metadata_values);
    }
    merged
}
