//! Retired patterns are hidden and refused; purged ones were never learned.

use std::sync::Arc;

use kato_engine::node::{Lesson, PurgeStatus};
use kato_engine::{Engine, EngineError, EngineOptions, Node, Observation, Sequence, SessionConfig};
use kato_model::{EmotiveMap, Event, KatoGeneration, PatternName};
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore};
use serde_json::json;

use crate::support::NODE;

/// Lessons of several symbols, some of them repeated, with what is attached to them.
fn lessons() -> Vec<Lesson> {
    let emotives = |value: f64| EmotiveMap::from([("joy".to_owned(), value)]);
    let texts = ["a b c", "a b d", "b b x", "a b", "c d e"];
    let mut lessons: Vec<Lesson> = texts
        .iter()
        .map(|text| Lesson::new(text.split(' ').map(|symbol| Event::new([symbol]))))
        .collect();
    lessons[0] = lessons[0].clone().with_emotives(emotives(0.5));
    lessons[1] = lessons[1].clone().with_emotives(emotives(-2.0));
    lessons.push(lessons[0].clone());
    lessons.push(lessons[1].clone());
    lessons
}

fn name(lesson: &Lesson) -> PatternName {
    lesson.pattern_name().unwrap()
}

fn teach<'l>(node: &Node, lessons: impl IntoIterator<Item = &'l Lesson>) {
    for lesson in lessons {
        node.teach(lesson).unwrap();
    }
}

/// All that a node answers about what it knows.
fn knowledge(node: &Node) -> serde_json::Value {
    let mut frequencies = node.frequencies().unwrap();
    frequencies.sort();
    let patterns: Vec<_> = frequencies
        .iter()
        .map(|(name, _)| node.pattern(name).unwrap())
        .collect();
    let symbols: Vec<_> = node
        .symbols()
        .unwrap()
        .into_iter()
        .map(|(symbol, counts)| (symbol, counts.frequency, counts.n_patterns))
        .collect();
    let totals = node.totals();
    let numbers = [
        totals.patterns,
        totals.distinct_symbols,
        totals.learns,
        totals.learned_symbols,
    ];
    let states = [vec!["a", "b"], vec!["a"], vec!["b", "x"], vec!["c", "d"]];
    let answers: Vec<_> = states
        .iter()
        .map(|state| {
            let state: Vec<Event> = state.iter().map(|symbol| Event::new([*symbol])).collect();
            let answer = node.predict(&state, &SessionConfig::default()).unwrap();
            json!([answer.predictions, answer.future_potentials])
        })
        .collect();
    json!([
        frequencies,
        patterns,
        symbols,
        numbers,
        node.affinities().unwrap(),
        answers
    ])
}

#[test]
fn what_is_purged_was_never_learned() {
    let lessons = lessons();
    for gone in [&[0][..], &[1, 2], &[3, 4, 0], &[0, 1, 2, 3, 4]] {
        let node = Engine::in_memory(&[NODE]).node(NODE).unwrap();
        teach(&node, &lessons);
        let names: Vec<PatternName> = gone.iter().map(|&idx| name(&lessons[idx])).collect();
        node.retire(&names).unwrap();
        let purged = node.purge(None, 1000).unwrap();
        assert_eq!((purged.purged.len(), purged.remaining), (gone.len(), 0));
        let never = Engine::in_memory(&[NODE]).node(NODE).unwrap();
        teach(
            &never,
            lessons
                .iter()
                .filter(|lesson| !names.contains(&name(lesson))),
        );
        assert_eq!(knowledge(&node), knowledge(&never), "without {gone:?}");
        // Learned anew, it is as if it came last.
        node.unretire(&names).unwrap();
        let again: Vec<&Lesson> = gone.iter().map(|&idx| &lessons[idx]).collect();
        teach(&node, again.iter().copied());
        teach(&never, again.iter().copied());
        assert_eq!(knowledge(&node), knowledge(&never), "again {gone:?}");
    }
}

