//! Sessions of one node share what is learned, at once, and nothing else; the order of learns does
//! not show.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use kato_engine::{Engine, Node, Observation, Sequence, SessionConfig};
use kato_model::{Event, PatternName, PatternRecord};
use kato_prediction::Predictions;
use proptest::prelude::*;
use serde_json::json;

use crate::support::{NODE, alike, learn, words};

#[test]
fn a_session_sees_what_another_learned_and_nothing_of_its_state() {
    let engine = Engine::in_memory(&[NODE]);
    let node = engine.node(NODE).unwrap();
    let [mut alice, mut bob] = [(); 2].map(|()| node.session(SessionConfig::default()));
    bob.observe_sequence(Sequence::new(words(&["a", "b"])))
        .unwrap();
    assert!(bob.predict().unwrap().predictions.is_empty());

    learn(&mut alice, &["a", "b", "c"]);
    let future = &bob.predict().unwrap().predictions[0].future;
    assert_eq!(future[0].symbols(), ["c"]);
    assert_eq!((bob.stm().len(), bob.state().time()), (2, 2));
    assert_eq!((alice.stm().len(), alice.state().time()), (0, 3));
    // Futures of one session's answer do not turn up in another's.
    assert_eq!(alice.predict().unwrap(), Predictions::default());

    alice.clear_all().unwrap();
    assert!(bob.predict().unwrap().predictions.is_empty());
    assert_eq!(bob.stm().len(), 2);
}

#[test]
fn many_states_are_answered_like_one_after_the_other() {
    let engine = Engine::in_memory(&[NODE]);
    let node = engine.node(NODE).unwrap();
    let config = SessionConfig::default();
    let mut session = node.session(config.clone());
    for lesson in [["a", "b", "c"], ["b", "c", "d"], ["c", "d", "a"]] {
        learn(&mut session, &lesson);
    }
    let states = || {
        let pairs =
            ["a", "b", "c", "d"].map(|first| ["a", "b", "c", "d"].map(|next| [first, next]));
        let states = pairs.into_iter().flatten();
        states.map(|state| state.map(|symbol| Event::new([symbol])).to_vec())
    };
    let expected: Vec<_> = states()
        .map(|state| node.predict(&state, &config).unwrap())
        .collect();
    for threads in [1, 2, 5] {
        let threads = NonZeroUsize::new(threads).unwrap();
        let mut answers = Vec::new();
        let ended = node.predict_many(states(), &config, threads, |answer| {
            answers.push(answer.unwrap());
            match answers.len() {
                10 => ControlFlow::Break("enough"),
                _ => ControlFlow::Continue(()),
            }
        });
        assert_eq!(ended, ControlFlow::Break("enough"));
        assert_eq!(answers, expected[..10]);
    }
}

#[test]
fn nodes_of_one_engine_know_nothing_of_each_other() {
    let engine = Engine::in_memory(&["node0", "node1"]);
    let mut session = engine
        .node("node0")
        .unwrap()
        .session(SessionConfig::default());
    learn(&mut session, &["a", "b"]);
    assert_eq!(engine.node("node1").unwrap().totals().patterns, 0);
    let error = engine.node("node2").unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"find node "node2": there is none; the nodes are node0, node1"#
    );
}

#[test]
fn handles_work_from_many_threads() {
    let engine = Engine::in_memory(&[NODE]);
    let node = engine.node(NODE).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let node = node.clone();
            scope.spawn(move || {
                let mut session = node.session(SessionConfig::default());
                for number in 0..200 {
                    let own = format!("{thread}-{number}");
                    learn(&mut session, &["shared", "by", "all"]);
                    learn(&mut session, &["own", &own]);
                    assert!(session.predict().unwrap().predictions.is_empty());
                }
            });
        }
    });
    let totals = node.totals();
    assert_eq!((totals.patterns, totals.learns), (801, 1600));
}

/// Everything that a node knows of the patterns of these texts, but the order of emotives.
fn knowledge(node: &Node, texts: &[Vec<&str>]) -> BTreeMap<PatternName, PatternRecord> {
    let name = |text: &Vec<&str>| {
        PatternName::of_events(&text.iter().map(|word| [word]).collect::<Vec<_>>())
    };
    let record = |name: PatternName| Some((name, node.pattern(&name).unwrap()?));
    texts.iter().map(name).filter_map(record).collect()
}

proptest! {
    // Each session has a list of texts to learn; schedules say whose turn it is.
    #[test]
    fn any_interleaving_of_learns_gives_the_same_node(
        texts in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4), 0..6), 3),
        schedules in prop::array::uniform2(prop::collection::vec(0..3_usize, 0..30)),
    ) {
        let all: Vec<Vec<&str>> = texts.iter().flatten().cloned().collect();
        let [one, two] = schedules.map(|schedule| {
            let engine = Engine::in_memory(&[NODE]);
            let node = engine.node(NODE).unwrap();
            let mut sessions: Vec<_> = (0..3).map(|_| node.session(SessionConfig::default())).collect();
            let mut turns: Vec<_> = texts.iter().map(|texts| texts.iter()).collect();
            // The end of the schedule: everybody finishes.
            let rest = (0..3).flat_map(|who| std::iter::repeat_n(who, 6));
            for who in schedule.into_iter().chain(rest) {
                if let Some(text) = turns[who].next() {
                    learn(&mut sessions[who], text);
                }
            }
            node
        });
        let known = knowledge(&one, &all);
        prop_assert_eq!(&known, &knowledge(&two, &all));
        prop_assert_eq!(one.totals(), two.totals());
        let symbols = one.symbols().unwrap();
        prop_assert_eq!(&symbols, &two.symbols().unwrap());
        for symbol in ["a", "b", "c"] {
            let occurrences = |record: &PatternRecord| {
                let symbols = record.pattern.events().iter().flat_map(|event| event.symbols());
                record.frequency * symbols.filter(|held| *held == symbol).count() as u64
            };
            let counts = symbols.get(symbol).copied().unwrap_or_default();
            prop_assert_eq!(counts.frequency, known.values().map(occurrences).sum::<u64>());
            prop_assert_eq!(counts, one.symbol_counts(symbol).unwrap());
        }
        let stm = [Observation::strings(["a"]), Observation::strings(["b"])];
        let predict = |node: &Node| {
            let mut session = node.session(SessionConfig::default());
            session.observe_sequence(Sequence::new(stm.clone())).unwrap();
            session.predict().unwrap()
        };
        let (one, two) = (predict(&one), predict(&two));
        let names = |answer: &Predictions| answer.predictions.iter().map(|found| found.name).collect::<Vec<_>>();
        prop_assert_eq!(names(&one), names(&two));
        // The last bits of sums may tell the order in which symbols were met.
        for (one, two) in one.predictions.iter().zip(&two.predictions) {
            prop_assert!(alike(&json!(one), &json!(two)));
        }
    }
}
