//! A node: what it has learned, and predictions for any state.

mod cell;
mod lesson;
mod memory;
mod retire;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use kato_model::{EmotiveMap, Event, Metadata, Pattern, PatternName, PatternRecord, VectorName};
use kato_prediction::{Cancel, IndexedSymbolCounts, PatternIndex, Predictions};
use kato_probe::in_order;
use serde::{Deserialize, Serialize};

pub(crate) use self::cell::NodeCell;
pub use self::cell::RELOAD_AFTER;
pub use self::lesson::Lesson;
pub(crate) use self::lesson::{LessonRef, Prepared};
pub(crate) use self::memory::{NodeMemory, Windows};
pub use self::retire::{PurgeOutcome, PurgeStatus, RetireOutcome, UnretireOutcome};
use crate::engine::Shared;
use crate::session::SessionState;
use crate::{EngineError, EngineOptions, Session, SessionConfig};

/// Lessons from which on naming them is worth a thread.
const LESSONS_OF_A_THREAD: usize = 1 << 11;

/// A handle of one node of an [`Engine`](crate::Engine): cheap to clone, usable from any thread.
///
/// Predictions read the node and run side by side; a learn excludes them for a few
/// microseconds, and now and then for as long as it takes to sort the latest patterns into the
/// index. A prediction that takes long goes on with the patterns of the time when it began,
/// while others learn in a copy of the index; of more than 128 MiB in memory none is made, and a
/// learn waits for the prediction to end.
#[derive(Clone)]
pub struct Node {
    shared: Arc<Shared>,
    node_idx: usize,
}

/// The outcome of a learn. `Display` writes what KATO answers: `PTRN|` and the name, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum LearnOutcome {
    /// The node learned a new pattern.
    New(PatternName),
    /// The node knew the pattern and counted one more learn.
    Repeated(PatternName),
    /// Fewer than two symbols: nothing was stored.
    TooShort,
}

/// A pattern that was learned, over an index that may have been damaged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsettled {
    name: PatternName,
    is_new: bool,
    is_damaged: bool,
}

/// The totals of what a node has learned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeTotals {
    /// Distinct patterns (KATO's `total_unique_patterns` and `total_pattern_frequencies`).
    pub patterns: u64,
    /// Distinct symbols.
    pub distinct_symbols: u64,
    /// Learn calls: the sum of all frequencies.
    pub learns: u64,
    /// Symbols of all learn calls (KATO's `total_symbols_in_patterns_frequencies`).
    pub learned_symbols: u64,
    /// Learn calls that no commit has made durable; 0 in memory.
    pub uncommitted: u64,
}

impl LearnOutcome {
    /// Returns the pattern's name; `None` if nothing was stored.
    #[must_use]
    pub const fn name(self) -> Option<PatternName> {
        match self {
            Self::New(name) | Self::Repeated(name) => Some(name),
            Self::TooShort => None,
        }
    }
}

impl fmt::Display for LearnOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().map_or(Ok(()), |name| name.prefixed().fmt(f))
    }
}

impl Node {
    pub(crate) const fn new(shared: Arc<Shared>, node_idx: usize) -> Self {
        Self { shared, node_idx }
    }

    fn cell(&self) -> &NodeCell {
        self.shared.cell(self.node_idx)
    }

    pub(crate) fn options(&self) -> &EngineOptions {
        self.shared.options()
    }

