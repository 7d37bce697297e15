//! The loading of a node from its store.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;

use kato_model::{AttributeLimits, Attributes, EmotiveMap, PatternName};
use kato_prediction::frozen::FrozenIndex;
use kato_prediction::{IndexError, PatternIndex, SymbolId};
use kato_store::contract::Totals;
use kato_store::visit::{ContentDigest, SourceSymbols, SymbolRef, VisitedPattern};
use kato_store::{PatternStore, PatternVisitor};

use crate::EngineError;
use crate::node::{NodeMemory, Windows};
use crate::vectors::VectorIndex;

/// The content of a node as its store has it.
pub(crate) struct Loaded {
    pub(crate) memory: NodeMemory,
    /// First part of the latest position of any emotives; `None` if there are none.
    pub(crate) latest_epoch: Option<u64>,
}

/// Patterns between two looks at the memory that they take.
const LOOK_EVERY: usize = 1 << 14;

/// Bytes that a symbol of a source takes while it is read: a name, and what tells its id.
const SOURCE_SYMBOL: usize = PatternName::BYTES + size_of::<Option<SymbolId>>();

/// Bytes of the look-up by name for each pattern that it has room for, at most.
const NAME_BYTES: usize = 12;

/// Most patterns of a source for which room is made at once: a store that says more than it has costs
/// some memory, and nothing else.
const MOST_RESERVED: usize = 1 << 24;

/// The memory that may be taken by loading, for all nodes together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LoadLimit {
    most: Option<usize>,
    /// Bytes of the nodes that are loaded.
    taken: usize,
}

impl LoadLimit {
    pub(crate) const fn new(most: Option<usize>) -> Self {
        Self { most, taken: 0 }
    }

    /// Returns the limit if it is passed by this index, beside so many bytes.
    fn passed_by(&self, index: &PatternIndex, beside: usize) -> Option<usize> {
        let most = self.most?;
        // Nothing is counted where nothing limits it.
        let taken = self.taken.saturating_add(beside);
        (taken.saturating_add(loaded_bytes(index)) > most).then_some(most)
    }
}

/// Returns the bytes of memory of what was loaded: no limit is too small for an index on the disk that
/// lies below.
fn loaded_bytes(index: &PatternIndex) -> usize {
    let below = index.base().map_or(0, |base| base.heap_bytes());
    index.heap_bytes().saturating_sub(below)
}

/// Reads everything that a node's predictions depend on.
pub(crate) fn load(
    store: &dyn PatternStore,
    node_idx: usize,
    limit: &mut LoadLimit,
) -> Result<Loaded, EngineError> {
    let mut loader = Loader::new(PatternIndex::new(), store.attribute_limits(), limit);
    store
        .visit(node_idx, &mut loader)
        .map_err(EngineError::store("load a node"))?;
    loader.finish(store, node_idx, None)
}

/// Reads what an index of a node's patterns lacks: vectors, and what the store holds beside the sources
/// that are indexed. `None` if the store does not hold all of those, or the index is damaged.
pub(crate) fn load_over(
    store: &dyn PatternStore,
    node_idx: usize,
    frozen: Arc<FrozenIndex>,
    covered: &[ContentDigest],
    n_threads: NonZeroUsize,
    limit: &mut LoadLimit,
) -> Result<Option<Loaded>, EngineError> {
    let index = PatternIndex::over(frozen).with_threads(n_threads);
    let mut loader = Loader::new(index, store.attribute_limits(), limit);
    let is_covered = store
        .visit_beyond(node_idx, covered, &mut loader)
        .map_err(EngineError::store("load a node"))?;
    // Where it is new depends on what the index holds.
    if !is_covered || loader.index.is_damaged() {
        return Ok(None);
    }
    let totals = store.totals(node_idx);
    let totals = totals.map_err(EngineError::store("read a node's totals"))?;
    loader.finish(store, node_idx, Some(totals)).map(Some)
}

fn load_vectors(store: &dyn PatternStore, node_idx: usize) -> Result<VectorIndex, EngineError> {
    let mut vectors = VectorIndex::default();
    let stored = store
        .vectors(node_idx)
        .map_err(EngineError::store("load a node's vectors"))?;
    for vector in stored {
        let (name, elements) = vector.map_err(EngineError::store("load a node's vectors"))?;
        vectors.insert(name, &elements);
    }
    Ok(vectors)
}

/// A visitor of a store that collects a node's patterns.
struct Loader<'a> {
    index: PatternIndex,
    limit: &'a mut LoadLimit,
    /// Patterns until the memory is looked at.
    until_look: usize,
    windows: Windows,
    learns: u64,
    learned_symbols: u64,
    limits: AttributeLimits,
    /// Symbol of the source → symbol of the index, for those met so far.
    ids: Vec<Option<SymbolId>>,
    /// Symbols of the pattern at hand; reused.
    symbols: Vec<SymbolId>,
    error: Option<(PatternName, IndexError)>,
    /// The limit of memory that was passed.
    passed: Option<usize>,
}

impl<'a> Loader<'a> {
    fn new(index: PatternIndex, limits: AttributeLimits, limit: &'a mut LoadLimit) -> Self {
        Self {
            index,
            limit,
            until_look: LOOK_EVERY,
            passed: None,
            windows: Windows::default(),
            learns: 0,
            learned_symbols: 0,
            limits,
            ids: Vec::new(),
            symbols: Vec::new(),
            error: None,
        }
    }

