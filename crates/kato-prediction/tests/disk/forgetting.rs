//! Whatever is forgotten, taken back, purged and learned again, an index answers as a full scan of what is left.
//!
//! The oracle is a list of lessons, so neither the store's deletions nor the file that keeps them can agree with it
//! by mistake.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kato_engine::{Engine, EngineOptions, SessionConfig};
use kato_model::batch::BatchSymbol;
use kato_model::{Event, LearnBatch, PatternName};
use kato_prediction::PatternIndex;
use kato_prediction::disk::{BuildOptions, IndexPolicy, StoreIndex, build, find, keep, spare};
use kato_random::SplitMix64;
use kato_store::embedded::EmbeddedOptions;
use kato_store::{EmbeddedStore, MemoryStore, PatternStore, Tombstones};
use kato_test_needs::is_thorough;
use serde_json::Value;

use crate::support::{keeping_units, name};

const NODES: [&str; 2] = ["node0", "node1"];
const SYMBOLS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
const N_STEPS: usize = 10;
/// States that each node is asked after every step.
const N_STATES: [usize; 2] = [3, 1];

/// Patterns of a node, and how often they were learned.
type Lessons = BTreeMap<PatternName, (Vec<Event>, u64)>;

/// A knowledge base, and what it should hold.
struct Base {
    kb: PathBuf,
    store: EmbeddedStore,
    left: [Lessons; 2],
    random: SplitMix64,
}

#[test]
fn answers_are_those_of_a_full_scan_of_what_is_left() {
    // With 40 states each, 10,000.
    let n_bases = if is_thorough() { 250 } else { 12 };
    let mut n_passed_over = 0;
    for seed in 0..n_bases {
        let dir = tempfile::tempdir().unwrap();
        let mut base = Base::new(&dir.path().join("kb"), seed);
        for _ in 0..N_STEPS {
            base.step();
            n_passed_over += base.check(seed);
        }
    }
    // Builds that are not for tests keep what was deleted of many patterns only.
    assert!(
        !cfg!(debug_assertions) || n_passed_over > n_bases,
        "{n_passed_over}"
    );
}

impl Base {
    /// Creates one that has learned something, in two units.
    fn new(kb: &Path, seed: u64) -> Self {
        let mut base = Self {
            kb: kb.to_owned(),
            store: EmbeddedStore::create_with(kb, &NODES, Value::Null, options()).unwrap(),
            left: Default::default(),
            random: SplitMix64::from_seed(seed),
        };
        for _ in 0..2 {
            base.learn(12);
            base.index();
        }
        base
    }

    /// Does something to it, and maybe keeps what was deleted.
    fn step(&mut self) {
        match self.random.below(9) {
            0 | 1 => self.learn(4),
            2 | 3 => self.forget(),
            4 => self.purge(),
            5 | 6 => self.unlearn(),
            7 => self.index(),
            _ => self.crash(),
        }
        if self.random.below(3) > 0 {
            keep(&self.store, IndexPolicy::Auto, &BuildOptions::default()).unwrap();
        }
    }

    /// Learns so many patterns of tokens, and one of their names; some are known, or were forgotten.
    fn learn(&mut self, n_patterns: usize) {
        let mut lessons = <[Lessons; 2]>::default();
        for _ in 0..n_patterns {
            let n_events = 2 + self.random.below(3);
            let events = self.state(n_events);
            let times = 1 + self.random.below(3) as u64;
            add(&mut lessons[0], &events, times);
        }
        let children = lessons[0].values().map(|(events, _)| name(events));
        let children: Vec<Event> = children.take(2 + self.random.below(2)).collect();
        if children.len() > 1 {
            add(&mut lessons[1], &children, 1);
        }
        teach(&self.store, &lessons);
        for (left, lessons) in self.left.iter_mut().zip(&lessons) {
            for (events, times) in lessons.values() {
                add(left, events, *times);
            }
        }
    }

    /// Draws some of the patterns that are left.
    fn drawn(&mut self) -> [Vec<PatternName>; 2] {
        let random = &mut self.random;
        self.left.each_ref().map(|left| {
            let names = left.keys().copied();
            names.filter(|_| random.below(6) == 0).collect()
        })
    }

    fn forget(&mut self) {
        let names = self.drawn();
        self.store.forget(&names, Value::Null).unwrap();
        self.remove(&names);
    }

    fn purge(&mut self) {
        let names = self.drawn();
        let tombstones = names.each_ref().map(|names| {
            let mut tombstones = Tombstones::default();
            names.iter().for_each(|name| tombstones.purge(*name));
            tombstones
        });
        self.store
            .bury(tombstones.to_vec(), &names, Value::Null)
            .unwrap();
        // They may be learned again.
        let none = vec![Tombstones::default(); NODES.len()];
        let nothing = [Vec::new(), Vec::new()];
        self.store.bury(none, &nothing, Value::Null).unwrap();
        self.remove(&names);
    }

    fn remove(&mut self, names: &[Vec<PatternName>; 2]) {
        for (left, names) in self.left.iter_mut().zip(names) {
            left.retain(|name, _| !names.contains(name));
        }
    }

