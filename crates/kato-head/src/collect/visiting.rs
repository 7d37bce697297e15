//! Shows the n-grams of a store's patterns, level by level.

use std::ops::ControlFlow;

use kato_store::visit::{SourceSymbols, SymbolRef, VisitedPattern};
use kato_store::{PatternStore, PatternVisitor, Tombstones};

use super::{BREAK, Child, Counted, Edges, Holder, Missing, Sink, note_missing};
use crate::{HeadError, HeadOptions};

/// Stands for the symbols of patterns whose ends nobody needs.
const OTHER: u32 = u32::MAX - 2;

/// The patterns whose ends are kept while those of the levels above are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    All,
    /// Those that the sink [needs](Sink::needs_ends): only where every name above the lowest level is that of a pattern
    /// of a level below.
    Needed,
}

/// Shows the n-grams of all patterns of a store that are not retired to a sink. `number` gives symbols their numbers,
/// [`BREAK`] for those that do not matter.
pub(crate) fn visit(
    store: &dyn PatternStore,
    number: &mut dyn FnMut(&str) -> Result<u32, HeadError>,
    options: &HeadOptions,
    sink: &mut dyn Sink,
    ends: Ends,
) -> Result<(Counted, Missing), HeadError> {
    let n_levels = store.nodes().len();
    let n_levels = options.levels.map_or(n_levels, |most| most.min(n_levels));
    let mut edges = Edges::new(options.order - 1);
    let others = (ends == Ends::Needed).then(|| edges.push(&[OTHER]));
    let mut collector = Collector {
        number,
        sink,
        counted: Counted::default(),
        missing: Missing::default(),
        edges,
        others,
        level: 0,
        retired: Tombstones::default(),
        is_top: n_levels <= 1,
        is_first_source: true,
        source_ids: Vec::new(),
        run: Vec::new(),
        children: Vec::new(),
        error: None,
    };
    for level in 0..n_levels {
        collector.level = level;
        let retired = store.tombstones(level);
        collector.retired = retired.map_err(|source| HeadError::Store { level, source })?;
        collector.is_top = level + 1 == n_levels;
        loop {
            collector.is_first_source = true;
            let visited = store.visit(level, &mut collector);
            // A visitor can only break off; the reason is kept beside it.
            if let Some(error) = collector.error.take() {
                return Err(error);
            }
            visited.map_err(|source| HeadError::Store { level, source })?;
            if collector.sink.end_level().is_break() {
                break;
            }
        }
    }
    Ok((collector.counted, collector.missing))
}

/// A visitor that counts the patterns of one level after the other.
struct Collector<'a> {
    number: &'a mut dyn FnMut(&str) -> Result<u32, HeadError>,
    sink: &'a mut dyn Sink,
    counted: Counted,
    missing: Missing,
    edges: Edges,
    /// The place of all patterns whose ends are not kept, if there are any.
    others: Option<u32>,
    level: usize,
    /// Patterns of the level that count as if nobody had learned them.
    retired: Tombstones,
    is_top: bool,
    is_first_source: bool,
    /// By number of the source: a symbol at the lowest level, a place in `edges` above; `None`
    /// before the first use.
    source_ids: Vec<Option<u32>>,
    /// Symbols of the pattern at hand; reused.
    run: Vec<u32>,
    /// Its children above the lowest level; reused.
    children: Vec<Child>,
    error: Option<HeadError>,
}

impl Collector<'_> {
    fn add(
        &mut self,
        source: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> Result<(), HeadError> {
        if self.retired.get(&pattern.name).is_some() {
            return Ok(());
        }
        let times = u32::try_from(pattern.frequency).unwrap_or(u32::MAX);
        let holder = Holder {
            level: self.level,
            name: pattern.name,
        };
        let n_symbols = pattern.symbols.len();
        self.counted
            .add_pattern(self.level, n_symbols, pattern.frequency);
        self.run.clear();
        if self.level == 0 {
            self.read_tokens(source, pattern)?;
            for run in self.run.split(|&symbol| symbol == BREAK) {
                self.sink.run(holder, run, times)?;
            }
        } else {
            self.read_children(source, pattern);
            let sink = &mut *self.sink;
            let show = |window: &[u32], n_known: usize| sink.window(holder, window, n_known, times);
            self.edges.crossing_windows(&self.children, show)?;
            if !self.is_top {
                self.edges.join(&self.children, &mut self.run);
            }
        }
        if !self.is_top && (self.others.is_none() || self.sink.needs_ends(&self.run)) {
            self.edges.insert(self.level, pattern.name, &self.run);
        }
        Ok(())
    }

    /// Reads the symbols of a pattern of the lowest level.
    fn read_tokens(
        &mut self,
        source: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> Result<(), HeadError> {
        for event in pattern.events() {
            let symbol = match *event {
                [number] => self.token(source, number)?,
                // Which of them came first was not learned.
                _ => {
                    self.counted.wide_events += 1;
                    BREAK
                }
            };
            self.run.push(symbol);
        }
        Ok(())
    }

    /// Returns the number of a source's symbol in the head.
    fn token(&mut self, source: &SourceSymbols<'_>, number: u32) -> Result<u32, HeadError> {
        if let Some(id) = self.source_ids.get(number as usize).copied().flatten() {
            return Ok(id);
        }
        let id = match source.get(number) {
            Some(SymbolRef::Text(text)) => (self.number)(text)?,
            Some(name @ SymbolRef::Name(_)) => (self.number)(&name.to_string())?,
            // A store that breaks its contract: the pattern has a symbol that the source lacks.
            None => BREAK,
        };
        if let Some(held) = self.source_ids.get_mut(number as usize) {
            *held = Some(id);
        }
        Ok(id)
    }

    /// Reads the children of a pattern above the lowest level.
    fn read_children(&mut self, source: &SourceSymbols<'_>, pattern: &VisitedPattern<'_>) {
        self.children.clear();
        for event in pattern.events() {
            let child = match *event {
                [number] => {
                    let child = self.child(source, number);
                    self.counted.unknown_names += u64::from(child.is_none());
                    child
                }
                _ => {
                    self.counted.wide_events += 1;
                    None
                }
            };
            self.children.push(child);
        }
    }

    /// Returns the place of a child in the edges.
    fn child(&mut self, source: &SourceSymbols<'_>, number: u32) -> Child {
        let held = self.source_ids.get(number as usize).copied().flatten();
        if let Some(place) = held {
            return Some(place).filter(|&place| place != BREAK);
        }
        let place = match source.get(number) {
            Some(SymbolRef::Name(name)) => {
                let place = self.edges.place(self.level, &name);
                let place = place.or(self.others);
                if place.is_none() {
                    note_missing(&mut self.missing, self.level, name);
                }
                place
            }
            // Text above the lowest level is no pattern.
            Some(SymbolRef::Text(_)) | None => None,
        };
        if let Some(held) = self.source_ids.get_mut(number as usize) {
            *held = Some(place.unwrap_or(BREAK));
        }
        place
    }
}

impl PatternVisitor for Collector<'_> {
    fn source(&mut self, symbols: &SourceSymbols<'_>, _n_patterns: u64) -> ControlFlow<()> {
        self.source_ids.clear();
        self.source_ids.resize(symbols.len(), None);
        self.sink
            .source(std::mem::replace(&mut self.is_first_source, false))
    }

    fn pattern(
        &mut self,
        symbols: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> ControlFlow<()> {
        match self.add(symbols, pattern) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
