//! A learn call, and what can be computed of it before any lock is taken.

use kato_model::{
    AttributeLimits, EmotiveMap, Event, Metadata, PatternName, VectorName, mean_emotives,
};

/// Symbols that a pattern needs at least.
const MIN_SYMBOLS: usize = 2;

/// What a session has its node learn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lesson<'a> {
    pub(crate) events: &'a [Event],
    /// Emotives to attach, oldest first.
    pub(crate) emotives: &'a [EmotiveMap],
    /// Metadata to attach.
    pub(crate) metadata: &'a [Metadata],
    /// Vectors whose names are among the symbols.
    pub(crate) vectors: &'a [(VectorName, Vec<f64>)],
}

/// A lesson that is ready to be learned.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    pub(crate) name: PatternName,
    pub(crate) events: &'a [Event],
    pub(crate) n_symbols: usize,
    pub(crate) emotives: &'a [EmotiveMap],
    /// Mean of the emotives: what the affinity of the symbols grows by.
    pub(crate) mean: EmotiveMap,
    pub(crate) metadata: Metadata,
    pub(crate) vectors: &'a [(VectorName, Vec<f64>)],
}

impl<'a> Lesson<'a> {
    /// `None` if there are too few symbols for a pattern.
    pub(super) fn prepare(&self, limits: &AttributeLimits) -> Option<Prepared<'a>> {
        let n_symbols = self.events.iter().map(Event::len).sum();
        if n_symbols < MIN_SYMBOLS {
            return None;
        }
        let mut metadata = Metadata::default();
        for observed in self.metadata {
            metadata.merge(observed.clone(), limits.metadata_values);
        }
        Some(Prepared {
            name: PatternName::of_events(self.events),
            events: self.events,
            n_symbols,
            emotives: self.emotives,
            mean: mean_emotives(self.emotives),
            metadata,
            vectors: self.vectors,
        })
    }
}