    /// Takes some lessons back: of a pattern all, or a part.
    fn unlearn(&mut self) {
        let drawn = self.drawn();
        let mut lessons = <[Lessons; 2]>::default();
        for ((left, lessons), names) in self.left.iter_mut().zip(&mut lessons).zip(&drawn) {
            for name in names {
                let (events, times) = left.get_mut(name).unwrap();
                let taken = 1 + self.random.below(*times as usize) as u64;
                add(lessons, events, taken);
                *times -= taken;
            }
            left.retain(|_, (_, times)| *times > 0);
        }
        let taught = MemoryStore::new(&NODES, Value::Null);
        teach(&taught, &lessons);
        self.store.unlearn(&taught, Value::Null).unwrap();
    }

    fn index(&mut self) {
        build(&self.store, &keeping_units()).unwrap();
        spare(&self.store);
    }

    /// Ends it as a crash at some step of writing the file does, and opens it again.
    fn crash(&mut self) {
        let dir = find(&self.store).index.map(|index| index.dir().to_owned());
        if let Some(dir) = dir {
            let path = dir.join("TAKEN");
            let whole = fs::read(&path).unwrap_or_default();
            match self.random.below(4) {
                0 => drop(fs::remove_file(&path)),
                1 => fs::write(&path, &whole[..whole.len() / 2]).unwrap(),
                2 => fs::write(path.with_extension("tmp"), &whole[..whole.len() / 2]).unwrap(),
                // Of what was deleted before, or of nothing that is there any more.
                _ => {
                    let names = self.drawn();
                    self.store.forget(&names, Value::Null).unwrap();
                    self.remove(&names);
                    keep(&self.store, IndexPolicy::Auto, &BuildOptions::default()).unwrap();
                    if dir.exists() && !whole.is_empty() {
                        fs::write(&path, &whole).unwrap();
                    }
                }
            }
        }
        // Only one may write.
        self.store = EmbeddedStore::open_read_only(&self.kb).unwrap();
        self.store = EmbeddedStore::open_with(&self.kb, options()).unwrap();
        spare(&self.store);
    }

    /// Compares answers and counts; returns how many patterns the index passes over without being asked for them.
    fn check(&mut self, seed: u64) -> u64 {
        let store = Arc::new(EmbeddedStore::open_read_only(&self.kb).unwrap());
        let found = find(&store);
        assert!(found.faults.is_empty(), "{:?}", found.faults);
        let nodes: Vec<_> = found.index.iter().flat_map(StoreIndex::nodes).collect();
        let covered = found.index.as_ref().map(StoreIndex::covered);
        let covered = covered.unwrap_or_default();
        let n_passed_over = nodes.iter().flatten().map(|frozen| {
            let over = PatternIndex::over(Arc::clone(frozen));
            (frozen.n_patterns() - over.n_patterns()) as u64
        });
        let n_passed_over = n_passed_over.sum();
        let engine = Engine::open_indexed(store, nodes, covered, EngineOptions::default()).unwrap();
        let config = SessionConfig::default();
        for (node_idx, node) in engine.nodes().enumerate() {
            let mut expected = PatternIndex::new();
            for (events, times) in self.left[node_idx].values() {
                for _ in 0..*times {
                    expected.learn(events).unwrap();
                }
            }
            for _ in 0..N_STATES[node_idx] {
                let state = match node_idx {
                    0 => self.state(3),
                    _ => self.names(),
                };
                let found = node.predict(&state, &config).unwrap();
                let scanned = expected.predict_by_full_scan(&state, &config.prediction());
                assert_eq!(found, scanned, "seed {seed}, {state:?}");
            }
            let symbols: BTreeMap<_, _> = expected.symbols().collect();
            assert_eq!(node.symbols().unwrap(), symbols, "seed {seed}");
            let totals = node.totals();
            assert_eq!(totals.patterns, expected.n_patterns() as u64, "seed {seed}");
        }
        n_passed_over
    }

    /// Draws events of a token each.
    fn state(&mut self, n_events: usize) -> Vec<Event> {
        let random = &mut self.random;
        let symbol = |_| Event::new([SYMBOLS[random.below(SYMBOLS.len())]]);
        (0..n_events).map(symbol).collect()
    }

    /// Draws names of patterns, some of which may be gone.
    fn names(&mut self) -> Vec<Event> {
        let random = &mut self.random;
        let children = self.left[1].values().flat_map(|(events, _)| events.clone());
        let mut names: Vec<Event> = children.filter(|_| random.below(3) == 0).take(3).collect();
        names.extend(self.left[0].values().next().map(|(events, _)| name(events)));
        names
    }
}

fn options() -> EmbeddedOptions {
    let mut options = EmbeddedOptions::default();
    options.max_deleted_percent = 100;
    options
}

fn add(lessons: &mut Lessons, events: &[Event], times: u64) {
    let name = PatternName::of_events(events);
    lessons.entry(name).or_insert((events.to_vec(), 0)).1 += times;
}

/// Commits lessons.
fn teach(store: &dyn PatternStore, lessons: &[Lessons; 2]) {
    let mut batch = LearnBatch::new(NODES.len());
    for (node_idx, lessons) in lessons.iter().enumerate() {
        for (name, (events, times)) in lessons {
            for _ in 0..*times {
                let texts = events.iter().map(|event| &event.symbols()[0]);
                let symbols: Vec<BatchSymbol> = texts
                    .map(|text| BatchSymbol::Literal(batch.literal(text)))
                    .collect();
                batch.learn(node_idx, *name, symbols);
            }
        }
    }
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], Value::Null).unwrap();
}
