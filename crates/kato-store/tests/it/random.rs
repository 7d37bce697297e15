//! Random lessons in random batches: every store holds what the plain store in memory holds.

use kato_model::emotives::EmotiveWindow;
use kato_model::{
    AttributeLimits, Attributes, EmotiveMap, FirstSeen, Metadata, Symbol, VectorName,
};
use kato_store::conformance::{
    CallSymbol, Fixture, LearnCall, Lessons, assert_same_content, forgets_the_same,
    teaches_the_same,
};
use kato_store::contract::{SymbolCounts, Totals};
use kato_store::embedded::EmbeddedOptions;
use kato_store::{EmbeddedStore, MemoryStore, PatternStore, StoredPattern};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::num::NonZeroUsize;

use crate::support::{
    Embedded, InMemory, always_merging, cases, commit, merging_beside, never_rewriting, sealed,
};

const N_NODES: usize = 3;
const NODES: [&str; N_NODES] = ["node0", "node1", "node2"];

#[derive(Debug, Clone)]
enum DraftPart {
    Text(String),
    /// The name of some earlier lesson's pattern.
    Learned(prop::sample::Index),
}

#[derive(Debug, Clone)]
struct Draft {
    node_idx: usize,
    events: Vec<Vec<DraftPart>>,
    attributes: Attributes,
    vectors: Vec<(VectorName, Vec<f64>)>,
    seen: FirstSeen,
}

fn part() -> impl Strategy<Value = DraftPart> {
    prop_oneof![
        2 => prop::sample::select(vec!["a", "b", "", "PTRN|", "é"]).prop_map(|text| DraftPart::Text(text.to_owned())),
        1 => Just(DraftPart::Text(format!("PTRN|{}", "0f".repeat(20)))),
        4 => any::<prop::sample::Index>().prop_map(DraftPart::Learned),
    ]
}

fn events() -> impl Strategy<Value = Vec<Vec<DraftPart>>> {
    prop_oneof![
        4 => prop::collection::vec(part(), 0..5).prop_map(|parts| parts.into_iter().map(|part| vec![part]).collect()),
        1 => prop::collection::vec(prop::collection::vec(part(), 0..3), 0..3),
    ]
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let metadata =
        prop::collection::vec((prop::sample::select(vec!["book", ""]), "[a-c]{0,2}"), 0..4);
    let emotives =
        prop::collection::vec((0_u64..9, prop::option::of(prop::num::f64::NORMAL)), 0..4);
    // Multiples of 0.25 have the same sum in any order.
    let affinity =
        prop::collection::btree_map("[ab]", (-99_i32..99).prop_map(|n| f64::from(n) / 4.0), 0..3);
    (metadata, emotives, 0_u64..4, affinity).prop_map(|(pairs, maps, extra_frequency, affinity)| {
        let mut metadata = Metadata::default();
        for (key, value) in pairs {
            metadata.insert_text(key, value, None);
        }
        let mut emotives = EmotiveWindow::default();
        for (position, value) in maps {
            let map: EmotiveMap = value
                .map(|value| ("joy".to_owned(), value))
                .into_iter()
                .collect();
            emotives.learn((position, 0), map, NonZeroUsize::MAX);
        }
        Attributes {
            extra_frequency,
            metadata,
            emotives,
            affinity,
            ..Attributes::default()
        }
    })
}

/// Vectors of few names, so that names coincide.
fn vectors() -> impl Strategy<Value = Vec<(VectorName, Vec<f64>)>> {
    let vector = prop::collection::vec(prop::num::f64::ANY, 0..3);
    let named = (0_u8..3, vector)
        .prop_map(|(name, vector)| (VectorName::from_bytes([name; VectorName::BYTES]), vector));
    prop::collection::vec(named, 0..3)
}

