//! What a store has of what was learned: all that was committed, after a crash too, and in the
//! order of learning.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

use kato_engine::node::{Lesson, NodeTotals};
use kato_engine::options::{AttributeScope, Limits};
use kato_engine::{Engine, EngineError, EngineOptions, Node, Observation, Session, SessionConfig};
use kato_model::{Event, MetadataValue, Pattern, PatternName, VectorName};
use kato_store::{EmbeddedStore, MemoryStore, PatternStore};
use serde_json::json;

use crate::support::{learn, words};

const NODES: [&str; 2] = ["node0", "node1"];

fn create(dir: &Path) -> Engine {
    Engine::open(Arc::new(
        EmbeddedStore::create(dir, &NODES, json!({})).unwrap(),
    ))
    .unwrap()
}

fn open(dir: &Path) -> Engine {
    Engine::open(Arc::new(EmbeddedStore::open(dir).unwrap())).unwrap()
}

fn session(engine: &Engine, node: &str) -> Session {
    engine.node(node).unwrap().session(SessionConfig::default())
}

/// Learns something of every kind: repeats, events of several symbols, names, emotives, metadata,
/// vectors.
fn teach(engine: &Engine, round: u32) {
    let mut below = session(engine, "node0");
    let name = learn(&mut below, &["a", "b", &format!("only {round}")]);
    learn(&mut below, &["again", "and", "again"]);
    below
        .observe(
            Observation::strings(["z", "y"])
                .with_emotive("joy", f64::from(round))
                .with_metadata("round", MetadataValue::Integer(round.into())),
        )
        .unwrap();
    let mut seen = Observation::vectors(vec![vec![f64::from(round), 0.5]]);
    seen.strings = vec!["seen".to_owned()];
    below.observe(seen).unwrap();
    below.learn().unwrap();
    let mut joyful = session(engine, "node0");
    joyful
        .observe(Observation::default().with_emotive("joy", f64::from(round)))
        .unwrap();
    learn(&mut joyful, &["joy", "again"]);
    learn(
        &mut session(engine, "node1"),
        &[&name, "text beside a name", &name],
    );
}

/// Everything that can be seen of a node.
fn seen(node: &Node) -> String {
    let mut session = node.session(SessionConfig::default());
    let mut text = String::new();
    for state in [
        ["a", "b"],
        ["y", "z"],
        ["again", "and"],
        ["text beside a name", "seen"],
    ] {
        session.clear_stm();
        for observation in words(&state) {
            session.observe(observation).unwrap();
        }
        session
            .observe(Observation::vectors(vec![vec![1.2, 0.5]]))
            .unwrap();
        let answer = session.predict().unwrap();
        for prediction in &answer.predictions {
            let record = node.pattern(&prediction.name).unwrap().unwrap();
            text += &format!("{record:?}\n");
        }
        text += &format!("{answer:?}\n");
    }
    let mut totals = node.totals();
    totals.uncommitted = 0;
    format!(
        "{text}{:?}{:?}{totals:?}",
        node.symbols().unwrap(),
        node.affinities().unwrap()
    )
}

fn all_seen(engine: &Engine) -> Vec<String> {
    engine.nodes().map(|node| seen(&node)).collect()
}

#[test]
fn reopening_after_a_commit_gives_the_engine_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kb");
    let mut engine = create(&path);
    // Over several commits and openings, the window of emotives keeps the order of learning.
    for round in 1..=7 {
        teach(&engine, round);
        let before = all_seen(&engine);
        engine.commit_with(json!({ "round": round })).unwrap();
        assert_eq!(
            engine.store().unwrap().checkpoint(),
            json!({ "round": round })
        );
        assert_eq!(
            all_seen(&engine),
            before,
            "committing changes nothing to see"
        );
        drop(engine);
        engine = open(&path);
        assert_eq!(all_seen(&engine), before, "round {round}");
    }
    let name = PatternName::of_events(&[["joy"], ["again"]]);
    let record = engine.node("node0").unwrap().pattern(&name).unwrap();
    let joys: Vec<f64> = record
        .unwrap()
        .emotives
        .iter()
        .map(|map| map["joy"])
        .collect();
    assert_eq!(joys, [3.0, 4.0, 5.0, 6.0, 7.0]);
}

#[test]
fn a_crash_leaves_the_last_commit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kb");
    let engine = create(&path);
    teach(&engine, 1);
    engine.commit().unwrap();
    let committed = all_seen(&engine);
    teach(&engine, 2);
    assert_ne!(all_seen(&engine), committed);
    assert_eq!(engine.node("node0").unwrap().totals().uncommitted, 4);
    drop(engine);
    assert_eq!(all_seen(&open(&path)), committed);
}