#[test]
fn retired_patterns_are_counted_and_neither_predicted_nor_learned() {
    let lessons = lessons();
    let node = Engine::in_memory(&[NODE]).node(NODE).unwrap();
    teach(&node, &lessons);
    let before = knowledge(&node);
    let retired = name(&lessons[0]);
    let future = PatternName::of_events(&[["never"], ["learned"]]);
    let outcome = node.retire(&[retired, future, retired]).unwrap();
    assert_eq!(outcome.retired, [retired, future]);
    let again = node.retire(&[future]).unwrap();
    assert_eq!(
        (again.retired.len(), again.already_retired),
        (0, vec![future])
    );
    let hidden = knowledge(&node);
    for part in 0..5 {
        assert_eq!(hidden[part], before[part]);
    }
    assert!(!hidden[5].to_string().contains(&retired.to_string()));
    let refused = node.teach(&lessons[0]);
    assert!(matches!(refused, Err(EngineError::Retired { name, .. }) if name == retired));
    let mut session = node.session(SessionConfig::default());
    for symbol in ["never", "learned"] {
        session.observe(Observation::strings([symbol])).unwrap();
    }
    assert!(matches!(session.learn(), Err(EngineError::Retired { .. })));
    assert_eq!(session.stm().len(), 2);
    let outcome = node
        .unretire(&[retired, name(&lessons[1]), future])
        .unwrap();
    assert_eq!(outcome.un_retired, [retired, future]);
    assert_eq!(outcome.not_retired, [name(&lessons[1])]);
    assert_eq!(knowledge(&node), before);
}

#[test]
fn lessons_that_are_taught_together_are_refused_together() {
    let lessons = lessons();
    let engine = Engine::in_memory(&[NODE]);
    let node = engine.node(NODE).unwrap();
    node.retire(&[name(&lessons[1])]).unwrap();
    let together: Vec<(usize, Lesson)> = lessons.into_iter().map(|lesson| (0, lesson)).collect();
    let refused = engine.teach_together(&together);
    assert!(matches!(refused, Err(EngineError::Retired { .. })));
    assert_eq!(node.totals().learns, 0);
}

#[test]
fn a_purge_tells_what_it_left_alone() {
    let lessons = lessons();
    let node = Engine::in_memory(&[NODE]).node(NODE).unwrap();
    teach(&node, &lessons);
    let names: Vec<PatternName> = (0..4).map(|idx| name(&lessons[idx])).collect();
    assert_eq!(
        node.purge(None, 9).unwrap().status(),
        PurgeStatus::NothingToPurge
    );
    node.retire(&names[..3]).unwrap();
    let one = node
        .purge(Some(&[names[1], names[3], names[1]]), 0)
        .unwrap();
    assert_eq!((&*one.purged, one.remaining), (&names[1..2], 2));
    assert_eq!(
        one.failed.into_iter().collect::<Vec<_>>(),
        [(names[3], "not retired".to_owned())]
    );
    let rest = node.purge(None, 1).unwrap();
    assert_eq!(
        (&*rest.purged, rest.remaining),
        (&[names[0].min(names[2])][..], 1)
    );
    let known = node.purge(Some(&[names[1]]), 0).unwrap();
    assert_eq!(known.status(), PurgeStatus::NothingToPurge);
    assert!(node.teach(&lessons[1]).is_err() && node.is_retired(&names[1]));
    // What was finalized is no more, also where nobody learned what is purged.
    node.finalize_training();
    node.retire(&[PatternName::of_events(&[["unknown"]])])
        .unwrap();
    node.purge(None, 9).unwrap();
    assert!(!node.is_finalized());
}