    /// Returns the node's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.cell().name
    }

    /// Returns the node's place from the bottom of the hierarchy, from 0.
    #[must_use]
    pub const fn node_idx(&self) -> usize {
        self.node_idx
    }

    /// Creates a new session.
    #[must_use]
    pub fn session(&self, config: SessionConfig) -> Session {
        self.resume(config, SessionState::default())
    }

    /// Creates a session that goes on from a stored state. What the engine's generation refuses of its
    /// configuration is the default.
    #[must_use]
    pub fn resume(&self, config: SessionConfig, state: SessionState) -> Session {
        let config = config.taken_by(self.options().generation);
        Session::new(self.clone(), config, state)
    }

    /// Returns the patterns that a state resembles, best first, and what they expect next.
    ///
    /// Empty for an empty state, and where no pattern is similar enough.
    ///
    /// # Errors
    ///
    /// [`EngineError::Unreadable`] when the node's index is damaged and its store cannot be read
    /// instead.
    pub fn predict(
        &self,
        stm: &[Event],
        config: &SessionConfig,
    ) -> Result<Predictions, EngineError> {
        self.predict_unless(stm, config, &Cancel::never())
    }

    /// Predicts as [`predict`](Self::predict) does, unless it is cancelled from another thread.
    ///
    /// # Errors
    ///
    /// [`EngineError::Cancelled`] soon after [`Cancel::cancel`] was called, and as
    /// [`predict`](Self::predict).
    pub fn predict_unless(
        &self,
        stm: &[Event],
        config: &SessionConfig,
        cancel: &Cancel,
    ) -> Result<Predictions, EngineError> {
        if stm.is_empty() {
            return Ok(Predictions::default());
        }
        let mut prediction = config.prediction();
        prediction.generation = self.options().generation;
        // KATO 3.10.1 accepts both settings for a session and follows those of its process
        // (docs/compatibility.md).
        if !self.options().session_rank_sort_algo {
            prediction.rank_sort_algo = self.options().rank_sort_algo;
        }
        if !self.options().session_use_token_matching {
            prediction.single_symbol_token_matching = self.options().use_token_matching;
        }
        // On the index of this moment and without the node's lock, so that nobody waits for long.
        let predicted =
            self.read_snapshot(|index| index.predict_unless(stm, &prediction, cancel))?;
        Ok(predicted?)
    }

    /// Predicts from many states on so many threads, and hands the answers to `take` in the order of the
    /// states, on the calling thread, until there are no more states or `take` breaks. Each is that of
    /// [`predict`](Self::predict).
    ///
    /// States are drawn as they are needed: two a thread are in memory with their answers.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    /// use std::ops::ControlFlow;
    ///
    /// use kato_engine::{Engine, SessionConfig};
    /// use kato_model::Event;
    ///
    /// let engine = Engine::in_memory(&["node0"]);
    /// let node = engine.node("node0")?;
    /// let states = (0..1000).map(|number| vec![Event::new([format!("s{number}")])]);
    /// let mut answers = 0;
    /// let threads = NonZeroUsize::new(2).unwrap();
    /// let ended = node.predict_many(states, &SessionConfig::default(), threads, |answer| match answer {
    ///     Ok(_) => {
    ///         answers += 1;
    ///         ControlFlow::Continue(())
    ///     }
    ///     Err(error) => ControlFlow::Break(error),
    /// });
    /// assert!(ended.is_continue());
    /// assert_eq!(answers, 1000);
    /// # Ok::<(), kato_engine::EngineError>(())
    /// ```
    pub fn predict_many<B>(
        &self,
        states: impl IntoIterator<Item = Vec<Event>, IntoIter: Send>,
        config: &SessionConfig,
        threads: NonZeroUsize,
        take: impl FnMut(Result<Predictions, EngineError>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut states = states.into_iter();
        let predict = |state: Vec<Event>| self.predict(&state, config);
        in_order(threads, || states.next(), predict, take)
    }

    /// Reads the index of this moment without the node's lock, and again from the store where the
    /// index is found damaged.
    fn read_snapshot<T>(&self, read: impl Fn(&PatternIndex) -> T) -> Result<T, EngineError> {
        loop {
            let read = self.cell().index().read_checked(&read);
            match read {
                Ok(value) => return Ok(value),
                Err(damage) => self.shared.leave_damaged_index(self.node_idx, &damage)?,
            }
        }
    }

    /// Reads the memory with its index, and again where the index is found damaged.
    fn read_index<T>(
        &self,
        read: impl Fn(&NodeMemory, &PatternIndex) -> T,
    ) -> Result<T, EngineError> {
        loop {
            // In a block, so that the lock is not held while the store is read.
            let read = {
                let memory = self.cell().read();
                memory.index().read_checked(|index| read(&memory, index))
            };
            match read {
                Ok(value) => return Ok(value),
                Err(damage) => self.shared.leave_damaged_index(self.node_idx, &damage)?,
            }
        }
    }

    /// Returns a pattern with everything that was learned about it, committed or not; `None` if the
    /// node does not have it.
    ///
    /// # Errors
    ///
    /// [`EngineError::Store`] when the store cannot be read, and as [`predict`](Self::predict).
    pub fn pattern(&self, name: &PatternName) -> Result<Option<PatternRecord>, EngineError> {
        let found = self.read_index(|memory, index| {
            Some((
                index.events(name)?,
                index.frequency(name),
                memory.emotives(name),
                memory.metadata(name),
            ))
        })?;
        let Some((events, frequency, emotives, mut metadata)) = found else {
            return Ok(None);
        };
        // A commit may have moved the metadata meanwhile; it is a union, so seeing some of it twice
        // does no harm. The store is read second, as the other order could miss what was moved.
        metadata.merge(self.stored_metadata(name)?, None);
        Ok(Some(PatternRecord {
            pattern: Pattern::new(events),
            frequency,
            emotives,
            metadata,
        }))
    }

    /// Reads the metadata of a pattern that the store has; empty in memory.
    fn stored_metadata(&self, name: &PatternName) -> Result<Metadata, EngineError> {
        let Some(store) = self.shared.store() else {
            return Ok(Metadata::default());
        };
        let stored = store
            .pattern(self.node_idx, name)
            .map_err(EngineError::store("read a pattern"))?;
        Ok(stored.map(|pattern| pattern.metadata).unwrap_or_default())
    }

    /// Returns the bytes of memory that the events of a pattern take once they are read, about; 0 if
    /// the node does not have it.
    ///
    /// # Errors
    ///
    /// As [`predict`](Self::predict).
    pub fn bytes_of_events(&self, name: &PatternName) -> Result<usize, EngineError> {
        self.read_index(|_, index| index.bytes_of_events(name))
    }

    /// Returns the events of a pattern; `None` if the node does not have it. Reads memory and the
    /// index, and the store only where the index is damaged.
    ///
    /// # Errors
    ///
    /// As [`predict`](Self::predict).
    pub fn events(&self, name: &PatternName) -> Result<Option<Vec<Event>>, EngineError> {
        self.read_index(|_, index| index.events(name))
    }

    /// Returns how often a pattern was learned; 0 if the node does not have it.
    ///
    /// # Errors
    ///
    /// As [`predict`](Self::predict).
    pub fn frequency(&self, name: &PatternName) -> Result<u64, EngineError> {
        self.read_index(|_, index| index.frequency(name))
    }

    /// Returns the names of all patterns and how often each was learned, at one moment and in no
    /// particular order; 32 bytes for each.
    ///
    /// # Errors
    ///
    /// As [`predict`](Self::predict).
    pub fn frequencies(&self) -> Result<Vec<(PatternName, u64)>, EngineError> {
        self.read_index(|_, index| {
            let mut all = Vec::with_capacity(index.n_patterns());
            all.extend(index.frequencies());
            all
        })
    }

    /// Returns the number of patterns that lie in an index on the disk, and not in memory; 0 without
    /// one.
    #[must_use]
    pub fn n_indexed(&self) -> usize {
        let memory = self.cell().read();
        memory.index().base().map_or(0, |base| base.n_patterns())
    }

    /// Returns whether the node lies above an index on the disk that was found damaged.
    ///
    /// The next read loads the node from its store instead, or fails.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.cell().read().index().is_damaged()
    }

    /// Returns whether an index on the disk can hold the node: what it learned has no emotives.
    #[must_use]
    pub fn is_indexable(&self) -> bool {
        !self.cell().read().has_emotives()
    }

    /// Returns whether its [training was finalized](Self::finalize_training), which lasts until the node
    /// is cleared, something of it is purged, or it is opened again.
    #[must_use]
    pub fn is_finalized(&self) -> bool {
        self.cell().read().index().is_finalized()
    }

    /// Returns the bytes of memory that what the node has learned takes, about: its patterns and
    /// symbols, those not counted that lie in an index on the disk, and what is not committed. Emotives,
    /// vectors and metadata are not counted.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.cell().read().heap_bytes()
    }

    /// Returns the totals of what the node has learned.
    ///
    /// Waits for no other operation of the node.
    #[must_use]
    pub fn totals(&self) -> NodeTotals {
        self.cell().totals()
    }

    /// Returns the counts of all symbols (KATO's `/symbols/stats`). Copies every symbol.
    ///
    /// # Errors
    ///
    /// As [`predict`](Self::predict).
    pub fn symbols(&self) -> Result<BTreeMap<String, IndexedSymbolCounts>, EngineError> {
        self.read_snapshot(|index| index.symbols().collect())
    }

    /// Returns the counts of one symbol; zeros if the node does not have it.
    ///
    /// # Errors
    ///
    /// As [`predict`](Self::predict).
    pub fn symbol_counts(&self, symbol: &str) -> Result<IndexedSymbolCounts, EngineError> {
        self.read_index(|_, index| index.symbol_counts(symbol))
    }

    /// Returns the affinities of all symbols that have any: for every emotive the sum over learns
    /// of its mean (KATO's `/symbols/affinity`).
    ///
    /// # Errors
    ///
    /// As [`predict`](Self::predict).
    pub fn affinities(&self) -> Result<BTreeMap<String, EmotiveMap>, EngineError> {
        let copied = |(symbol, sums): (String, &EmotiveMap)| (symbol, sums.clone());
        self.read_snapshot(|index| index.affinities().map(copied).collect())
    }

    /// Returns the affinities of one symbol; empty if it has none.
    ///
    /// # Errors
    ///
    /// As [`predict`](Self::predict).
    pub fn affinity(&self, symbol: &str) -> Result<EmotiveMap, EngineError> {
        self.read_index(|_, index| index.affinity(symbol))
    }

    /// Performs KATO's `finalize-training` and returns the number of patterns.
    ///
    /// Computes the entropies of all patterns known now over their whole content, which predictions
    /// show from now on. Not part of what a commit keeps.
    #[expect(clippy::must_use_candidate, reason = "the number is a by-product")]
    pub fn finalize_training(&self) -> usize {
        self.cell().write_index().index_mut().finalize()
    }

    /// Learns a lesson, as a session does that has observed it.
    ///
    /// For replaying journals, and for learning without a session. Lessons from outside should be
    /// [checked](Lesson::check) first: here only numbers are, so that what was once within the
    /// limits can always be replayed.
    ///
    /// # Errors
    ///
    /// [`EngineError::EmotiveRange`], [`EngineError::VectorNotFinite`]; [`EngineError::Retired`] when
    /// the pattern is retired; [`EngineError::Index`] when the node is full; [`EngineError::Store`] when
    /// the store is open for reading only, and when an automatic commit was due and failed; and as
    /// [`predict`](Self::predict).
    pub fn teach(&self, lesson: &Lesson) -> Result<LearnOutcome, EngineError> {
        lesson.check_values()?;
        // Before the learn, so that an error of the store leaves the lesson unlearned.
        self.commit_if_due()?;
        self.learn(&lesson.borrowed())
    }

    /// Learns lessons as [`teach`](Self::teach) does one after the other, sooner where they are many. Whoever asks
    /// the node meanwhile waits.
    ///
    /// For replaying journals: the names of many are computed on several threads, and their patterns are arranged
    /// for predictions once, in the end.
    ///
    /// # Errors
    ///
    /// As [`teach`](Self::teach); some of the lessons may be learned then.
    pub fn teach_all(&self, lessons: &[Lesson]) -> Result<(), EngineError> {
        if lessons.is_empty() {
            return Ok(());
        }
        self.shared.check_writable()?;
        lessons.iter().try_for_each(Lesson::check_values)?;
        self.commit_if_due()?;
        let mut named = names_of(lessons);
        if lessons.iter().all(Lesson::is_plain) {
            // What is found by name is found sooner in this order, and only counts add up.
            named.sort_unstable_by_key(|(name, _)| *name);
        }
        let limits = self.shared.attribute_limits();
        let prepared = named.iter();
        let prepared =
            prepared.map(|(name, lesson)| lesson.borrowed().prepare_named(*name, limits));
        let prepared = prepared.collect();
        let mut memory = self.cell().write_index();
        for (name, _) in &named {
            self.check_not_retired_in(&memory, name)?;
        }
        // What is damaged below is left by the next read.
        memory.learn_all(prepared, &self.shared)
    }

    /// Forgets everything that the node learned, for all sessions. Their short-term memories stay.
    ///
    /// The only node of a store is emptied durably, and the store's checkpoint stays; to replace
    /// that as well, use [`Engine::clear`](crate::Engine::clear).
    ///
    /// # Errors
    ///
    /// [`EngineError::NotClearable`] where the node shares its store with others;
    /// [`EngineError::Store`] when the store could not be emptied.
    pub fn clear(&self) -> Result<(), EngineError> {
        match self.shared.store() {
            None => *self.cell().write() = NodeMemory::default(),
            // A store forgets all of its nodes at once, which is right only where there is one.
            Some(store) if store.nodes().len() == 1 => self.shared.clear(None)?,
            Some(_) => {
                return Err(EngineError::NotClearable {
                    node: self.name().to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Returns distances and names of the stored vectors nearest to a vector, nearest first.
    pub(crate) fn nearest(&self, elements: &[f64], most: usize) -> Vec<(f64, VectorName)> {
        self.cell().read().nearest(elements, most)
    }

    /// Refuses vectors that are not as long as those before, or as each other, where the
    /// options ask for it.
    ///
    /// `expected` is the length of those before; `None` if there are none.
    pub(crate) fn check_lengths(
        &self,
        mut expected: Option<usize>,
        lengths: impl Iterator<Item = usize>,
    ) -> Result<(), EngineError> {
        if !self.options().one_vector_length {
            return Ok(());
        }
        for found in lengths {
            match expected {
                Some(expected) if expected != found => {
                    return Err(EngineError::VectorLength {
                        node: self.name().to_owned(),
                        expected,
                        found,
                    });
                }
                // The first vector decides, unless it has no elements: such a one is not stored.
                _ => expected = Some(found).filter(|&found| found > 0),
            }
        }
        Ok(())
    }

    /// Returns the number of elements of every vector that the node knows; `None` before the first.
    pub(crate) fn dimension(&self) -> Option<usize> {
        self.cell().read().dimension()
    }

    /// Learns what a session has observed.
    ///
    /// Its vectors must be as long as those of the node, which another session may have taught
    /// since they were observed.
    pub(crate) fn learn_observed(
        &self,
        lesson: &LessonRef<'_>,
    ) -> Result<LearnOutcome, EngineError> {
        self.learn_checked(lesson, |memory| {
            let lengths = lesson.vectors.iter().map(|(_, elements)| elements.len());
            // A vector without elements is stored nowhere, so its length does not matter.
            let lengths = lengths.filter(|&length| length > 0);
            self.check_lengths(memory.dimension(), lengths)
        })
    }

    /// Learns a pattern whatever its vectors are, so that what was learned once can be replayed.
    fn learn(&self, lesson: &LessonRef<'_>) -> Result<LearnOutcome, EngineError> {
        self.learn_checked(lesson, |_| Ok(()))
    }

    /// Learns a pattern if it passes a check under the node's lock.
    fn learn_checked(
        &self,
        lesson: &LessonRef<'_>,
        check: impl FnOnce(&NodeMemory) -> Result<(), EngineError>,
    ) -> Result<LearnOutcome, EngineError> {
        self.shared.check_writable()?;
        // Hashing the name and uniting metadata need no lock, so they come before it.
        let Some(prepared) = lesson.prepare(self.shared.attribute_limits()) else {
            return Ok(LearnOutcome::TooShort);
        };
        self.look_ahead(&prepared.name)?;
        let learned = self.learn_prepared(prepared, check)?;
        Ok(self.settle(learned))
    }

    /// Looks at the index before a pattern is learned, which lies where the index says.
    pub(crate) fn look_ahead(&self, name: &PatternName) -> Result<(), EngineError> {
        self.read_index(|_, index| index.base().is_some() && index.frequency(name) > 0)
            .map(drop)
    }

    /// Refuses a pattern that is retired.
    pub(crate) fn check_not_retired(&self, name: &PatternName) -> Result<(), EngineError> {
        self.check_not_retired_in(&self.cell().read(), name)
    }

    /// Refuses a pattern that is retired, for who has the node's lock.
    fn check_not_retired_in(
        &self,
        memory: &NodeMemory,
        name: &PatternName,
    ) -> Result<(), EngineError> {
        match memory.tombstones().get(name) {
            Some(_) => Err(EngineError::Retired {
                node: self.name().to_owned(),
                name: *name,
            }),
            None => Ok(()),
        }
    }

    /// Learns a pattern under the node's lock if it passes a check there. Waits for no commit.
    pub(crate) fn learn_prepared(
        &self,
        prepared: Prepared<'_>,
        check: impl FnOnce(&NodeMemory) -> Result<(), EngineError>,
    ) -> Result<Unsettled, EngineError> {
        let name = prepared.name;
        let mut memory = self.cell().write_index();
        self.check_not_retired_in(&memory, &name)?;
        // Under the lock of the learn itself, so that no other learn comes between.
        check(&memory)?;
        let is_new = memory
            .learn(prepared, &self.shared)
            .map_err(|source| EngineError::Index { name, source })?;
        let is_damaged = memory.index().is_damaged();
        Ok(Unsettled {
            name,
            is_new,
            is_damaged,
        })
    }

    /// Says what came of a learn.
    pub(crate) fn settle(&self, learned: Unsettled) -> LearnOutcome {
        let Unsettled {
            name,
            mut is_new,
            is_damaged,
        } = learned;
        // What was looked up on the way may have been wrong. The lesson is learned in any case, so that
        // an error here is one of the next read.
        if is_damaged && let Ok(frequency) = self.frequency(&name) {
            is_new = frequency == 1;
        }
        match is_new {
            true => LearnOutcome::New(name),
            false => LearnOutcome::Repeated(name),
        }
    }

    /// Commits the engine if more learns are pending than the options allow.
    pub(crate) fn commit_if_due(&self) -> Result<(), EngineError> {
        self.shared.commit_if_due()
    }
}

/// Returns the lessons that are long enough for a pattern, in their order, with its name.
fn names_of(lessons: &[Lesson]) -> Vec<(PatternName, &Lesson)> {
    let named = |lesson| Some((Lesson::pattern_name(lesson)?, lesson));
    let n_threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let n_parts = n_threads.get().min(lessons.len() / LESSONS_OF_A_THREAD);
    if n_parts < 2 {
        return lessons.iter().filter_map(named).collect();
    }
    thread::scope(|scope| {
        let parts = lessons.chunks(lessons.len().div_ceil(n_parts));
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().filter_map(named).collect::<Vec<_>>()))
            .collect();
        let parts = parts.into_iter();
        let parts = parts.map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
        parts.collect::<Vec<_>>().concat()
    })
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