    /// Returns what was read, with the vectors. `totals` are those of the node, where not all of its
    /// patterns were read.
    fn finish(
        mut self,
        store: &dyn PatternStore,
        node_idx: usize,
        totals: Option<Totals>,
    ) -> Result<Loaded, EngineError> {
        // A visitor can only break off; the reason is in the loader, and the visit ends without error.
        if self.passed.is_none() {
            self.passed = self.limit.passed_by(&self.index, 0);
        }
        if let Some(limit) = self.passed {
            return Err(EngineError::LoadMemoryFull {
                node: store.nodes()[node_idx].clone(),
                limit,
            });
        }
        if let Some((name, source)) = self.error {
            return Err(EngineError::Load {
                node: store.nodes()[node_idx].clone(),
                name,
                source,
            });
        }
        self.index.seal();
        self.limit.taken = self.limit.taken.saturating_add(loaded_bytes(&self.index));
        let vectors = load_vectors(store, node_idx)?;
        let positions = self.windows.values().flat_map(|window| window.entries());
        let latest_epoch = positions.map(|entry| entry.position.0).max();
        let (learns, learned_symbols) = match totals {
            Some(totals) => (totals.learns, totals.learned_symbols),
            None => (self.learns, self.learned_symbols),
        };
        let tombstones = store.tombstones(node_idx);
        let tombstones =
            tombstones.map_err(EngineError::store("read which patterns are retired"))?;
        let mut memory =
            NodeMemory::loaded(self.index, vectors, self.windows, learns, learned_symbols);
        if !tombstones.is_empty() {
            memory.set_tombstones(tombstones);
        }
        Ok(Loaded {
            memory,
            latest_epoch,
        })
    }

    /// Looks now and then whether there is still memory; returns whether there is.
    fn has_memory(&mut self, source: &SourceSymbols<'_>) -> bool {
        self.until_look -= 1;
        if self.until_look == 0 {
            self.until_look = LOOK_EVERY;
            self.look(source.len());
        }
        self.passed.is_none()
    }

    /// Looks at the memory that everything takes, beside the symbols of a source.
    fn look(&mut self, n_symbols: usize) {
        let beside = n_symbols.saturating_mul(SOURCE_SYMBOL);
        self.passed = self.limit.passed_by(&self.index, beside);
    }

    /// Makes room for the patterns of a source, where that leaves as much memory again: they may all be
    /// known already.
    fn reserve(&mut self, n_patterns: u64, n_symbols: usize) {
        let n_patterns =
            usize::try_from(n_patterns).map_or(MOST_RESERVED, |n| n.min(MOST_RESERVED));
        let beside = n_symbols
            .saturating_mul(SOURCE_SYMBOL)
            .saturating_add(n_patterns * 2 * NAME_BYTES);
        if self.limit.passed_by(&self.index, beside).is_none() {
            self.index.reserve(n_patterns);
        }
    }

    /// Adds one pattern of a source.
    fn add_pattern(
        &mut self,
        source: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> Result<(), IndexError> {
        self.symbols.clear();
        for &number in pattern.symbols {
            // Each symbol of a source is hashed once, however many patterns hold it.
            let id = match self.ids.get(number as usize).copied().flatten() {
                Some(id) => id,
                None => self.intern(source, number)?,
            };
            self.symbols.push(id);
        }
        self.index.insert(
            pattern.name,
            &self.symbols,
            pattern.event_lengths(),
            pattern.frequency,
        )?;
        let (frequency, length) = (pattern.frequency, pattern.symbols.len() as u64);
        // Saturating, as imported frequencies may be as large as a number can be.
        self.learns = self.learns.saturating_add(frequency);
        self.learned_symbols = self
            .learned_symbols
            .saturating_add(frequency.saturating_mul(length));
        if let Some(attributes) = pattern.attributes {
            self.attach(pattern.name, attributes);
        }
        Ok(())
    }

    /// Returns the id of a source's symbol in the index, and remembers it for the source.
    fn intern(&mut self, source: &SourceSymbols<'_>, number: u32) -> Result<SymbolId, IndexError> {
        let id = match source.get(number) {
            Some(SymbolRef::Text(text)) => self.index.intern(text)?,
            Some(SymbolRef::Name(name)) => self.index.intern_name(&name)?,
            // A store that breaks its contract: the pattern has a symbol that the source lacks.
            None => return Err(IndexError::Malformed { symbols: 0 }),
        };
        if let Some(held) = self.ids.get_mut(number as usize) {
            *held = Some(id);
        }
        Ok(id)
    }

    /// Adds the emotives and affinities of a pattern; metadata are read from the store when needed.
    fn attach(&mut self, name: PatternName, attributes: &Attributes) {
        if !attributes.emotives.is_empty() {
            // Merged, since other sources may hold emotives of the same pattern.
            let window = self.windows.entry(name).or_default();
            window.merge(attributes.emotives.clone(), self.limits.persistence);
        }
        if !attributes.affinity.is_empty() {
            self.index.add_affinity(&name, &attributes.affinity);
        }
    }
}

impl PatternVisitor for Loader<'_> {
    fn deleted(&mut self, name: PatternName) -> bool {
        // An index on the disk is of no node that has emotives.
        self.index.purge(&name, &EmotiveMap::new());
        true
    }

    fn source(&mut self, symbols: &SourceSymbols<'_>, n_patterns: u64) -> ControlFlow<()> {
        self.look(symbols.len());
        if self.passed.is_some() {
            return ControlFlow::Break(());
        }
        self.reserve(n_patterns, symbols.len());
        // Every source numbers its symbols on its own.
        self.ids.clear();
        self.ids.resize(symbols.len(), None);
        ControlFlow::Continue(())
    }

    fn pattern(
        &mut self,
        symbols: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> ControlFlow<()> {
        match self.add_pattern(symbols, pattern) {
            Ok(()) if self.has_memory(symbols) => ControlFlow::Continue(()),
            Ok(()) => ControlFlow::Break(()),
            Err(error) => {
                self.error = Some((pattern.name, error));
                ControlFlow::Break(())
            }
        }
    }
}