#[test]
fn in_a_store_tombstones_outlive_the_engine_and_an_export_has_nothing_of_what_was_purged() {
    let mut lessons = lessons();
    // Positions of emotives say when they were learned, and are part of an export.
    for lesson in &mut lessons {
        lesson.emotives.clear();
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kb");
    let open = || Engine::open(Arc::new(EmbeddedStore::open(&path).unwrap())).unwrap();
    let nodes = ["below", NODE];
    EmbeddedStore::create(&path, &nodes, json!({})).unwrap();
    let engine = open();
    let node = engine.node(NODE).unwrap();
    teach(&node, &lessons[..4]);
    engine.commit_with(json!("position")).unwrap();
    let gone = [0, 2].map(|idx| name(&lessons[idx]));
    let unknown = PatternName::of_events(&[["never"], ["learned"]]);
    // Some of their learns are not committed when they are purged.
    teach(&node, &lessons[4..]);
    node.retire(&[gone[0], gone[1], unknown]).unwrap();
    drop((node, engine));

    let engine = open();
    let node = engine.node(NODE).unwrap();
    assert_eq!((node.totals().learns, node.tombstones().len()), (4, 3));
    assert!(matches!(
        node.teach(&lessons[0]),
        Err(EngineError::Retired { .. })
    ));
    teach(&node, [&lessons[4], &lessons[6]]);
    let purged = node.purge(None, 1000).unwrap();
    assert_eq!((purged.purged.len(), purged.remaining), (3, 0));
    assert_eq!(node.totals().uncommitted, 2);
    assert_eq!(engine.store().unwrap().checkpoint(), "position");
    engine.commit().unwrap();
    let found = knowledge(&node);
    drop((node, engine));

    let never_path = dir.path().join("never");
    let store = EmbeddedStore::create(&never_path, &nodes, json!({})).unwrap();
    let engine = Engine::open(Arc::new(store)).unwrap();
    let never = engine.node(NODE).unwrap();
    teach(&never, [1, 3, 4, 6].map(|idx| &lessons[idx]));
    engine.commit().unwrap();
    assert_eq!(found, knowledge(&never));
    drop((never, engine));
    let export = |path| {
        let store = EmbeddedStore::open_read_only(path).unwrap();
        let mut lines = Vec::new();
        let node = KnowledgeBase::new(&store, NODE).unwrap();
        node.export(&mut lines).unwrap();
        lines
    };
    assert_eq!(export(&path), export(&never_path));

    let engine = open();
    let node = engine.node(NODE).unwrap();
    assert_eq!(knowledge(&node), found);
    node.unretire(&gone).unwrap();
    teach(&node, [&lessons[0]]);
    assert_eq!(node.frequency(&gone[0]).unwrap(), 1);
}

#[test]
fn what_a_store_cannot_keep_is_neither_retired_nor_purged() {
    let lessons = lessons();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kb");
    let store = EmbeddedStore::create(&path, &[NODE], json!({})).unwrap();
    let engine = Engine::open(Arc::new(store)).unwrap();
    teach(&engine.node(NODE).unwrap(), &lessons);
    engine.commit().unwrap();
    let names = [name(&lessons[0])];
    engine.node(NODE).unwrap().retire(&names).unwrap();
    drop(engine);
    // A store that was opened for reading refuses every change.
    let store = EmbeddedStore::open_read_only(&path).unwrap();
    let tombstones = store.tombstones(0).unwrap();
    let engine = Engine::open(Arc::new(store)).unwrap();
    let node = engine.node(NODE).unwrap();
    let before = knowledge(&node);
    assert!(matches!(
        node.purge(None, 9),
        Err(EngineError::Store { .. })
    ));
    assert!(matches!(
        node.unretire(&names),
        Err(EngineError::Store { .. })
    ));
    assert_eq!((knowledge(&node), node.tombstones()), (before, tombstones));
}

#[test]
fn a_sequence_whose_last_learn_is_refused_keeps_what_it_observed_in_the_newest_generation() {
    for (generation, is_swallowed) in [(KatoGeneration::V3_10, false), (KatoGeneration::V6, true)] {
        let mut options = EngineOptions::default();
        options.generation = generation;
        let engine = Engine::in_memory_with(&[NODE], options);
        let node = engine.node(NODE).unwrap();
        node.retire(&[PatternName::of_events(&[["a"], ["b"]])])
            .unwrap();
        let sequence = || Sequence::new(["a", "b"].map(|word| Observation::strings([word])));
        let mut session = node.session(SessionConfig::default());
        match session.observe_sequence(sequence().learn_at_end()) {
            Ok(outcome) => {
                assert!(is_swallowed);
                assert_eq!((outcome.final_learned, outcome.final_stm_length), (None, 2));
                assert!(outcome.learned.is_empty());
            }
            Err(error) => {
                assert!(!is_swallowed && matches!(error, EngineError::Retired { .. }));
                assert!(session.stm().is_empty());
            }
        }
        // Learns on the way are never swallowed: the session keeps nothing of the call, and the node what
        // was learned before, as in KATO.
        session.config_mut().max_pattern_length = 2;
        session.clear_stm();
        let words = ["x", "y", "a", "b"].map(|word| Observation::strings([word]));
        let refused = session.observe_sequence(Sequence::new(words));
        assert!(matches!(refused, Err(EngineError::Retired { .. })));
        assert!(session.stm().is_empty() && node.n_patterns() == 1);
    }
}