fn draft() -> impl Strategy<Value = Draft> {
    let seen = (0_u64..20, 0_u64..3).prop_map(|(document_idx, token_idx)| FirstSeen {
        document_idx,
        token_idx,
    });
    let attributes = prop_oneof![3 => Just(Attributes::default()), 1 => attributes()];
    let vectors = prop_oneof![3 => Just(Vec::new()), 1 => vectors()];
    (0..N_NODES, events(), attributes, vectors, seen).prop_map(
        |(node_idx, events, attributes, vectors, seen)| Draft {
            node_idx,
            events,
            attributes,
            vectors,
            seen,
        },
    )
}

pub(crate) fn lessons() -> impl Strategy<Value = Lessons> {
    lessons_of(draft().boxed(), any::<bool>().boxed())
}

fn lessons_of(
    draft: BoxedStrategy<Draft>,
    provenance: BoxedStrategy<bool>,
) -> impl Strategy<Value = Lessons> {
    let limits = (1_usize..4, 0_usize..4).prop_map(|(persistence, values)| AttributeLimits {
        persistence: NonZeroUsize::new(persistence).unwrap(),
        metadata_values: NonZeroUsize::new(values),
    });
    (prop::collection::vec(draft, 0..24), limits, provenance).prop_map(
        |(drafts, limits, provenance)| {
            let lesson = |(idx, draft): (usize, Draft)| {
                let part = |part: DraftPart| match part {
                    DraftPart::Learned(_) if idx == 0 => CallSymbol::Text("first".to_owned()),
                    DraftPart::Learned(earlier) => CallSymbol::Learned(earlier.index(idx)),
                    DraftPart::Text(text) => CallSymbol::Text(text),
                };
                let events = draft
                    .events
                    .into_iter()
                    .map(|event| event.into_iter().map(part).collect())
                    .collect();
                LearnCall {
                    node_idx: draft.node_idx,
                    events,
                    attributes: draft.attributes,
                    vectors: draft.vectors,
                    seen: draft.seen,
                }
            };
            let lessons = drafts.into_iter().enumerate().map(lesson).collect();
            let lessons = Lessons::new(N_NODES, lessons).with_limits(limits);
            if provenance {
                lessons.with_provenance()
            } else {
                lessons
            }
        },
    )
}

/// Lessons that slices can hold: without vectors, and with the default limits.
fn plain_lessons() -> impl Strategy<Value = Lessons> {
    let plain = draft().prop_map(|draft| Draft {
        vectors: Vec::new(),
        ..draft
    });
    lessons_of(plain.boxed(), any::<bool>().boxed())
        .prop_map(|lessons| lessons.with_limits(AttributeLimits::default()))
}

/// Lessons of which nothing is kept beside their patterns and how often they were learned.
fn bare() -> impl Strategy<Value = Draft> {
    let extra_frequency = |times| Attributes {
        extra_frequency: times,
        ..Attributes::default()
    };
    (draft(), 0_u64..3).prop_map(move |(draft, times)| Draft {
        vectors: Vec::new(),
        attributes: extra_frequency(times),
        ..draft
    })
}

/// Lessons, and a commit and a batch for each, in random order.
fn grouped() -> impl Strategy<Value = (Lessons, Vec<Vec<Vec<usize>>>)> {
    grouped_of(lessons().boxed())
}

fn grouped_of(
    lessons: BoxedStrategy<Lessons>,
) -> impl Strategy<Value = (Lessons, Vec<Vec<Vec<usize>>>)> {
    let places = prop::collection::vec((0_usize..4, 0_usize..3, any::<u32>()), 24);
    (lessons, places).prop_map(|(lessons, places)| {
        let mut order: Vec<usize> = (0..lessons.len()).collect();
        order.sort_by_key(|&idx| places[idx].2);
        let mut commits = vec![vec![Vec::new(); 3]; 4];
        for idx in order {
            commits[places[idx].0][places[idx].1].push(idx);
        }
        (lessons, commits)
    })
}

/// All that is counted at a node; documents stay when lessons are taken back.
type Counted = (Vec<StoredPattern>, Totals, u64, Vec<(Symbol, SymbolCounts)>);

