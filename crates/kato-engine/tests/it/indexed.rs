//! Indexes on the disk change no answer, whether a store is opened over them or goes over to them while it learns.

use std::path::Path;
use std::sync::Arc;

use kato_engine::node::Lesson;
use kato_engine::{Engine, EngineError, EngineOptions, SessionConfig};
use kato_model::Event;
use kato_prediction::disk::{BuildOptions, StoreIndex};
use kato_store::{EmbeddedStore, PatternStore};
use serde_json::json;

/// A lesson of some symbols of a round, with what every round has.
fn lesson(round: u64) -> Lesson {
    let own = |at: u64| Event::new([format!("s{}", (round * 7 + at * at) % 23)]);
    let events = [Event::new(["a"])]
        .into_iter()
        .chain((0..round % 5).map(own));
    Lesson::new(events.chain([Event::new(["b", "c"])]))
}

fn teach(engine: &Engine, rounds: std::ops::Range<u64>) {
    for (node_idx, node) in engine.nodes().enumerate() {
        for round in rounds.clone() {
            node.teach(&lesson(round * (1 + node_idx as u64))).unwrap();
        }
    }
}

/// All that the nodes answer.
fn answers(engine: &Engine) -> Vec<String> {
    let of = |node: kato_engine::Node| {
        let mut frequencies = node.frequencies().unwrap();
        frequencies.sort_unstable();
        let predictions = (0..40).map(|round| {
            let state = lesson(round).events;
            node.predict(&state, &SessionConfig::default()).unwrap()
        });
        let predictions: Vec<_> = predictions.collect();
        let symbols = (node.symbols().unwrap(), node.symbol_counts("a").unwrap());
        format!(
            "{:?} {frequencies:?} {symbols:?} {predictions:?}",
            node.totals()
        )
    };
    engine.nodes().map(of).collect()
}

fn n_indexed(engine: &Engine) -> Vec<usize> {
    engine.nodes().map(|node| node.n_indexed()).collect()
}

fn build(store: &EmbeddedStore) -> StoreIndex {
    kato_prediction::disk::build(store, &BuildOptions::default()).unwrap();
    kato_prediction::disk::open(store).unwrap().unwrap()
}

fn adopt(engine: &Engine, index: &StoreIndex) -> usize {
    engine
        .adopt_indexes(index.nodes(), index.covered())
        .unwrap()
}

fn create(dir: &Path) -> (Arc<EmbeddedStore>, Engine) {
    let store = EmbeddedStore::create(dir, &["node0", "node1"], json!({}));
    let store = Arc::new(store.unwrap());
    let engine = Engine::open(Arc::clone(&store) as Arc<dyn PatternStore>).unwrap();
    (store, engine)
}

#[test]
fn an_engine_answers_over_an_index_as_without() {
    let dir = tempfile::tempdir().unwrap();
    let (store, engine) = create(dir.path());
    teach(&engine, 0..200);
    engine.commit().unwrap();
    let index = build(&store);
    // Not committed when the index is taken over.
    teach(&engine, 190..220);
    let expected = answers(&engine);
    let patterns: Vec<_> = engine
        .nodes()
        .map(|node| node.frequencies().unwrap().len())
        .collect();
    let bytes: Vec<_> = engine.nodes().map(|node| node.memory_bytes()).collect();
    assert_eq!(n_indexed(&engine), [0, 0]);
    assert_eq!(adopt(&engine, &index), 2);
    assert!(answers(&engine) == expected);
    let indexed = n_indexed(&engine);
    for (node_idx, node) in engine.nodes().enumerate() {
        assert!(indexed[node_idx] > 0 && indexed[node_idx] <= patterns[node_idx]);
        assert!(node.memory_bytes() < bytes[node_idx]);
    }
    engine.commit().unwrap();
    let expected = answers(&engine);
    drop((engine, store));
    for is_indexed in [false, true] {
        let store = Arc::new(EmbeddedStore::open(dir.path()).unwrap());
        let indexes = index.nodes().filter(|_| is_indexed).collect::<Vec<_>>();
        let covered = index.covered();
        let opened = Engine::open_indexed(store, indexes, covered, EngineOptions::default());
        let opened = opened.unwrap();
        assert!(answers(&opened) == expected, "over indexes: {is_indexed}");
        assert_eq!(n_indexed(&opened) == indexed, is_indexed);
    }
}

/// Lessons of more patterns than one thread reads, of symbols of their own and of names of patterns.
fn many(node_idx: usize, rounds: std::ops::Range<u64>) -> Vec<Lesson> {
    let rounds = rounds.map(|round| {
        let mut lesson = lesson(round % 40);
        if node_idx > 0 {
            let below = many(0, round..round + 1)[0].pattern_name().unwrap();
            lesson
                .events
                .push(Event::new([below.prefixed().to_string()]));
        }
        let own = [
            "x".to_owned(),
            format!("n{}", round / 3),
            format!("m{}", round % 3),
        ];
        lesson.events.push(Event::new(own));
        lesson
    });
    rounds.collect()
}

