//! The corpus, what an undisturbed run learns of it, and what a server knows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::Duration;

use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::Recording;
use kato_loader::{StreamingDatasetLoader, StreamingDatasetLoaderBuilder, TextUnit};
use kato_scheduler::{RunConfiguration, TrainingOptions, Workers, train_parallel};
use kato_stock_server::{Generation, Learned};
use kato_store::{MemoryStore, PatternStore};

use crate::schedule::n_documents;

pub(crate) const RUN: &str = "fault_run";

/// What is known of a pattern: how often it was learned, and its metadata.
type Known = (u64, BTreeMap<String, BTreeSet<String>>);

/// What a node knows.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Node {
    pub(crate) patterns: BTreeMap<String, Known>,
    /// Occurrences of each symbol, and patterns that hold it.
    pub(crate) symbols: BTreeMap<String, (u64, u64)>,
}

/// The learner of all runs, since loading its tokenizer takes longer than a run.
pub(crate) fn learner() -> &'static HierarchicalConceptLearner {
    static LEARNER: OnceLock<HierarchicalConceptLearner> = OnceLock::new();
    LEARNER.get_or_init(|| {
        HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
            .with_chunk_sizes([4, 3, 2])
            .with_recording(Recording {
                provenance: false,
                metadata: true,
            })
            .build()
            .unwrap()
    })
}

/// Documents of a few short paragraphs over few words, so that patterns repeat.
pub(crate) fn documents() -> StreamingDatasetLoaderBuilder {
    const WORDS: [&str; 9] = [
        "the", "keeper", "it's", "\"salt\"", "café", "ran", "at", "night", "sea",
    ];
    let mut text = String::new();
    for document in 0..n_documents() {
        let mut paragraphs = Vec::new();
        for paragraph in 0..=document % 3 {
            let n_words = 6 + (document * 7 + paragraph * 11) % 17;
            let word = |n: u64| WORDS[((document % 5 * 31 + paragraph * 17 + n * n) % 9) as usize];
            let words: Vec<&str> = (0..n_words).map(word).collect();
            paragraphs.push(words.join(" ") + ".");
        }
        let record = serde_json::json!({"text": paragraphs.join("\n\n")});
        text += &format!("{record}\n");
    }
    StreamingDatasetLoader::builder()
        .with_reader("corpus.jsonl", std::io::Cursor::new(text.into_bytes()))
        .with_text_unit(TextUnit::File)
}

/// What an undisturbed run in this process learns, by level.
pub(crate) fn undisturbed() -> &'static [Node] {
    static UNDISTURBED: OnceLock<Vec<Node>> = OnceLock::new();
    UNDISTURBED.get_or_init(|| {
        let learner = learner();
        let configuration = RunConfiguration::from_learner(learner).to_json();
        let store = MemoryStore::new(&learner.node_names(), configuration);
        let mut options = TrainingOptions::default();
        options.n_workers = Workers::Exactly(std::num::NonZeroUsize::MIN);
        options.commit_interval = Duration::from_secs(1);
        let mut loader = documents().build().unwrap();
        train_parallel(&mut loader, learner, &store, &options, |_event| {}).unwrap();
        let levels = 0..learner.nodes().len();
        levels.map(|level| taught(&store, level)).collect()
    })
}

fn taught(store: &dyn PatternStore, level: usize) -> Node {
    let mut node = Node::default();
    for pattern in store.scan(level).unwrap() {
        let pattern = pattern.unwrap();
        let symbols: Vec<String> = pattern.symbols.iter().map(ToString::to_string).collect();
        for symbol in &symbols {
            node.symbols.entry(symbol.clone()).or_default().0 += pattern.frequency;
        }
        for symbol in symbols.into_iter().collect::<BTreeSet<_>>() {
            node.symbols.entry(symbol).or_default().1 += 1;
        }
        let metadata = pattern.metadata.iter();
        let metadata = metadata.map(|(key, values)| (key.to_owned(), values.clone()));
        let known = (pattern.frequency, metadata.collect());
        node.patterns.insert(pattern.name.to_string(), known);
    }
    node
}

/// What a server's requests show of the run's nodes, by level.
pub(crate) fn shown(learned: &Learned, run: &str, generation: Generation) -> Vec<Node> {
    let names = learner();
    let ids = names
        .node_names()
        .into_iter()
        .map(|node| format!("{run}_{node}"));
    ids.map(|id| {
        let Some(learned) = learned.nodes.get(&id) else {
            return Node::default();
        };
        let seen = learned
            .patterns
            .iter()
            .filter(|(_, pattern)| pattern.rows > 0);
        let known = |(name, pattern): (&String, &kato_stock_server::LearnedPattern)| {
            // A frequency that is not known is shown as 1.
            let known = (pattern.frequency.max(1), pattern.metadata.clone());
            (name.clone(), known)
        };
        Node {
            patterns: seen.map(known).collect(),
            symbols: match generation {
                Generation::V3_10 | Generation::V6_3 => learned.symbols.clone(),
                // No request shows them.
                Generation::October2025 => BTreeMap::new(),
            },
        }
    })
    .collect()
}

/// What differs from an undisturbed run, in words; nothing if nothing does. Of patterns that are
/// torn, and their symbols, nothing is asked.
pub(crate) fn differences(
    found: &[Node],
    generation: Generation,
    torn: &BTreeSet<String>,
) -> Vec<String> {
    let mut differences = Vec::new();
    for (level, (found, expected)) in found.iter().zip(undisturbed()).enumerate() {
        let names: BTreeSet<&String> = found
            .patterns
            .keys()
            .chain(expected.patterns.keys())
            .collect();
        for name in names.into_iter().filter(|name| !torn.contains(*name)) {
            let (found, expected) = (found.patterns.get(name), expected.patterns.get(name));
            if found != expected {
                differences.push(format!("node {level}, {name}: {found:?} for {expected:?}"));
            }
        }
        if generation == Generation::October2025 || !torn.is_empty() {
            continue;
        }
        let symbols: BTreeSet<&String> = found
            .symbols
            .keys()
            .chain(expected.symbols.keys())
            .collect();
        for symbol in symbols {
            let (found, expected) = (found.symbols.get(symbol), expected.symbols.get(symbol));
            if found != expected {
                differences.push(format!(
                    "node {level}, {symbol:?}: {found:?} for {expected:?}"
                ));
            }
        }
    }
    differences
}
