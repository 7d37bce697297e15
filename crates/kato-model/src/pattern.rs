//! Patterns: the form in which a learned sequence of events is kept.

use crate::event::Event;
use crate::name::PatternName;

/// A sequence of events and its name, which always fit together.
///
/// # Examples
///
/// ```
/// use kato_model::{Event, Pattern};
///
/// let pattern = Pattern::new(vec![Event::new(["a", "b"]), Event::new(["c"])]);
/// assert_eq!(pattern.length(), 3);
/// assert_eq!(pattern.events().len(), 2);
/// assert_eq!(pattern.name().to_string(), "e9e43f2309079f2843665ab773996d99489306d6");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    name: PatternName,
    events: Vec<Event>,
}

impl Pattern {
    /// Creates the pattern of these events, oldest first, and computes its name.
    #[must_use]
    pub fn new(events: Vec<Event>) -> Self {
        Self {
            name: PatternName::of_events(&events),
            events,
        }
    }

    /// Returns the name: a function of the events alone.
    #[must_use]
    pub const fn name(&self) -> PatternName {
        self.name
    }

    /// Returns the events (`pattern_data`), oldest first.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the events, without the name.
    #[must_use]
    pub fn into_events(self) -> Vec<Event> {
        self.events
    }

    /// Returns the number of symbols in all events: KATO's `length`, which counts symbols and not
    /// events.
    #[must_use]
    pub fn length(&self) -> usize {
        self.events.iter().map(Event::len).sum()
    }
}