#[test]
fn what_others_trained_into_the_store_is_there_and_is_added_to() {
    let store = Arc::new(MemoryStore::new(&NODES, json!({})));
    let line = br#"{"name":"b98534b32c1d7489d4ce1a48724aa65aeecbdba9","pattern_data":[["a"],["b"],["c"]],"length":3,"frequency":4,"emotives":[{"joy":1.0}]}"#;
    kato_store::KnowledgeBase::new(&*store, "node0")
        .unwrap()
        .import(line.as_slice())
        .unwrap();
    let engine = Engine::open(Arc::clone(&store) as Arc<dyn PatternStore>).unwrap();
    let mut session = session(&engine, "node0");
    let joy = |symbol: &str| Observation::strings([symbol]).with_emotive("joy", 2.0);
    for symbol in ["a", "b", "c"] {
        session.observe(joy(symbol)).unwrap();
    }
    let name = session.learn().unwrap().name().unwrap();
    engine.commit().unwrap();
    for engine in [engine, Engine::open(store).unwrap()] {
        let record = engine
            .node("node0")
            .unwrap()
            .pattern(&name)
            .unwrap()
            .unwrap();
        let joys: Vec<f64> = record.emotives.iter().map(|map| map["joy"]).collect();
        assert_eq!((record.frequency, joys), (5, vec![1.0, 2.0, 2.0, 2.0]));
    }
}

#[test]
fn an_engine_commits_by_itself_when_it_is_told_to() {
    let store = Arc::new(MemoryStore::new(&NODES, json!({})));
    let mut options = EngineOptions::default();
    options.commit_after = NonZeroU64::new(2);
    let engine = Engine::open_with(Arc::clone(&store) as Arc<dyn PatternStore>, options).unwrap();
    let mut session = session(&engine, "node0");
    let mut stored = Vec::new();
    for word in ["a", "b", "c", "d", "e"] {
        learn(&mut session, &["word", word]);
        stored.push(store.count_patterns(0).unwrap());
    }
    assert_eq!(stored, [0, 0, 2, 2, 4]);
}

#[test]
fn a_failed_commit_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kb");
    create(&path).commit().unwrap();
    let engine = Engine::open(Arc::new(EmbeddedStore::open(&path).unwrap())).unwrap();
    // Without the directory of its files the store refuses every commit.
    let (segments, aside) = (path.join("segments"), path.join("aside"));
    std::fs::rename(&segments, &aside).unwrap();
    teach(&engine, 1);
    let before = all_seen(&engine);
    for _ in 0..2 {
        assert!(matches!(engine.commit(), Err(EngineError::Store { .. })));
        assert_eq!(all_seen(&engine), before);
        assert_eq!(engine.node("node0").unwrap().totals().uncommitted, 4);
    }
    std::fs::rename(&aside, &segments).unwrap();
    engine.commit().unwrap();
    assert_eq!(all_seen(&engine), before);
    assert_eq!(engine.node("node0").unwrap().totals().uncommitted, 0);
}

#[test]
fn of_several_nodes_in_a_store_one_is_not_emptied_alone() {
    let engine = Engine::open(Arc::new(MemoryStore::new(&NODES, json!({})))).unwrap();
    teach(&engine, 1);
    let mut session = session(&engine, "node0");
    session.observe(Observation::strings(["a"])).unwrap();
    assert!(matches!(
        session.clear_all(),
        Err(EngineError::NotClearable { .. })
    ));
    assert_eq!(
        (session.stm().len(), session.node().totals().patterns),
        (1, 4)
    );
    engine.clear(json!("cleared")).unwrap();
    let totals = engine.nodes().map(|node| node.totals());
    assert!(totals.eq([NodeTotals::default(), NodeTotals::default()]));
    assert_eq!(engine.store().unwrap().checkpoint(), "cleared");
}

#[test]
fn the_only_node_of_a_store_is_emptied_durably() {
    let store = Arc::new(MemoryStore::new(&["node0"], json!({})));
    let engine = Engine::open(Arc::clone(&store) as _).unwrap();
    let mut session = session(&engine, "node0");
    let observe = |session: &mut Session| {
        session.observe(Observation::strings(["a", "b"])).unwrap();
        session.learn().unwrap();
    };
    observe(&mut session);
    engine.commit_with(json!("kept")).unwrap();
    observe(&mut session);
    session.clear_all().unwrap();
    assert_eq!(session.node().totals(), NodeTotals::default());
    assert_eq!(
        (store.count_patterns(0).unwrap(), store.checkpoint()),
        (0, json!("kept"))
    );
    observe(&mut session);
    engine.commit().unwrap();
    assert_eq!(store.totals(0).unwrap().learns, 1);
}