#[test]
fn what_one_thread_reads_and_another_adds_is_what_was_taught() {
    let dir = tempfile::tempdir().unwrap();
    let (store, engine) = create(dir.path());
    let teach = |rounds: std::ops::Range<u64>| {
        for (node_idx, node) in engine.nodes().enumerate() {
            node.teach_all(&many(node_idx, rounds.clone())).unwrap();
        }
        engine.commit().unwrap();
    };
    teach(0..1_000);
    let index = build(&store);
    // Two sources beside the index, and half of the first is in it.
    teach(500..6_000);
    teach(5_900..7_000);
    let expected = answers(&engine);
    drop((engine, store));
    for is_indexed in [false, true] {
        let open = |options| {
            let store = Arc::new(EmbeddedStore::open_read_only(dir.path()).unwrap());
            let indexes = index.nodes().filter(|_| is_indexed).collect::<Vec<_>>();
            Engine::open_indexed(store, indexes, index.covered(), options)
        };
        let opened = open(EngineOptions::default()).unwrap();
        assert!(answers(&opened) == expected, "over indexes: {is_indexed}");
        // Passed while more is read.
        let mut options = EngineOptions::default();
        options.max_load_bytes = Some(250_000);
        let refused = open(options).unwrap_err();
        assert!(
            matches!(refused, EngineError::LoadMemoryFull { .. }),
            "{refused}"
        );
        // There may be an index already, or none can be.
        assert!(!refused.to_string().contains("write an index"), "{refused}");
    }
}

#[test]
fn a_node_with_emotives_keeps_what_it_has_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let (store, engine) = create(dir.path());
    teach(&engine, 0..20);
    engine.commit().unwrap();
    let index = build(&store);
    let [lower, upper] = ["node0", "node1"].map(|name| engine.node(name).unwrap());
    assert!(lower.is_indexable() && upper.is_indexable());
    let joyful = lesson(3).with_emotives([("joy".to_owned(), 0.5)].into());
    lower.teach(&joyful).unwrap();
    assert!(!lower.is_indexable() && upper.is_indexable());
    let expected = answers(&engine);
    assert_eq!(adopt(&engine, &index), 1);
    assert!(answers(&engine) == expected);
    assert!(lower.n_indexed() == 0 && upper.n_indexed() > 0);
}

#[test]
fn what_is_not_committed_is_weighed() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, engine) = create(dir.path());
    teach(&engine, 0..200);
    let node = engine.node("node0").unwrap();
    let before = node.memory_bytes();
    let n_patterns = node.frequencies().unwrap().len();
    engine.commit().unwrap();
    // A name of 20 bytes and a count for each, and its content.
    assert!(before - node.memory_bytes() > 28 * n_patterns);
}

/// Lessons of which some patterns come again, and of which one is too short.
fn lessons() -> Vec<Lesson> {
    let mut lessons: Vec<Lesson> = (150..400).chain(150..200).map(lesson).collect();
    lessons.push(Lesson::new([Event::new(["alone"])]));
    // So many that they are named on several threads.
    lessons.extend((0..5_000).map(|number| lesson(number % 300)));
    lessons
}

#[test]
fn lessons_that_are_learned_at_once_are_learned_as_one_after_the_other() {
    let joyful = lesson(3).with_emotives([("joy".to_owned(), 0.5)].into());
    let attached = [lessons(), vec![joyful.clone(), lesson(3), joyful]].concat();
    for (lessons, is_indexed) in [(lessons(), true), (lessons(), false), (attached, false)] {
        let taught = [false, true].map(|at_once| {
            let dir = tempfile::tempdir().unwrap();
            let (store, engine) = create(dir.path());
            teach(&engine, 0..200);
            engine.commit().unwrap();
            if is_indexed {
                assert_eq!(adopt(&engine, &build(&store)), 2);
            }
            for node in engine.nodes() {
                match at_once {
                    true => node.teach_all(&lessons).unwrap(),
                    false => lessons.iter().for_each(|it| _ = node.teach(it).unwrap()),
                }
            }
            let before = answers(&engine);
            engine.commit().unwrap();
            drop((engine, store));
            let store = Arc::new(EmbeddedStore::open(dir.path()).unwrap());
            (before, answers(&Engine::open(store).unwrap()))
        });
        assert!(taught[0] == taught[1], "over indexes: {is_indexed}");
    }
}

#[test]
fn what_is_learned_at_once_over_a_damaged_index_is_learned() {
    let dir = tempfile::tempdir().unwrap();
    let (store, engine) = create(dir.path());
    teach(&engine, 0..200);
    engine.commit().unwrap();
    let index = build(&store);
    let damaged = dir.path().join("index").join(index.content().to_string());
    for column in std::fs::read_dir(damaged).unwrap() {
        let path = column.unwrap().path();
        if path.to_string_lossy().contains("names") {
            let bytes = std::fs::read(&path).unwrap();
            let bytes: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
            std::fs::write(&path, bytes).unwrap();
        }
    }
    drop((engine, index));
    let options = EngineOptions::default();
    let opened = |is_indexed| {
        let index = kato_prediction::disk::open(&store).unwrap().unwrap();
        let indexes = index.nodes().filter(|_| is_indexed).collect::<Vec<_>>();
        Engine::open_indexed(Arc::clone(&store) as _, indexes, index.covered(), options).unwrap()
    };
    let taught = [false, true].map(|is_indexed| {
        let engine = opened(is_indexed);
        let nodes = engine.nodes();
        nodes
            .into_iter()
            .for_each(|node| node.teach_all(&lessons()).unwrap());
        (n_indexed(&engine), answers(&engine))
    });
    let [(_, expected), (indexed, found)] = taught;
    assert!(indexed.iter().all(|&n| n > 0));
    assert!(found == expected);
}
