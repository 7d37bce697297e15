//! Refuses patterns that no export may hold: under a name that is not theirs, or with numbers that
//! no text has.

use kato_model::naming::{NameScratch, name_of_names};
use kato_model::{PatternName, Symbol};

use crate::{StoreError, StoredPattern};

/// A check of one pattern after the other.
#[derive(Debug, Default)]
pub(crate) struct Check {
    names: Vec<PatternName>,
    scratch: NameScratch,
}

impl Check {
    /// Checks the name and the emotives of a pattern.
    pub(crate) fn check(&mut self, pattern: &StoredPattern) -> Result<(), StoreError> {
        let name = self.name_of(pattern);
        if name != pattern.name {
            return Err(StoreError::NameMismatch { name: pattern.name });
        }
        let mut values = pattern
            .emotives
            .entries()
            .iter()
            .flat_map(|entry| entry.emotives.values());
        if !values.all(|value| value.is_finite()) {
            return Err(StoreError::NotFinite { name });
        }
        Ok(())
    }

    /// Returns the name of the pattern's content.
    fn name_of(&mut self, pattern: &StoredPattern) -> PatternName {
        // Patterns learned from text hold symbols of one kind, one an event: these are named
        // without building events of owned strings.
        self.names.clear();
        if pattern.event_lengths.is_none() {
            self.names
                .extend(pattern.symbols.iter().map_while(|symbol| match symbol {
                    Symbol::Name(name) => Some(*name),
                    Symbol::Text(_) => None,
                }));
            if self.names.len() == pattern.symbols.len() {
                return name_of_names(&self.names, &mut self.scratch);
            }
            let texts = pattern.symbols.iter().map_while(|symbol| match symbol {
                Symbol::Text(text) => Some([text.as_ref()]),
                Symbol::Name(_) => None,
            });
            let texts: Vec<[&str; 1]> = texts.collect();
            if texts.len() == pattern.symbols.len() {
                return PatternName::of_events(&texts);
            }
        }
        PatternName::of_events(&pattern.events())
    }
}
