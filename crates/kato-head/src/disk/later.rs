//! Counting what a store learned after its counts were written, on top of them.

use std::ops::ControlFlow;

use kato_model::{Event, PatternName};
use kato_store::visit::{ContentDigest, SourceSymbols, SymbolRef, VisitedPattern};
use kato_store::{EmbeddedStore, PatternStore, PatternVisitor};

use crate::collect::Edges;
use crate::{Head, HeadError};

/// Patterns that are counted on top whenever counts are opened, at most.
pub(super) const MOST: u64 = 20_000;

/// Patterns after which it is asked whether to go on: some milliseconds.
const CHECK_EVERY: usize = 1 << 7;

/// Counts the patterns of the sources that are not covered. Returns `false` where it is cancelled, and where
/// only counting all of the store gives what it holds; the head is of no use then.
pub(super) fn count_later(
    head: &mut Head,
    store: &EmbeddedStore,
    covered: &[ContentDigest],
    is_cancelled: &dyn Fn() -> bool,
) -> Result<bool, HeadError> {
    let content = store.content_digest();
    // What one pattern refers to, many do.
    let mut edges = Edges::new(head.options().order - 1);
    for level in 0..store.nodes().len() {
        let mut lessons = Lessons {
            level,
            all: Vec::new(),
            are_usual: true,
        };
        let visited = store.visit_beyond(level, covered, &mut lessons);
        let is_there = visited.map_err(|source| HeadError::Store { level, source })?;
        if !is_there || !lessons.are_usual {
            return Ok(false);
        }
        for (idx, (events, times)) in lessons.all.into_iter().enumerate() {
            if idx.is_multiple_of(CHECK_EVERY) && is_cancelled() {
                return Ok(false);
            }
            let mut below = |level, name: &PatternName| {
                let stored = store.pattern(level, name);
                let stored = stored.map_err(|source| HeadError::Store { level, source })?;
                Ok::<_, HeadError>(stored.map(|stored| stored.events()))
            };
            head.learn_with(level, &events, times, &mut edges, &mut below)?;
        }
    }
    // A commit in between would be in a part of it alone.
    Ok(head.missing.is_empty() && store.content_digest() == content)
}

/// A visitor that collects the patterns of a level.
struct Lessons {
    level: usize,
    all: Vec<(Vec<Event>, u64)>,
    /// Whether no name can stand for patterns of several levels: names are above the lowest level, and
    /// nothing else is.
    are_usual: bool,
}

impl PatternVisitor for Lessons {
    fn pattern(
        &mut self,
        symbols: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> ControlFlow<()> {
        let mut events = Vec::new();
        for event in pattern.events() {
            let mut texts = Vec::with_capacity(event.len());
            for symbol in event.iter().filter_map(|&number| symbols.get(number)) {
                let is_name = matches!(symbol, SymbolRef::Name(_));
                self.are_usual &= is_name == (self.level > 0);
                texts.push(symbol.to_string());
            }
            events.push(Event::in_given_order(texts));
        }
        self.all.push((events, pattern.frequency));
        match self.are_usual {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}
