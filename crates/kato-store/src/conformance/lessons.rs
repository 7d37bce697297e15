//! Lessons: learn calls as plain data, from which batches of any grouping are made.

use kato_model::batch::{BatchSymbol, Occurrence};
use kato_model::{
    AttributeLimits, Attributes, FirstSeen, LearnBatch, PatternName, SealedBatch, VectorName,
};

/// One learn call.
#[derive(Debug, Clone)]
pub struct LearnCall {
    /// The node that learns.
    pub node_idx: usize,
    /// The events.
    pub events: Vec<Vec<CallSymbol>>,
    /// Metadata, emotives, extra frequency, affinity. The event lengths follow from the events.
    /// Stores are compared bit for bit, so give affinities whose sums are exact, such as small
    /// multiples of 0.25.
    pub attributes: Attributes,
    /// Vectors recorded at the node.
    pub vectors: Vec<(VectorName, Vec<f64>)>,
    /// Place where it was seen; used when the lessons record provenance.
    pub seen: FirstSeen,
}

/// One symbol of a lesson.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallSymbol {
    /// Text.
    Text(String),
    /// The name of the pattern of an earlier lesson, by its index.
    Learned(usize),
}

impl LearnCall {
    /// Creates a lesson without attributes whose events hold one symbol each.
    #[must_use]
    pub fn new(node_idx: usize, parts: impl IntoIterator<Item = CallSymbol>) -> Self {
        Self::with_events(node_idx, parts.into_iter().map(|part| vec![part]).collect())
    }

    /// Creates a lesson of text symbols, one symbol in each event.
    #[must_use]
    pub fn text(node_idx: usize, texts: &[&str]) -> Self {
        Self::new(
            node_idx,
            texts.iter().map(|&text| CallSymbol::Text(text.to_owned())),
        )
    }

    /// Creates a lesson without attributes.
    #[must_use]
    pub fn with_events(node_idx: usize, events: Vec<Vec<CallSymbol>>) -> Self {
        Self {
            node_idx,
            events,
            attributes: Attributes::default(),
            vectors: Vec::new(),
            seen: FirstSeen {
                document_idx: 0,
                token_idx: 0,
            },
        }
    }

    /// Sets the attributes of the lesson.
    #[must_use]
    pub fn with_attributes(self, attributes: Attributes) -> Self {
        Self { attributes, ..self }
    }
}

/// A set of learn calls, numbered, of which batches are made.
///
/// Learn call number `i` is also document number `i`, with the id `document i`.
#[derive(Debug, Clone)]
pub struct Lessons {
    n_nodes: usize,
    lessons: Vec<LearnCall>,
    names: Vec<PatternName>,
    limits: AttributeLimits,
    provenance: bool,
}

impl Lessons {
    /// Creates lessons for a store of `n_nodes` nodes with default limits.
    ///
    /// # Panics
    ///
    /// When a lesson refers to itself or to a later one.
    #[must_use]
    pub fn new(n_nodes: usize, lessons: Vec<LearnCall>) -> Self {
        let mut names: Vec<PatternName> = Vec::with_capacity(lessons.len());
        for lesson in &lessons {
            let text = |part: &CallSymbol| match part {
                CallSymbol::Text(text) => text.clone(),
                CallSymbol::Learned(idx) => names[*idx].prefixed().to_string(),
            };
            let events: Vec<Vec<String>> = lesson
                .events
                .iter()
                .map(|event| event.iter().map(text).collect())
                .collect();
            names.push(PatternName::of_events(&events));
        }
        Self {
            n_nodes,
            lessons,
            names,
            limits: AttributeLimits::default(),
            provenance: false,
        }
    }

    /// Sets the limits of the store that the lessons are for.
    #[must_use]
    pub fn with_limits(self, limits: AttributeLimits) -> Self {
        Self { limits, ..self }
    }

    /// Makes the batches record first sightings.
    #[must_use]
    pub fn with_provenance(self) -> Self {
        Self {
            provenance: true,
            ..self
        }
    }

    /// Returns the number of lessons.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lessons.len()
    }

    /// Returns whether there are no lessons.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lessons.is_empty()
    }

    /// Returns the number of nodes of the store that the lessons are for.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    /// Returns the limits of the store that the lessons are for.
    #[must_use]
    pub fn limits(&self) -> AttributeLimits {
        self.limits
    }

    /// Returns the node that a lesson teaches.
    #[must_use]
    pub fn node_of(&self, idx: usize) -> usize {
        self.lessons[idx].node_idx
    }

    /// Returns the name of what a lesson teaches.
    #[must_use]
    pub fn name(&self, idx: usize) -> PatternName {
        self.names[idx]
    }

    /// Creates a batch of some lessons, learned in this order within each node.
    ///
    /// Names of patterns that the node below does not learn in the same batch enter as text.
    #[must_use]
    pub fn batch(&self, picked: &[usize]) -> SealedBatch {
        let mut batch = LearnBatch::new(self.n_nodes).with_limits(self.limits);
        let mut occurrences: Vec<Option<Occurrence>> = vec![None; self.lessons.len()];
        // Bottom up, whatever the order picked, because children have to be learned before they are
        // referred to.
        for node_idx in 0..self.n_nodes {
            for &idx in picked
                .iter()
                .filter(|&&idx| self.lessons[idx].node_idx == node_idx)
            {
                occurrences[idx] = Some(self.learn(&mut batch, idx, &occurrences));
            }
        }
        for &idx in picked {
            for (name, vector) in &self.lessons[idx].vectors {
                batch.record_vector(self.lessons[idx].node_idx, *name, vector);
            }
            batch.record_document(idx as u64, &format!("document {idx}"));
        }
        batch.seal()
    }

    /// Adds one lesson to a batch.
    fn learn(
        &self,
        batch: &mut LearnBatch,
        idx: usize,
        occurrences: &[Option<Occurrence>],
    ) -> Occurrence {
        let lesson = &self.lessons[idx];
        let mut symbols = Vec::new();
        for part in lesson.events.iter().flatten() {
            symbols.push(match part {
                CallSymbol::Text(text) => BatchSymbol::Literal(batch.literal(text)),
                CallSymbol::Learned(child) => {
                    let is_below = self.lessons[*child].node_idx + 1 == lesson.node_idx;
                    match occurrences[*child].filter(|_| is_below) {
                        Some(occurrence) => BatchSymbol::Child(occurrence),
                        None => BatchSymbol::Literal(
                            batch.literal(&self.names[*child].prefixed().to_string()),
                        ),
                    }
                }
            });
        }
        let occurrence = batch.learn(lesson.node_idx, self.names[idx], symbols);
        if self.provenance {
            batch.record_first_seen(lesson.node_idx, occurrence, lesson.seen);
        }
        let mut attributes = lesson.attributes.clone();
        if lesson.events.iter().any(|event| event.len() != 1) {
            let lengths = lesson
                .events
                .iter()
                .map(|event| u32::try_from(event.len()).expect("lessons are short"));
            attributes.event_lengths = Some(lengths.collect());
        }
        if attributes != Attributes::default() {
            batch.attach(lesson.node_idx, occurrence, attributes);
        }
        occurrence
    }
}
