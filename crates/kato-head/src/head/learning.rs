//! Counting what is learned after a head was made.

use kato_model::{Event, PatternName};

use super::Head;
use crate::HeadError;
use crate::collect::{BREAK, Child, Counted, Edges, Missing, note_missing, windows_of};
use crate::trie::Trie;

/// Finds the events of a pattern of a lower level.
type LookUp<'a, E> = dyn FnMut(usize, &PatternName) -> Result<Option<Vec<Event>>, E> + 'a;

impl Head {
    /// Counts a pattern that was learned `times` more often, on a level of the hierarchy. Levels
    /// that the head does not count are passed over.
    ///
    /// `below` finds the events of patterns of lower levels, by level and name, and is not asked
    /// on the lowest level. The result is that of counting a store that holds the lesson, unless the
    /// pattern is one that was [missing](Self::is_missing).
    ///
    /// # Errors
    ///
    /// [`HeadError::TooManyNgrams`], [`HeadError::TooManySymbols`], and what `below` fails with. Then
    /// the pattern may be counted in part: count anew.
    pub fn learn<E: From<HeadError>>(
        &mut self,
        level: usize,
        events: &[Event],
        times: u64,
        mut below: impl FnMut(usize, &PatternName) -> Result<Option<Vec<Event>>, E>,
    ) -> Result<(), E> {
        let mut edges = Edges::new(self.trie.order() - 1);
        self.learn_with(level, events, times, &mut edges, &mut below)
    }

    /// Counts as [`learn`](Self::learn). Patterns of lower levels that were looked up are kept in `edges`, and
    /// not asked for again.
    pub(crate) fn learn_with<E: From<HeadError>>(
        &mut self,
        level: usize,
        events: &[Event],
        times: u64,
        edges: &mut Edges,
        below: &mut LookUp<'_, E>,
    ) -> Result<(), E> {
        if level >= self.n_levels || times == 0 {
            return Ok(());
        }
        self.roots.take();
        let short = u32::try_from(times).unwrap_or(u32::MAX);
        let n_symbols = events.iter().map(|event| event.len()).sum();
        self.counted.add_pattern(level, n_symbols, times);
        if level == 0 {
            let run = self.run_of(events)?;
            for run in run.split(|&symbol| symbol == BREAK) {
                for window in windows_of(run, self.trie.order()) {
                    self.trie.count(window, 0, short)?;
                }
            }
        } else {
            let children = self.children_of(level, events, edges, below)?;
            let trie = &mut self.trie;
            edges.crossing_windows(&children, |window, n_known| {
                trie.count(window, n_known, short)
            })?;
        }
        self.trie.settle();
        Ok(())
    }

    /// Returns whether patterns above a level refer to a pattern that no level below them held when
    /// they were counted. Where that level learns it, their n-grams are others than those that were
    /// counted, and only counting anew finds them; levels that are taught from below never meet
    /// this.
    #[must_use]
    pub fn is_missing(&self, level: usize, name: &PatternName) -> bool {
        self.missing.get(name).is_some_and(|&above| above > level)
    }

    /// Forgets everything that was counted; symbols keep their numbers.
    pub fn clear(&mut self) {
        self.trie = Trie::new(self.options.order);
        self.counted = Counted::default();
        self.missing = Missing::default();
        self.frozen = None;
        self.roots.take();
    }

    /// Returns the numbers of the symbols of a pattern of the lowest level.
    fn run_of(&mut self, events: &[Event]) -> Result<Vec<u32>, HeadError> {
        let symbols = &mut self.symbols;
        self.counted
            .run_of(events, &mut |symbol| symbols.intern(symbol))
    }

    /// Returns the children of a pattern, whose ends come into `edges`.
    fn children_of<E: From<HeadError>>(
        &mut self,
        level: usize,
        events: &[Event],
        edges: &mut Edges,
        below: &mut LookUp<'_, E>,
    ) -> Result<Vec<Child>, E> {
        let mut children = Vec::with_capacity(events.len());
        for event in events {
            let child = match event.symbols() {
                [symbol] => match PatternName::from_symbol(symbol) {
                    Some(name) => {
                        let child = self.child(level, &name, edges, below)?;
                        if child.is_none() {
                            note_missing(&mut self.missing, level, name);
                        }
                        child
                    }
                    None => None,
                },
                _ => None,
            };
            match event.symbols() {
                [_] => self.counted.unknown_names += u64::from(child.is_none()),
                _ => self.counted.wide_events += 1,
            }
            children.push(child);
        }
        Ok(children)
    }

    /// Finds a pattern below a level, on the lowest one that holds it.
    fn child<E: From<HeadError>>(
        &mut self,
        level: usize,
        name: &PatternName,
        edges: &mut Edges,
        below: &mut LookUp<'_, E>,
    ) -> Result<Child, E> {
        if let Some(place) = edges.place(level, name) {
            return Ok(Some(place));
        }
        let mut found = None;
        for level in 0..level {
            if let Some(events) = below(level, name)? {
                found = Some((level, events));
                break;
            }
        }
        let Some((found_at, events)) = found else {
            return Ok(None);
        };
        // What is counted here is how often patterns hold something, and these are only looked at.
        let counted = self.counted;
        let symbols = match found_at {
            0 => self.run_of(&events)?,
            _ => {
                // Ends after as many steps as there are levels, as every step goes down.
                let children = self.children_of(found_at, &events, edges, below)?;
                let mut symbols = Vec::new();
                edges.join(&children, &mut symbols);
                symbols
            }
        };
        self.counted = counted;
        edges.insert(found_at, *name, &symbols);
        Ok(edges.place(level, name))
    }
}