#[test]
fn a_commit_has_what_was_learned_before_it_began_and_gives_back_what_it_does_not_finish() {
    let store = Arc::new(MemoryStore::new(&["node0"], json!({})));
    let engine = Engine::open(Arc::clone(&store) as _).unwrap();
    let node = engine.node("node0").unwrap();
    let lesson = |word: &str| Lesson::new([Event::new(["x", word])]);
    node.teach(&lesson("a")).unwrap();
    drop(engine.begin_commit());
    assert_eq!(
        (node.totals().uncommitted, store.count_patterns(0).unwrap()),
        (1, 0)
    );
    let pending = engine.begin_commit();
    node.teach(&lesson("b")).unwrap();
    assert!(!pending.is_empty());
    pending.finish(json!(1)).unwrap();
    assert_eq!(
        (node.totals().uncommitted, store.count_patterns(0).unwrap()),
        (1, 1)
    );
    engine.commit_with(json!(2)).unwrap();
    assert!(engine.begin_commit().is_empty());
    assert_eq!(
        (store.count_patterns(0).unwrap(), store.checkpoint()),
        (2, json!(2))
    );
}

#[test]
fn finishing_a_commit_in_memory_loses_nothing() {
    let engine = Engine::in_memory(&["node0"]);
    let node = engine.node("node0").unwrap();
    let mut session = node.session(SessionConfig::default());
    let book = MetadataValue::Text("1".to_owned());
    let observation = Observation::strings(["a", "b"]).with_metadata("book", book);
    session
        .observe(observation.with_emotive("joy", 0.5))
        .unwrap();
    let name = session.learn().unwrap().name().unwrap();
    let before = node.pattern(&name).unwrap();
    engine.begin_commit().finish(json!(1)).unwrap();
    assert_eq!(node.pattern(&name).unwrap(), before);
    assert!(before.unwrap().metadata.values("book").eq(["1"]));
}

#[test]
fn recorded_lessons_make_a_node_the_same_again() {
    for scope in [AttributeScope::Session, AttributeScope::Pattern] {
        let mut options = EngineOptions::default();
        options.attribute_scope = scope;
        let engine = Engine::in_memory_with(&["first", "again"], options);
        let (first, again) = (engine.node("first").unwrap(), engine.node("again").unwrap());
        let config = SessionConfig::builder()
            .with_max_pattern_length(2)
            .build()
            .unwrap();
        let mut session = first.session(config);
        session.record_lessons(true);
        for n in 0..7 {
            let observation = Observation::strings(["a", ["b", "c"][n % 2]])
                .with_emotive("joy", n as f64)
                .with_metadata("n", MetadataValue::Integer(n as i128));
            let vectors = vec![vec![n as f64, 1.0]];
            session
                .observe(Observation {
                    vectors,
                    ..observation
                })
                .unwrap();
        }
        session.learn().unwrap();
        let lessons = session.take_lessons();
        assert_eq!((lessons.len(), session.take_lessons().len()), (4, 0));
        for lesson in &lessons {
            let json = serde_json::to_string(lesson).unwrap();
            let read: Lesson = serde_json::from_str(&json).unwrap();
            assert_eq!(&read, lesson);
            again.teach(&read).unwrap();
            let name = Pattern::new(lesson.events.clone()).name();
            assert_eq!(first.pattern(&name).unwrap(), again.pattern(&name).unwrap());
        }
        assert_eq!(first.totals(), again.totals());
        assert_eq!(
            (first.symbols().unwrap(), first.affinities().unwrap()),
            (again.symbols().unwrap(), again.affinities().unwrap())
        );
        let observe = |node: &Node| {
            let mut session = node.session(SessionConfig::default());
            session
                .observe(Observation::vectors(vec![vec![0.5, 0.5]]))
                .unwrap();
            session.stm().to_vec()
        };
        assert_eq!(observe(&first), observe(&again));
    }
}

#[test]
fn lessons_with_numbers_that_no_store_keeps_are_refused() {
    let node = Engine::in_memory(&["node0"]).node("node0").unwrap();
    let lesson = || Lesson::new([Event::new(["a", "b"])]);
    let odd = lesson().with_emotives([("joy".to_owned(), f64::INFINITY)].into());
    assert!(matches!(
        node.teach(&odd),
        Err(EngineError::EmotiveRange { .. })
    ));
    let mut odd = lesson();
    odd.vectors
        .push((VectorName::of_vector(&[1.0]), vec![f64::NAN]));
    assert!(matches!(
        node.teach(&odd),
        Err(EngineError::VectorNotFinite { vector_idx: 0 })
    ));
    let mut limits = Limits::default();
    limits.symbol_bytes = 0;
    assert!(matches!(
        lesson().check(&limits),
        Err(EngineError::TooLarge { .. })
    ));
    assert_eq!(node.totals(), NodeTotals::default());
}
