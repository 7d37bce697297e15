//! All that a finished run leaves behind, for comparison.

use std::process::Output;
use std::sync::OnceLock;

use kato_model::naming::processor_id;
use kato_model::{FirstSeen, Symbol};
use kato_mongodb::MongoStore;
use kato_stock_server::learned;
use kato_store::contract::{SymbolCounts, Totals};
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore};
use serde_json::Value;

use crate::backends::Backend;
use crate::place::{N_LEVELS, Place};
use crate::report::{counters, stderr};

pub(crate) struct Learned {
    /// One a level.
    nodes: Vec<Node>,
    /// What `--json` counts over all sessions.
    counters: Value,
    /// Lines of the ledger, sorted.
    skipped: Vec<String>,
}

struct Node {
    export: String,
    learn_calls: u64,
    /// What only stores of ours tell.
    counted: Option<Counted>,
}

struct Counted {
    totals: Totals,
    symbols: Vec<(Symbol, SymbolCounts)>,
    /// In the order of names.
    sightings: Vec<Option<FirstSeen>>,
}

impl Learned {
    /// What one thread learns that nothing disturbs, with what no backend may lose.
    pub(crate) fn undisturbed(backend: Backend) -> &'static Self {
        static UNDISTURBED: [OnceLock<Learned>; Backend::ALL.len()] =
            [const { OnceLock::new() }; Backend::ALL.len()];
        UNDISTURBED[backend as usize].get_or_init(|| {
            let run = "undisturbed".to_owned();
            let place = Place::with_records(Backend::Embedded, run, backend.n_records());
            let output = place.train("", &["--workers", "1"]).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let learned = Self::of(&place, Backend::Embedded, &output, None);
            assert!(
                learned.skipped.len() > 1 && learned.nodes.iter().all(|node| node.learn_calls > 0)
            );
            learned
        })
    }

    /// What a finished run has left; a server of ours must not run any more.
    pub(crate) fn of(
        place: &Place,
        backend: Backend,
        output: &Output,
        mongodb: Option<&str>,
    ) -> Self {
        let embedded = |dir| EmbeddedStore::open_read_only(place.dir().join(dir)).unwrap();
        let nodes = match backend {
            Backend::Embedded => nodes(&embedded(place.run().to_owned())),
            Backend::Stock | Backend::October => {
                let known = learned(&place.dir().join("data"));
                (0..N_LEVELS)
                    .map(|node| format!("{}_node{node}", place.run()))
                    .map(|id| Node {
                        export: known.export(&id),
                        learn_calls: known.learn_calls(&id),
                        counted: None,
                    })
                    .collect()
            }
            Backend::Kato | Backend::Plain => (0..N_LEVELS)
                .map(|node| processor_id(&format!("{}_node{node}", place.run()), "kato"))
                .flat_map(|id| nodes(&embedded(format!("data/nodes/{id}"))))
                .collect(),
            Backend::Mongodb => {
                let run = place.run().parse().unwrap();
                let uri = mongodb.expect("its address is given");
                nodes(&MongoStore::builder(uri, run).open_read_only().unwrap())
            }
        };
        Self {
            nodes,
            counters: counters(output),
            skipped: place.skipped(),
        }
    }

    /// Compares piece by piece, because whole knowledge bases are too long for a message.
    pub(crate) fn assert_equals(&self, expected: &Self, with_sightings: bool) {
        assert_eq!(self.nodes.len(), expected.nodes.len());
        for (idx, (found, expected)) in self.nodes.iter().zip(&expected.nodes).enumerate() {
            let lines = || found.export.lines().zip(expected.export.lines());
            let n_differing = lines().filter(|(a, b)| a != b).count();
            let differing = lines().find(|(a, b)| a != b);
            assert_eq!(differing, None, "node {idx}, {n_differing} patterns");
            assert_eq!(found.learn_calls, expected.learn_calls, "node {idx}");
            assert!(
                found.export == expected.export,
                "node {idx} has other patterns"
            );
            let counted = found.counted.as_ref().zip(expected.counted.as_ref());
            let Some((found, expected)) = counted else {
                continue;
            };
            assert_eq!(found.totals, expected.totals, "node {idx}");
            assert!(
                found.symbols == expected.symbols,
                "node {idx} has other symbols"
            );
            let sightings = !with_sightings || found.sightings == expected.sightings;
            assert!(sightings, "node {idx} was first seen elsewhere");
        }
        assert_eq!(self.counters, expected.counters);
        assert_eq!(self.skipped, expected.skipped);
    }
}

fn nodes(store: &dyn PatternStore) -> Vec<Node> {
    KnowledgeBase::all(store)
        .map(|node| Node::of(&node))
        .collect()
}

impl Node {
    fn of(node: &KnowledgeBase<'_>) -> Self {
        let mut export = Vec::new();
        node.export(&mut export).unwrap();
        let symbols = node.symbol_counts().unwrap();
        let mut symbols: Vec<_> = symbols.collect::<Result<_, _>>().unwrap();
        symbols.sort_by(|(a, _), (b, _)| a.cmp(b));
        let patterns = node.scan().unwrap();
        let totals = node.totals().unwrap();
        Self {
            export: String::from_utf8(export).unwrap(),
            learn_calls: totals.learns,
            counted: Some(Counted {
                totals,
                symbols,
                sightings: patterns
                    .map(|pattern| pattern.unwrap().first_seen)
                    .collect(),
            }),
        }
    }
}