fn counted(store: &dyn PatternStore) -> Vec<Counted> {
    let node = |idx| {
        (
            store.scan(idx).unwrap().map(Result::unwrap).collect(),
            store.totals(idx).unwrap(),
            store.count_patterns(idx).unwrap(),
            store
                .symbol_counts(idx)
                .unwrap()
                .map(Result::unwrap)
                .collect(),
        )
    };
    (0..N_NODES).map(node).collect()
}

/// What may happen to a knowledge base between commits.
#[derive(Debug, Clone)]
enum Step {
    Commit(Vec<Vec<usize>>),
    /// Staged and never committed.
    Abandon(Vec<usize>),
    Compact,
    Reopen,
}

fn steps() -> impl Strategy<Value = (Lessons, Vec<Step>)> {
    let between = prop::collection::vec(0_u8..4, 0..3);
    (grouped(), prop::collection::vec(between, 4)).prop_map(|((lessons, commits), between)| {
        let mut steps = Vec::new();
        for (batches, between) in commits.into_iter().zip(between) {
            let abandoned = batches.concat();
            steps.push(Step::Commit(batches));
            steps.extend(between.into_iter().map(|kind| match kind {
                0 => Step::Compact,
                1 => Step::Abandon(abandoned.clone()),
                _ => Step::Reopen,
            }));
        }
        (lessons, steps)
    })
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn the_store_in_memory_forgets_order_and_grouping((lessons, commits) in grouped()) {
        teaches_the_same(&InMemory, &lessons, &commits);
    }

    #[test]
    fn the_embedded_store_forgets_order_and_grouping((lessons, commits) in grouped()) {
        for options in [always_merging(), merging_beside()] {
            teaches_the_same(&Embedded::new(options), &lessons, &commits);
        }
    }

    #[test]
    fn the_embedded_store_forgets_patterns_as_the_store_in_memory_does((lessons, commits) in grouped()) {
        // What one commit teaches, the next forgets, and parts of its own.
        let taught: Vec<Vec<usize>> = commits.iter().map(|batches| batches.concat()).collect();
        let rounds: Vec<_> = taught
            .iter()
            .zip([&[][..]].into_iter().chain(taught.iter().map(Vec::as_slice)))
            .map(|(group, before)| (group.clone(), [before, &group[..group.len() / 2]].concat()))
            .collect();
        // The names of a lesson go to its node and to the one beside it, which may have learned the same.
        for other in 0..N_NODES {
            let node_of = |idx: usize| (lessons.node_of(idx) + other) % N_NODES;
            for options in [
                always_merging(),
                merging_beside(),
                never_rewriting(always_merging()),
                never_rewriting(EmbeddedOptions::default()),
            ] {
                forgets_the_same(&Embedded::new(options), &lessons, node_of, &rounds);
            }
        }
    }

    #[test]
    fn lessons_that_are_taken_back_were_never_learned(
        (lessons, commits) in grouped_of(lessons_of(bare().boxed(), Just(false).boxed()).boxed()),
        n_taken in 1_usize..4,
        rewrites in any::<bool>(),
    ) {
        let options = match rewrites {
            true => always_merging(),
            false => never_rewriting(EmbeddedOptions::default()),
        };
        let fixture = Embedded::new(options);
        let mut store = fixture.create(&NODES, Value::Null, lessons.limits());
        let expected = MemoryStore::with_limits(&NODES, Value::Null, lessons.limits());
        for (number, picked) in commits.iter().map(|batches| batches.concat()).enumerate() {
            commit(&store, &lessons, &picked, Value::Null);
            if number >= n_taken {
                commit(&expected, &lessons, &picked, Value::Null);
            }
        }
        for batches in &commits[..n_taken] {
            let taken = MemoryStore::with_limits(&NODES, Value::Null, lessons.limits());
            commit(&taken, &lessons, &batches.concat(), Value::Null);
            store.unlearn(&taken, Value::Null).unwrap();
        }
        prop_assert_eq!(counted(&store), counted(&expected));
        store = fixture.reopen(store);
        prop_assert_eq!(counted(&store), counted(&expected));
        // What was taken back may be learned again, and taken back but once.
        let picked = commits[0].concat();
        let again = MemoryStore::with_limits(&NODES, Value::Null, lessons.limits());
        commit(&again, &lessons, &picked, Value::Null);
        commit(&store, &lessons, &picked, Value::Null);
        store.unlearn(&again, Value::Null).unwrap();
        prop_assert_eq!(counted(&store), counted(&expected));
        store.compact().unwrap();
        prop_assert_eq!(counted(&store), counted(&expected));
    }

    #[test]
    fn ranges_of_names_are_the_store_in_memory_whatever_happens_to_them(
        (lessons, commits) in grouped_of(plain_lessons().boxed()),
        n_ranges in 1_u32..5,
        what in prop::collection::vec(0_u8..4, 0..5),
        rewrites in any::<bool>(),
    ) {
        let options = match rewrites {
            true => EmbeddedOptions::default(),
            false => never_rewriting(EmbeddedOptions::default()),
        };
        let root = tempfile::tempdir().unwrap();
        let kb = root.path().join("kb");
        let n_samples = lessons.len() as u64;
        let memory = MemoryStore::new(&NODES, Value::Null);
        drop(sealed(&kb, &lessons, &commits[0], n_ranges));
        let mut store = EmbeddedStore::open_with(&kb, options).unwrap();
        for picked in &commits[0] {
            commit(&memory, &lessons, picked, Value::Null);
        }
        assert_same_content(&store, &memory, n_samples);
        let mut others = commits[1..].iter();
        for step in what {
            match step {
                // Segments of version 1 come beside those of version 2.
                0 => for picked in others.next().into_iter().flatten() {
                    commit(&memory, &lessons, picked, Value::Null);
                    commit(&store, &lessons, picked, Value::Null);
                },
                1 => store.compact().unwrap(),
                2 => {
                    let mut names = vec![Vec::new(); N_NODES];
                    for idx in (0..lessons.len()).step_by(3) {
                        names[lessons.node_of(idx)].push(lessons.name(idx));
                    }
                    store.forget(&names, Value::Null).unwrap();
                    memory.forget(&names, Value::Null).unwrap();
                }
                _ => {
                    drop(store);
                    store = EmbeddedStore::open_with(&kb, options).unwrap();
                }
            }
            assert_same_content(&store, &memory, n_samples);
        }
    }

    #[test]
    fn the_embedded_store_is_the_store_in_memory_whatever_happens_between_commits((lessons, steps) in steps(), beside in any::<bool>()) {
        let fixture = Embedded::new(if beside { merging_beside() } else { always_merging() });
        let mut store = fixture.create(&NODES, Value::Null, lessons.limits());
        let mut reader = EmbeddedStore::open_read_only(store.dir()).unwrap();
        let memory = MemoryStore::with_limits(&NODES, Value::Null, lessons.limits());
        let mut before = MemoryStore::with_limits(&NODES, Value::Null, lessons.limits());
        let mut taught = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Commit(batches) => {
                    let staged = batches.iter().map(|picked| store.stage(lessons.batch(picked)).unwrap()).collect();
                    store.commit(staged, json!(number)).unwrap();
                    for picked in batches {
                        commit(&memory, &lessons, picked, json!(number));
                    }
                    taught.extend(batches.concat());
                }
                Step::Abandon(picked) => drop(store.stage(lessons.batch(picked)).unwrap()),
                Step::Compact => {
                    store.compact().unwrap();
                    let n_segments = store.n_segments();
                    store.compact().unwrap();
                    prop_assert_eq!(store.n_segments(), n_segments);
                }
                Step::Reopen => store = fixture.reopen(store),
            }
            let n_samples = lessons.len() as u64;
            assert_same_content(&store, &memory, n_samples);
            prop_assert_eq!(store.checkpoint(), memory.checkpoint());
            // A reader sees the commit that it opened, even if its files were merged away since.
            assert_same_content(&reader, &before, n_samples);
            reader = EmbeddedStore::open_read_only(store.dir()).unwrap();
            assert_same_content(&reader, &memory, n_samples);
            before = MemoryStore::with_limits(&NODES, Value::Null, lessons.limits());
            commit(&before, &lessons, &taught, Value::Null);
        }
    }
}
