//! The loading of a node from its store.

mod ahead;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;

use kato_model::{AttributeLimits, Attributes, EmotiveMap, PatternName, Symbol};
use kato_prediction::frozen::{Found, FoundSymbol, FrozenIndex};
use kato_prediction::{IndexError, PatternIndex, SymbolId};
use kato_store::contract::Totals;
use kato_store::visit::{ContentDigest, VisitedPattern};
use kato_store::{PatternStore, PatternVisitor, StoreError};

use self::ahead::{Adder, Ahead, Message, Met, Piece};
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

/// Bytes that a symbol of a source takes while it is read: a name, whether it was met, what was found of it, and what
/// tells its id.
const SOURCE_SYMBOL: usize = PatternName::BYTES
    + size_of::<bool>()
    + size_of::<Option<FoundSymbol>>()
    + size_of::<Option<SymbolId>>();

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
    let loader = Loader::new(PatternIndex::new(), store.attribute_limits(), limit);
    let visit = |visitor: &mut dyn PatternVisitor| store.visit(node_idx, visitor).map(|()| true);
    let (loader, _) = loader.read(visit)?;
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
    let loader = Loader::new(index, store.attribute_limits(), limit);
    let visit = |visitor: &mut dyn PatternVisitor| store.visit_beyond(node_idx, covered, visitor);
    let (loader, is_covered) = loader.read(visit)?;
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

/// What is read of a node's patterns.
struct Loader<'a> {
    index: PatternIndex,
    limit: &'a mut LoadLimit,
    /// Patterns until the memory is looked at.
    until_look: usize,
    /// Symbols of the source.
    n_symbols: usize,
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
            n_symbols: 0,
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

    /// Takes in what a visit of the store shows, on a thread of its own where that is much. Returns also
    /// what the visit returned; `true` where it was broken off.
    fn read(
        self,
        visit: impl FnOnce(&mut dyn PatternVisitor) -> Result<bool, StoreError>,
    ) -> Result<(Self, bool), EngineError> {
        thread::scope(|scope| {
            let below = self.index.base().cloned();
            let mut ahead = Ahead::new(scope, below, self);
            let visited = visit(&mut ahead);
            let loader = ahead.finish();
            // What was read ahead of where it was broken off does not matter.
            if loader.passed.is_some() || loader.error.is_some() {
                return Ok((loader, true));
            }
            let visited = visited.map_err(EngineError::store("load a node"))?;
            Ok((loader, visited))
        })
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
            self.index.seal();
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
    fn has_memory(&mut self) -> bool {
        self.until_look -= 1;
        if self.until_look == 0 {
            self.until_look = LOOK_EVERY;
            self.look();
        }
        self.passed.is_none()
    }

    /// Looks at the memory that everything takes, beside the symbols of the source.
    fn look(&mut self) {
        let beside = self.n_symbols.saturating_mul(SOURCE_SYMBOL);
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

    /// Begins a source; returns whether there is memory for it.
    fn begin_source(&mut self, n_symbols: usize, n_patterns: u64) -> bool {
        self.n_symbols = n_symbols;
        self.look();
        if self.passed.is_some() {
            return false;
        }
        self.reserve(n_patterns, n_symbols);
        self.ids.clear();
        self.ids.resize(n_symbols, None);
        true
    }

    /// Adds patterns of a source; returns whether it takes more.
    fn add_piece(&mut self, piece: &Piece) -> bool {
        let mut met = piece.met.iter();
        for (pattern, found) in piece.patterns() {
            let added = self.add_pattern(&pattern, found, &mut met);
            if let Err(error) = added {
                self.error = Some((pattern.name, error));
                return false;
            }
            if !self.has_memory() {
                return false;
            }
        }
        true
    }

    /// Adds one pattern of a source.
    fn add_pattern<'m>(
        &mut self,
        pattern: &VisitedPattern<'_>,
        found: Option<Found>,
        met: &mut impl Iterator<Item = &'m Met>,
    ) -> Result<(), IndexError> {
        self.symbols.clear();
        for &number in pattern.symbols {
            // Each symbol of a source is hashed once, however many patterns hold it.
            let id = match self.ids.get(number as usize).copied().flatten() {
                Some(id) => id,
                None => self.intern(number, met.next())?,
            };
            self.symbols.push(id);
        }
        let (name, lengths) = (pattern.name, pattern.event_lengths());
        match found {
            Some(found) => {
                let (index, symbols) = (&mut self.index, &self.symbols);
                index.insert_found(name, found, symbols, lengths, pattern.frequency)?
            }
            None => self
                .index
                .insert(name, &self.symbols, lengths, pattern.frequency)?,
        };
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
    fn intern(&mut self, number: u32, met: Option<&Met>) -> Result<SymbolId, IndexError> {
        let met = met.filter(|met| met.number == number);
        let id = match met.map(|met| (met.symbol.as_ref(), met.found)) {
            Some((Some(Symbol::Text(text)), _)) => self.index.intern(text)?,
            Some((Some(Symbol::Name(name)), Some(found))) => {
                self.index.intern_found(name, found)?
            }
            Some((Some(Symbol::Name(name)), None)) => self.index.intern_name(name)?,
            // A store that breaks its contract: the pattern has a symbol that the source lacks.
            Some((None, _)) | None => return Err(IndexError::Malformed { symbols: 0 }),
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

impl Adder for Loader<'_> {
    fn add(&mut self, message: Message) -> ControlFlow<()> {
        let takes_more = match message {
            Message::Deleted(name) => {
                // An index on the disk is of no node that has emotives.
                self.index.purge(&name, &EmotiveMap::new());
                true
            }
            Message::Source {
                n_symbols,
                n_patterns,
            } => self.begin_source(n_symbols, n_patterns),
            Message::Patterns(piece) => self.add_piece(&piece),
        };
        match takes_more {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}
