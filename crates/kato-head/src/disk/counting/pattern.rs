//! Counting the n-grams of one pattern.

use kato_store::visit::VisitedPattern;

use super::{Counter, CountsError};
use crate::collect::{BREAK, note_missing};
use crate::disk::batches::Batches;

/// Patterns between two looks whether it was cancelled.
const CHECK_EVERY: u64 = 1 << 12;

impl Counter {
    /// Counts the next pattern of the level at hand.
    pub(super) fn add(&mut self, pattern: &VisitedPattern<'_>) -> Result<(), CountsError> {
        self.n_seen += 1;
        if self.n_seen.is_multiple_of(CHECK_EVERY) {
            self.options.check()?;
        }
        let place = self.n_of_level;
        self.n_of_level += 1;
        if self.tombstones[self.level].get(&pattern.name).is_some() {
            self.retired.insert(place, pattern.name);
            // Those behind it keep their places.
            return self.own.as_mut().map_or(Ok(()), |own| own.push(&[]));
        }
        // The lowest level begins with them.
        if self.batches.is_none() {
            return Ok(());
        }
        let n_symbols = pattern.symbols.len();
        self.counted
            .add_pattern(self.level, n_symbols, pattern.frequency);
        self.run.clear();
        match self.level {
            0 => self.add_texts(pattern),
            _ => self.add_children(pattern)?,
        }
        if let Some(own) = &mut self.own {
            own.push(&self.run)?;
        }
        self.batches.as_mut().map_or(Ok(()), Batches::end_if_full)
    }

    /// Counts the windows of a pattern of the lowest level, and leaves its symbols in the run.
    fn add_texts(&mut self, pattern: &VisitedPattern<'_>) {
        for event in pattern.events() {
            self.run.push(match *event {
                [number] => match self.is_used.get_mut(number as usize) {
                    Some(is_used) => {
                        *is_used = true;
                        number
                    }
                    // A store that breaks its contract: the pattern has a symbol that the node lacks.
                    None => BREAK,
                },
                // Which of them came first was not learned.
                _ => {
                    self.counted.wide_events += 1;
                    BREAK
                }
            });
        }
        if let Some(batches) = &mut self.batches {
            for run in self.run.split(|&symbol| symbol == BREAK) {
                batches.windows.run(run, times(pattern));
            }
        }
    }

    /// Counts the windows that lie across the children of a pattern above the lowest level, and leaves its own
    /// ends in the run, where the level above needs them.
    fn add_children(&mut self, pattern: &VisitedPattern<'_>) -> Result<(), CountsError> {
        self.read_children(pattern);
        let Some(batches) = &mut self.batches else {
            return Ok(());
        };
        let (windows, times) = (&mut batches.windows, times(pattern));
        self.edges
            .crossing_windows(&self.children, |window, n_known| {
                windows.window(window, n_known, times);
                Ok::<_, CountsError>(())
            })?;
        if self.own.is_some() {
            self.edges.join(&self.children, &mut self.run);
        }
        Ok(())
    }

    /// Reads the children of a pattern above the lowest level.
    fn read_children(&mut self, pattern: &VisitedPattern<'_>) {
        self.children.clear();
        self.edges.clear();
        self.lengths.clear();
        if let Some(below) = &self.below {
            // They lie anywhere, so all are fetched before one is read.
            let lengths = pattern.symbols.iter().map(|&number| below.length(number));
            self.lengths.extend(lengths);
        }
        let mut place = 0;
        for event in pattern.events() {
            let length = self.lengths.get(place).copied().unwrap_or(0);
            place += event.len();
            let child = match (event, &self.below) {
                (&[number], Some(below))
                    if number < self.n_below && !self.retired_below.contains_key(&number) =>
                {
                    below.read(number, length, &mut self.run);
                    Some(self.edges.push(&self.run))
                }
                ([number], _) => {
                    self.counted.unknown_names += 1;
                    if let Some(name) = self.retired_below.get(number) {
                        note_missing(&mut self.missing, self.level, *name);
                    }
                    None
                }
                _ => {
                    self.counted.wide_events += 1;
                    None
                }
            };
            self.children.push(child);
        }
        self.run.clear();
    }
}

/// Returns how often a pattern was learned.
fn times(pattern: &VisitedPattern<'_>) -> u32 {
    u32::try_from(pattern.frequency).unwrap_or(u32::MAX)
}
