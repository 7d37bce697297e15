//! Learning while a prediction takes long.

use std::sync::mpsc;
use std::thread;

use kato_engine::node::Lesson;
use kato_engine::{Engine, EngineError, LearnOutcome, SessionConfig};
use kato_model::Event;
use kato_prediction::Cancel;

use crate::support::NODE;

/// A million symbols of two kinds, different for every number.
fn long(number: usize) -> Vec<Event> {
    let event = |idx: usize| {
        let n_first = (idx * 7919 + number * 104_729) % 1024;
        Event::new((0..1024).map(|idx| if idx < n_first { "a" } else { "b" }))
    };
    (0..1024).map(event).collect()
}

fn words(words: &[&str]) -> Vec<Event> {
    words.iter().map(|word| Event::new([*word])).collect()
}

#[test]
fn a_node_learns_answers_and_counts_while_a_prediction_of_it_takes_minutes() {
    let engine = Engine::in_memory(&[NODE]);
    let node = engine.node(NODE).unwrap();
    for number in 0..10 {
        node.teach(&Lesson::new(long(number))).unwrap();
    }
    // It is looked at by the search, which goes on until it is cancelled.
    let (tell, begun) = mpsc::sync_channel(1);
    let cancel = Cancel::when(move || {
        tell.try_send(()).ok();
        false
    });
    let config = SessionConfig::default();
    let state = long(100);
    thread::scope(|scope| {
        let predicting = scope.spawn(|| node.predict_unless(&state, &config, &cancel));
        begun.recv().unwrap();
        for round in 0..3 {
            let outcome = node.teach(&Lesson::new(words(&["x", "y", "z"]))).unwrap();
            assert_eq!(matches!(outcome, LearnOutcome::New(_)), round == 0);
            assert_eq!(node.totals().learns, 11 + round);
            let answer = node.predict(&words(&["x", "y"]), &config).unwrap();
            assert_eq!(answer.predictions[0].frequency, 1 + round);
        }
        assert!(!predicting.is_finished());
        cancel.cancel();
        let ended = predicting.join().unwrap();
        assert!(matches!(ended, Err(EngineError::Cancelled(_))), "{ended:?}");
    });
    assert_eq!(node.totals().patterns, 11);
}
