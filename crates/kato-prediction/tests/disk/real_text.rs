//! Real text: a thousand states, in every mode and with every metric, are answered over an index as by
//! the full scan in memory, while learning goes on and after opening again.
//!
//! ```sh
//! KATO_CORPUS_DIR=texts cargo test --release -p kato-prediction --test disk real_text
//! ```

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kato_engine::node::Lesson;
use kato_engine::{Engine, EngineOptions, Node, SessionConfig};
use kato_model::{Event, PatternName};
use kato_prediction::PatternIndex;
use kato_prediction::config::RankMetric;
use kato_prediction::disk::BuildOptions;
use kato_random::SplitMix64;
use kato_store::{EmbeddedStore, PatternStore};

use crate::support::teach_indexed;

const N_STATES: usize = 1000;
const N_PATTERNS: usize = 10_000;

/// The kinds of similarity and of candidates that there are.
const MODES: [fn(&mut SessionConfig); 7] = [
    |_| {},
    |config| config.recall_threshold = 0.0,
    |config| config.recall_threshold = 0.6,
    |config| config.use_token_matching = false,
    |config| config.fuzzy_token_threshold = Some(0.8),
    |config| config.filter_pipeline = ["length", "jaccard"].map(str::to_owned).to_vec(),
    |config| config.filter_pipeline = ["minhash", "rapidfuzz"].map(str::to_owned).to_vec(),
];

/// What is asked: the node over the index, and all that it knows in memory.
struct Compared {
    node: Node,
    memory: PatternIndex,
}

impl Compared {
    fn learn(&mut self, events: &[Event]) {
        self.node.teach(&Lesson::new(events.to_vec())).unwrap();
        self.memory.learn(events).unwrap();
    }

    /// Asks in every mode; the metrics take turns, so that each meets each mode.
    fn check(&self, number: usize, state: &[Event]) {
        for (nth, mode) in MODES.iter().enumerate() {
            let mut config = SessionConfig::default();
            config.rank_sort_algo = RankMetric::ALL[(number + nth) % RankMetric::ALL.len()];
            config.max_predictions = [10, 100, 1][number % 3];
            mode(&mut config);
            let expected = self
                .memory
                .predict_by_full_scan(state, &config.prediction());
            let found = self.node.predict(state, &config).unwrap();
            assert!(found == expected, "state {number} {state:?} {config:?}");
        }
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes without --release")]
fn states_of_real_text_are_answered_as_by_the_full_scan() {
    let Some(folder) = env::var_os("KATO_CORPUS_DIR").map(PathBuf::from) else {
        println!("skipped: KATO_CORPUS_DIR is not set");
        return;
    };
    let mut words = Vec::new();
    collect_words(&folder, &mut words);
    let mut random = SplitMix64::from_seed(17);
    let mut chunk = |length: usize| -> Vec<Event> {
        let at = random.below(words.len() - length);
        let chunk = words[at..at + length].iter();
        chunk.map(|word| Event::new([word.as_str()])).collect()
    };
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let mut memory = PatternIndex::new();
    let parts: Vec<Vec<(Vec<Event>, usize)>> = (0..4)
        .map(|_| (0..N_PATTERNS / 4).map(|n| (chunk(3 + n % 5), 1)).collect())
        .collect();
    for (events, _) in parts.iter().flatten() {
        memory.learn(events).unwrap();
    }
    memory.seal();
    teach_indexed(&kb, &parts);
    let store = Arc::new(EmbeddedStore::open(&kb).unwrap());
    build(&store);
    let mut engine = open(&store);
    let node = |engine: &Engine| {
        let node = engine.nodes().next().unwrap();
        assert!(node.n_indexed() > 0);
        node
    };
    let mut compared = Compared {
        node: node(&engine),
        memory,
    };
    for number in 0..N_STATES {
        // Short ones as the beginnings of chunks, and now and then one that goes on for long.
        let state = match number % 25 {
            0 => chunk(45),
            n => chunk(1 + n % 7),
        };
        compared.check(number, &state);
        if number % 3 == 0 {
            let learned = chunk(5);
            compared.learn(&learned);
            // Just learned, it is the best answer to itself.
            compared.check(number, &learned[..3]);
        }
        match number {
            // Opened again, with what was learned since beside the index.
            300 | 800 => {
                engine.commit().unwrap();
                engine = open(&store);
                compared.node = node(&engine);
            }
            // The next index is adopted while the node serves, with some of it not committed.
            600 => {
                engine.commit().unwrap();
                build(&store);
                compared.learn(&chunk(5));
                let index = kato_prediction::disk::open(&store).unwrap().unwrap();
                let adopted = engine.adopt_indexes(index.nodes(), index.covered());
                assert_eq!(adopted.unwrap(), 2);
                assert!(compared.node.n_indexed() + 1 >= compared.memory.n_patterns());
            }
            _ => {}
        }
    }
    for number in 0..N_STATES {
        let name = PatternName::of_events(&chunk(5));
        let frequency = compared.memory.frequency(&name);
        assert_eq!(
            compared.node.frequency(&name).unwrap(),
            frequency,
            "{number}"
        );
    }
}

fn build(store: &EmbeddedStore) {
    kato_prediction::disk::build(store, &BuildOptions::default().with_sort_bytes(1 << 16)).unwrap();
}

/// Opens a store over its index, with KATO's settings of a session in force.
fn open(store: &Arc<EmbeddedStore>) -> Engine {
    let mut options = EngineOptions::default();
    options.session_rank_sort_algo = true;
    options.session_use_token_matching = true;
    let index = kato_prediction::disk::open(store).unwrap().unwrap();
    let store = Arc::clone(store) as Arc<dyn PatternStore>;
    Engine::open_indexed(store, index.nodes(), index.covered(), options).unwrap()
}

/// Adds the words of all texts below a folder, in the order of the names of their files.
fn collect_words(folder: &Path, words: &mut Vec<String>) {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect_words(&path, words);
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            let text = fs::read_to_string(&path).unwrap();
            words.extend(text.split_whitespace().map(str::to_owned));
        }
    }
}
