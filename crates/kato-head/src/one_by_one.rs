//! Reads patterns that are handed over one by one, level by level, and shows their n-grams to a
//! sink.

use kato_model::{Event, PatternName};

use crate::HeadError;
use crate::collect::{BREAK, Child, Counted, Edges, Holder, Missing, Sink, note_missing};

/// A reader of patterns that lie in no store.
#[derive(Debug)]
pub(crate) struct OneByOne {
    n_levels: usize,
    /// That of the pattern before.
    level: usize,
    edges: Edges,
    counted: Counted,
    missing: Missing,
}

impl OneByOne {
    /// Creates a reader of so many levels, for n-grams of up to `order` symbols.
    pub(crate) fn new(n_levels: usize, order: usize) -> Self {
        Self {
            n_levels,
            level: 0,
            edges: Edges::new(order - 1),
            counted: Counted::default(),
            missing: Missing::default(),
        }
    }

    /// Shows a pattern's n-grams to a sink. `number` gives symbols their numbers, [`BREAK`] for
    /// those that do not matter.
    pub(crate) fn read(
        &mut self,
        holder: Holder,
        events: &[Event],
        times: u64,
        number: &mut dyn FnMut(&str) -> Result<u32, HeadError>,
        sink: &mut dyn Sink,
    ) -> Result<(), HeadError> {
        let level = holder.level;
        // What a pattern refers to has to be known before it.
        if level < self.level {
            return Err(HeadError::LevelOrder {
                level,
                after: self.level,
            });
        }
        self.level = level;
        if level >= self.n_levels || times == 0 {
            return Ok(());
        }
        let short = u32::try_from(times).unwrap_or(u32::MAX);
        let n_symbols = events.iter().map(|event| event.len()).sum();
        self.counted.add_pattern(level, n_symbols, times);
        let symbols = if level == 0 {
            let run = self.counted.run_of(events, number)?;
            for run in run.split(|&symbol| symbol == BREAK) {
                sink.run(holder, run, short)?;
            }
            run
        } else {
            let children = self.children_of(level, events);
            self.edges.crossing_windows(&children, |window, n_known| {
                sink.window(holder, window, n_known, short)
            })?;
            let mut symbols = Vec::new();
            self.edges.join(&children, &mut symbols);
            symbols
        };
        // Nothing refers to the uppermost level.
        if level + 1 < self.n_levels {
            self.edges.insert(level, holder.name, &symbols);
        }
        Ok(())
    }

    /// Returns the children of a pattern.
    fn children_of(&mut self, level: usize, events: &[Event]) -> Vec<Child> {
        let mut children = Vec::with_capacity(events.len());
        for event in events {
            children.push(match event.symbols() {
                [symbol] => {
                    let name = PatternName::from_symbol(symbol);
                    let child = name.and_then(|name| self.edges.place(level, &name));
                    if child.is_none() {
                        self.counted.unknown_names += 1;
                        if let Some(name) = name {
                            note_missing(&mut self.missing, level, name);
                        }
                    }
                    child
                }
                _ => {
                    self.counted.wide_events += 1;
                    None
                }
            });
        }
        children
    }

    /// Returns about how many bytes of memory the reader holds.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.edges.heap_bytes() + self.missing.allocation_size()
    }

    /// Returns what was counted, and the names that no level held.
    pub(crate) fn finish(self) -> (Counted, Missing) {
        (self.counted, self.missing)
    }
}
