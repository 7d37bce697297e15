//! Patterns of a store that are looked at one by one.

use kato_model::{Event, PatternName};
use kato_store::{PatternStore, StoreError, Tombstones};

use crate::HeadError;
use crate::collect::{BREAK, Child, Counted, Edges, Holder, Sink};
use crate::head::Head;

/// A reader of single patterns, which keeps the ends of those that they refer to.
pub(super) struct LookedAt<'a> {
    head: &'a Head,
    store: &'a dyn PatternStore,
    /// By level.
    retired: Vec<Tombstones>,
    edges: Edges,
}

fn of_level(level: usize) -> impl FnOnce(StoreError) -> HeadError {
    move |source| HeadError::Store { level, source }
}

impl<'a> LookedAt<'a> {
    /// Creates a reader that has looked at nothing.
    pub(super) fn new(head: &'a Head, store: &'a dyn PatternStore) -> Result<Self, HeadError> {
        Ok(Self {
            head,
            store,
            retired: Tombstones::of_store(store).map_err(of_level(0))?,
            edges: Edges::new(head.options().order - 1),
        })
    }

    /// Shows the n-grams of a pattern to a sink.
    pub(super) fn show(&mut self, holder: Holder, sink: &mut dyn Sink) -> Result<(), HeadError> {
        let Holder { level, name } = holder;
        let stored = self.store.pattern(level, &name).map_err(of_level(level))?;
        let Some(stored) = stored else {
            return Ok(());
        };
        let times = u32::try_from(stored.frequency).unwrap_or(u32::MAX);
        let events = stored.events();
        if level == 0 {
            for run in self.run_of(&events)?.split(|&symbol| symbol == BREAK) {
                sink.run(holder, run, times)?;
            }
            return Ok(());
        }
        let children = self.children_of(level, &events)?;
        self.edges.crossing_windows(&children, |window, n_known| {
            sink.window(holder, window, n_known, times)
        })
    }

    fn run_of(&self, events: &[Event]) -> Result<Vec<u32>, HeadError> {
        let number = &mut |text: &str| Ok(self.head.number(text));
        Counted::default().run_of(events, number)
    }

    /// Returns the children of a pattern, whose ends come into the edges.
    fn children_of(&mut self, level: usize, events: &[Event]) -> Result<Vec<Child>, HeadError> {
        let children = events.iter().map(|event| match event.symbols() {
            [symbol] => match PatternName::from_symbol(symbol) {
                Some(name) => self.child(level, &name),
                None => Ok(None),
            },
            _ => Ok(None),
        });
        children.collect()
    }

    /// Finds a pattern below a level, on the lowest one that holds it.
    fn child(&mut self, level: usize, name: &PatternName) -> Result<Child, HeadError> {
        if let Some(place) = self.edges.place(level, name) {
            return Ok(Some(place));
        }
        for below in 0..level {
            if self.retired[below].get(name).is_some() {
                continue;
            }
            let stored = self.store.pattern(below, name).map_err(of_level(below))?;
            let Some(stored) = stored else { continue };
            let symbols = match below {
                0 => self.run_of(&stored.events())?,
                _ => {
                    let children = self.children_of(below, &stored.events())?;
                    let mut symbols = Vec::new();
                    self.edges.join(&children, &mut symbols);
                    symbols
                }
            };
            self.edges.insert(below, *name, &symbols);
            return Ok(self.edges.place(level, name));
        }
        Ok(None)
    }
}
