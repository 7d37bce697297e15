//! Patterns as stores return them.

use kato_model::emotives::EmotiveWindow;
use kato_model::{
    Attributes, EmotiveMap, Event, FirstSeen, Metadata, Pattern, PatternName, PatternRecord, Symbol,
};

use crate::StoreError;

/// A stored pattern with everything that the store knows about it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredPattern {
    /// Its name.
    pub name: PatternName,
    /// All symbols, event after event.
    pub symbols: Vec<Symbol>,
    /// Symbols of each event; `None` when every event holds one, as all patterns learned from text
    /// do.
    pub event_lengths: Option<Box<[u32]>>,
    /// Learn calls.
    pub frequency: u64,
    /// Earliest sighting, if provenance was recorded.
    pub first_seen: Option<FirstSeen>,
    /// Metadata.
    pub metadata: Metadata,
    /// The latest emotives.
    pub emotives: EmotiveWindow,
    /// Sum over learns for every emotive; see
    /// [`Attributes::affinity`](kato_model::Attributes::affinity).
    pub affinity: EmotiveMap,
}

impl StoredPattern {
    /// Creates a pattern without attributes whose events hold one symbol each.
    #[must_use]
    pub fn new(name: PatternName, symbols: Vec<Symbol>, frequency: u64) -> Self {
        Self {
            name,
            symbols,
            event_lengths: None,
            frequency,
            first_seen: None,
            metadata: Metadata::default(),
            emotives: EmotiveWindow::default(),
            affinity: EmotiveMap::new(),
        }
    }

    /// Returns the attributes; `None` where there are none.
    pub(crate) fn attributes(&self) -> Option<Attributes> {
        let attributes = Attributes {
            // The frequency already counts all learn calls.
            extra_frequency: 0,
            event_lengths: self.event_lengths.clone(),
            metadata: self.metadata.clone(),
            emotives: self.emotives.clone(),
            affinity: self.affinity.clone(),
        };
        (attributes != Attributes::default()).then_some(attributes)
    }

    /// Returns the events (`pattern_data`), oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let event = |symbols: &[Symbol]| {
            Event::in_given_order(symbols.iter().map(Symbol::to_string).collect())
        };
        self.symbols_by_event().map(event).collect()
    }

    /// Returns the symbols of each event, oldest first.
    pub fn symbols_by_event(&self) -> impl Iterator<Item = &[Symbol]> {
        // Lengths that do not add up show in the name when the pattern is exported.
        Event::split(&self.symbols, self.event_lengths.as_deref())
    }

    /// Returns the record for an export, after checking that the name is the SHA-1 of the content.
    ///
    /// First sighting and affinity are not part of it.
    ///
    /// # Errors
    ///
    /// [`StoreError::NameMismatch`] when the store returned other content than was learned under
    /// the name.
    pub fn into_record(self) -> Result<PatternRecord, StoreError> {
        let pattern = Pattern::new(self.events());
        if pattern.name() != self.name {
            return Err(StoreError::NameMismatch { name: self.name });
        }
        Ok(PatternRecord {
            pattern,
            frequency: self.frequency,
            emotives: self.emotives.into_maps(),
            metadata: self.metadata,
        })
    }
}
