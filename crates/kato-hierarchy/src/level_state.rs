//! The position of every level within its unfinished pattern.

use kato_model::{Event, PatternName};

use crate::hierarchy::{name_event, token_event};
use crate::{Hierarchy, HierarchyError};

/// The events of every level's unfinished pattern. A level that holds a full chunk passes one event
/// up and starts again, so every level moves at the pace of training.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LevelState {
    pub(crate) open: Vec<Vec<Event>>,
}

impl LevelState {
    /// Creates a state in which every level is at the beginning of a pattern.
    pub(crate) fn new(n_levels: usize) -> Self {
        Self {
            open: vec![Vec::new(); n_levels],
        }
    }

    /// Returns whether a pattern below this level is unfinished.
    pub(crate) fn is_open_below(&self, level: usize) -> bool {
        self.open[..level].iter().any(|events| !events.is_empty())
    }

    /// Takes in a complete chunk of tokens. `completed` is called with every level whose events
    /// became complete, and these events.
    pub(crate) fn chunk(
        &mut self,
        hierarchy: &Hierarchy,
        tokens: &[String],
        substitutes: usize,
        completed: &mut dyn FnMut(usize, &[Event]),
    ) -> Result<(), HierarchyError> {
        // The chunk is complete at whatever length: its end was decided when the text was cut.
        self.open[0] = tokens.iter().map(|token| token_event(token)).collect();
        self.complete(hierarchy, 0, substitutes, completed)
    }

    /// Continues as if the text so far ended with this pattern of this level.
    pub(crate) fn advance_with_pattern(
        &mut self,
        hierarchy: &Hierarchy,
        level: usize,
        name: &PatternName,
        substitutes: usize,
    ) -> Result<(), HierarchyError> {
        // The pattern includes what these levels had begun, however far they were.
        self.open[..=level].iter_mut().for_each(Vec::clear);
        self.push(
            hierarchy,
            level + 1,
            name_event(name),
            substitutes,
            &mut |_, _| {},
        )
    }

    /// Passes a level's events up as one event, and starts the level again.
    fn complete(
        &mut self,
        hierarchy: &Hierarchy,
        level: usize,
        substitutes: usize,
        completed: &mut dyn FnMut(usize, &[Event]),
    ) -> Result<(), HierarchyError> {
        // Taken before the level above is reached, so that this level starts again in any case.
        let events = std::mem::take(&mut self.open[level]);
        completed(level, &events);
        if level + 1 < self.open.len() {
            let event = representative_event(hierarchy, level, &events, substitutes)?;
            self.push(hierarchy, level + 1, event, substitutes, completed)?;
        }
        Ok(())
    }

    /// Appends an event to a level, and passes its events up if they are a full chunk.
    fn push(
        &mut self,
        hierarchy: &Hierarchy,
        level: usize,
        event: Event,
        substitutes: usize,
        completed: &mut dyn FnMut(usize, &[Event]),
    ) -> Result<(), HierarchyError> {
        // The top level has no level above it.
        let Some(open) = self.open.get_mut(level) else {
            return Ok(());
        };
        open.push(event);
        match open.len() >= hierarchy.chunk_size(level) {
            true => self.complete(hierarchy, level, substitutes, completed),
            false => Ok(()),
        }
    }
}

/// Returns the event that complete events are to the level above: their own name if the level
/// learned them, else the names of the patterns that they resemble most, else the name that they
/// would have, which keeps the place in the chunk.
fn representative_event(
    hierarchy: &Hierarchy,
    level: usize,
    events: &[Event],
    substitutes: usize,
) -> Result<Event, HierarchyError> {
    let own = PatternName::of_events(events);
    // A learned chunk needs no prediction: a look-up is enough.
    if hierarchy.knows(level, &own)? || substitutes == 0 {
        return Ok(name_event(&own));
    }
    let predictions = hierarchy.predict(level, events)?.predictions;
    if predictions.is_empty() {
        return Ok(name_event(&own));
    }
    let names = predictions.iter().take(substitutes);
    // Several names are one event, whose symbols are sorted whatever the order of predictions.
    Ok(Event::new(
        names.map(|prediction| prediction.name.prefixed().to_string()),
    ))
}
