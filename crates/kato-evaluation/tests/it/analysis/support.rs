//! Hierarchies that several tests use.

use kato_model::PatternName;
use kato_store::conformance::{CallSymbol, LearnCall, Lessons};
use kato_store::embedded::EmbeddedOptions;
use kato_store::{EmbeddedStore, MemoryStore, PatternStore};
use proptest::prelude::*;
use proptest::test_runner::Config as ProptestConfig;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const NODES: [&str; 3] = ["node0", "node1", "node2"];

/// Lessons for three nodes, and the commits that teach them.
#[derive(Debug, Clone)]
pub(crate) struct Hierarchy {
    pub(crate) lessons: Lessons,
    pub(crate) commits: Vec<Vec<usize>>,
}

impl Hierarchy {
    pub(crate) fn teach(&self, store: &dyn PatternStore) {
        for (number, picked) in self.commits.iter().enumerate() {
            let staged = store.stage(self.lessons.batch(picked)).unwrap();
            store
                .commit(vec![staged], json!({"commit": number}))
                .unwrap();
        }
    }

    pub(crate) fn in_memory(&self) -> MemoryStore {
        let store = MemoryStore::new(&NODES, Value::Null);
        self.teach(&store);
        store
    }

    /// In a directory, in several segments.
    pub(crate) fn embedded(&self) -> (TempDir, EmbeddedStore) {
        let dir = tempfile::tempdir().unwrap();
        let mut options = EmbeddedOptions::default();
        options.max_segments = 3;
        let kb = dir.path().join("kb");
        let store = EmbeddedStore::create_with(&kb, &NODES, Value::Null, options).unwrap();
        self.teach(&store);
        (dir, store)
    }
}

/// Random patterns, parents of these, and parents of those, in random commits; parents may come
/// before their children, refer to one several times, refer to patterns that nobody learned or that
/// lie two nodes below, and hold text.
pub(crate) fn hierarchies() -> impl Strategy<Value = Hierarchy> {
    let texts = prop::collection::vec(0_u8..12, 1..10);
    let parents = prop::collection::vec(prop::collection::vec(0_usize..12, 0..5), 0..7);
    let taught = prop::collection::vec((any::<prop::sample::Index>(), 0_usize..4), 0..50);
    (texts, parents.clone(), parents, taught).prop_map(|(texts, middle, top, taught)| {
        let mut lessons: Vec<LearnCall> = texts
            .iter()
            .map(|text| LearnCall::text(0, &["a", &text.to_string()]))
            .collect();
        let n_texts = lessons.len();
        let mut below = 0..n_texts;
        for (node_idx, parents) in [(1, middle), (2, top)] {
            let start = lessons.len();
            let part = |child: usize| match child {
                10 => CallSymbol::Text("text".to_owned()),
                11 => CallSymbol::Text(nobody().prefixed().to_string()),
                9 => CallSymbol::Learned(n_texts - 1),
                _ if below.is_empty() => CallSymbol::Text("no child".to_owned()),
                _ => CallSymbol::Learned(below.start + child % below.len()),
            };
            for children in parents {
                lessons.push(LearnCall::new(node_idx, children.into_iter().map(part)));
            }
            below = start..lessons.len();
        }
        let mut commits = vec![Vec::new(); 4];
        for (idx, commit) in taught {
            commits[commit].push(idx.index(lessons.len()));
        }
        Hierarchy {
            lessons: Lessons::new(3, lessons),
            commits,
        }
    })
}

/// The name of a pattern that nobody learns.
pub(crate) fn nobody() -> PatternName {
    PatternName::from_bytes([0x0f; PatternName::BYTES])
}

/// Six patterns, learned 1 to 6 times; three parents, of the first two twice, the third and fourth,
/// and the fifth; their parent, once.
pub(crate) fn small() -> Hierarchy {
    use CallSymbol::Learned;

    let mut lessons: Vec<LearnCall> = (0..6)
        .map(|idx: u32| LearnCall::text(0, &["a", &idx.to_string()]))
        .collect();
    lessons.push(LearnCall::new(1, [0, 0, 1].map(Learned)));
    lessons.push(LearnCall::new(1, [2, 3].map(Learned)));
    lessons.push(LearnCall::new(1, [4].map(Learned)));
    lessons.push(LearnCall::new(2, [6, 7].map(Learned)));
    let often = (0..6).flat_map(|idx| std::iter::repeat_n(idx, idx + 1));
    Hierarchy {
        lessons: Lessons::new(3, lessons),
        commits: vec![often.collect(), vec![6, 6, 7], vec![8, 8, 8, 9]],
    }
}

/// Random cases of a property; `PROPTEST_CASES` overrides the number.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    let cases = match std::env::var("PROPTEST_CASES") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => cases,
    };
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
