//! From patterns down to text.

use kato_engine::{Engine, Observation, Sequence, SessionConfig};
use kato_hierarchy::unravel::{EventReading, Leaf};
use kato_hierarchy::{ActivationOptions, Hierarchy, HierarchyError};
use kato_learner::{HierarchicalNode, LearnerConfig};
use kato_model::PatternName;
use kato_tokenizer::Whitespace;

use crate::support::{DOCUMENTS, letters};

/// Levels in memory that are taught by hand.
fn by_hand(n_levels: usize, lessons: &[(usize, &[&[&str]])]) -> (Hierarchy, Vec<String>) {
    let nodes: Vec<_> = (0..n_levels)
        .map(|level| HierarchicalNode::new(format!("node{level}"), 2))
        .collect();
    let names: Vec<&str> = nodes.iter().map(|node| &*node.name).collect();
    let engine = Engine::in_memory(&names);
    let mut learned: Vec<String> = Vec::new();
    for (level, events) in lessons {
        let mut session = engine
            .node(names[*level])
            .unwrap()
            .session(SessionConfig::default());
        // `$0` is the name of the first lesson.
        let symbol = |symbol: &&str| match symbol.strip_prefix('$') {
            Some(idx) => learned[idx.parse::<usize>().unwrap()].clone(),
            None => (*symbol).to_owned(),
        };
        let events = events
            .iter()
            .map(|event| Observation::strings(event.iter().map(symbol)));
        session.observe_sequence(Sequence::new(events)).unwrap();
        learned.push(session.learn().unwrap().to_string());
    }
    let hierarchy = Hierarchy::new(
        engine,
        Whitespace::from_texts([""]),
        LearnerConfig::new(nodes),
    );
    (hierarchy.unwrap(), learned)
}

fn name(symbol: &str) -> PatternName {
    PatternName::from_symbol(symbol).unwrap()
}

#[test]
fn every_pattern_of_every_level_is_the_text_it_was_learned_from() {
    let hierarchy = letters();
    for document in DOCUMENTS {
        let activation = hierarchy
            .activate(document, &ActivationOptions::default())
            .unwrap();
        let top = &activation.levels[2].ranked()[0];
        assert_eq!(hierarchy.unravel(2, &top.name).unwrap().text, document);
        let middle = hierarchy.unravel_events(2, &top.sequence[1..3]).unwrap();
        let words: Vec<&str> = document.split(' ').collect();
        assert!(middle.tokens().eq(words[6..18].iter().copied()));
    }
}

#[test]
fn a_future_of_level_1_never_shows_names() {
    let hierarchy = letters();
    let activation = hierarchy
        .activate("a b c", &ActivationOptions::default())
        .unwrap();
    let predictions = activation.levels[1].ranked();
    assert!(!predictions.is_empty());
    for prediction in predictions {
        let future = hierarchy.unravel_events(1, &prediction.future).unwrap();
        assert!(!future.text.contains("PTRN"), "{}", future.text);
        assert_eq!(future.unknown().count(), 0);
    }
}

#[test]
fn an_unknown_child_is_reported_at_its_place() {
    let gone = PatternName::of_events(&[["gone"], ["too"]]);
    let symbol = gone.prefixed().to_string();
    let (hierarchy, names) = by_hand(
        2,
        &[(0, &[&["x"], &["y"]]), (1, &[&["$0"], &[&symbol], &["$0"]])],
    );
    let unravelled = hierarchy.unravel(1, &name(&names[1])).unwrap();
    let token = |token: &str| Leaf::Token(token.to_owned());
    assert_eq!(
        unravelled.leaves,
        [
            token("x"),
            token("y"),
            Leaf::Unknown(gone),
            token("x"),
            token("y")
        ]
    );
    assert_eq!(unravelled.text, format!("x y<{gone:.8}?>x y"));
    assert!(unravelled.unknown().eq([gone]));
}

#[test]
fn a_name_that_went_up_unchanged_and_text_above_level_0_are_found() {
    let (hierarchy, names) = by_hand(
        3,
        &[
            (0, &[&["x"], &["y"]]),
            (1, &[&["$0"], &["text"]]),
            (2, &[&["$1"], &["$0"]]),
        ],
    );
    let text = hierarchy.unravel(2, &name(&names[2])).unwrap().text;
    assert_eq!(text, "x y text x y");
}

#[test]
fn events_of_several_symbols_are_read_whole_or_by_their_first() {
    let (hierarchy, names) = by_hand(1, &[(0, &[&["b", "a"], &["c"]])]);
    let pattern = name(&names[0]);
    assert_eq!(hierarchy.unravel(0, &pattern).unwrap().text, "a b c");
    let mut unraveller = hierarchy.unraveller().with_reading(EventReading::First);
    assert_eq!(unraveller.pattern(0, &pattern).unwrap().text, "a c");
}

#[test]
fn repetition_and_self_reference_end() {
    // 3²⁰ leaves.
    let lessons: Vec<(usize, Vec<String>)> = (0..20)
        .map(|level| {
            let child = match level {
                0 => "x".to_owned(),
                _ => format!("${}", level - 1),
            };
            (level, vec![child; 3])
        })
        .collect();
    let lessons: Vec<(usize, Vec<[&str; 1]>)> = lessons
        .iter()
        .map(|(level, symbols)| (*level, symbols.iter().map(|symbol| [&**symbol]).collect()))
        .collect();
    let lessons: Vec<(usize, Vec<&[&str]>)> = lessons
        .iter()
        .map(|(level, events)| (*level, events.iter().map(|event| &event[..]).collect()))
        .collect();
    let lessons: Vec<(usize, &[&[&str]])> = lessons
        .iter()
        .map(|(level, events)| (*level, &events[..]))
        .collect();
    let (hierarchy, names) = by_hand(20, &lessons);
    let top = name(&names[19]);
    let unravelled = hierarchy
        .unraveller()
        .with_max_leaves(1000)
        .pattern(19, &top)
        .unwrap();
    assert!(unravelled.is_truncated);
    assert_eq!(unravelled.leaves.len(), 1000);

    // A name on the lowest level has nothing below it: it is a token like any other.
    let (hierarchy, names) = by_hand(1, &[(0, &[&["x"], &["y"]]), (0, &[&["$0"], &["$0"]])]);
    let unravelled = hierarchy.unravel(0, &name(&names[1])).unwrap();
    assert_eq!(unravelled.leaves.len(), 2);
}

#[test]
fn what_is_not_there_is_an_error() {
    let hierarchy = letters();
    let unknown = PatternName::of_events(&[["?"]]);
    let error = hierarchy.unravel(1, &unknown).unwrap_err();
    assert!(matches!(error, HierarchyError::UnknownPattern { node, .. } if node == "node1"));
    let error = hierarchy.unravel(3, &unknown).unwrap_err();
    assert_eq!(
        error.to_string(),
        "3 is no `level`: there are 3, counted from 0"
    );
}
