//! Tests of what forgetting patterns removes, and of what it leaves.

use kato_model::{PatternName, Symbol, VectorName};
use serde_json::{Value, json};

use super::{
    CallSymbol, Fixture, LearnCall, Lessons, assert_same_content, commit, content, create, learned,
    stage, teach,
};
use crate::{MemoryStore, PatternStore, StoreError};

const NODES: [&str; 3] = ["node0", "node1", "node2"];

/// Returns six patterns of text, three of two of these each, and one of the three.
///
/// Each comes with a vector and a document. Lessons 0 and 6 are there twice.
fn three_levels() -> Lessons {
    let mut lessons: Vec<LearnCall> = (0..6)
        .map(|idx| LearnCall::text(0, &["shared", &idx.to_string()]))
        .collect();
    let parent =
        |idx: usize| LearnCall::new(1, [CallSymbol::Learned(idx), CallSymbol::Learned(idx + 1)]);
    lessons.extend([0, 2, 4].map(parent));
    lessons.push(LearnCall::new(2, [6, 7, 8].map(CallSymbol::Learned)));
    for (idx, lesson) in lessons.iter_mut().enumerate() {
        let vector = vec![idx as f64];
        lesson.vectors = vec![(VectorName::of_vector(&vector), vector)];
    }
    lessons.extend([lessons[0].clone(), lessons[6].clone()]);
    Lessons::new(3, lessons)
}

/// Returns the names of some lessons, a list for each node.
fn names(lessons: &Lessons, node_of: impl Fn(usize) -> usize, picked: &[usize]) -> NamesByNode {
    let mut names_to_forget = vec![Vec::new(); lessons.n_nodes()];
    for &idx in picked {
        names_to_forget[node_of(idx)].push(lessons.name(idx));
    }
    names_to_forget
}

/// The names to forget, a list for each node.
type NamesByNode = Vec<Vec<PatternName>>;

/// Returns the names of some lessons at the nodes that learned them.
fn names_to_forget(lessons: &Lessons, picked: &[usize]) -> NamesByNode {
    names(lessons, |idx| lessons.node_of(idx), picked)
}

/// Forgets names, which has to succeed.
fn forget(store: &dyn PatternStore, names_to_forget: &[Vec<PatternName>], checkpoint: Value) {
    store
        .forget(names_to_forget, checkpoint)
        .expect("a store can forget patterns");
}

/// Checks that patterns, totals and symbol counts afterwards are those of a store that never
/// learned what was forgotten; vectors and documents stay.
pub fn forgotten_patterns_take_their_counts_along(fixture: &impl Fixture) {
    let lessons = three_levels();
    // From one segment, and from several that share names.
    let groupings = [vec![(0..lessons.len()).collect::<Vec<_>>()], {
        vec![vec![0, 1, 6, 2, 3], vec![10, 11, 4, 5, 7], vec![8, 9]]
    }];
    // A part of a node, all of the lowest, all of a middle one, everything.
    let picks: [&[usize]; 5] = [&[1], &[0, 6, 9], &[0, 1, 2, 3, 4, 5], &[6, 7, 8], &[]];
    for (grouping, picked) in groupings.iter().flat_map(|g| picks.map(|p| (g, p))) {
        let store = create(fixture, &NODES);
        for part in grouping {
            commit(&store, vec![stage(&store, lessons.batch(part))], json!(1));
        }
        forget(&store, &names_to_forget(&lessons, picked), json!(2));
        let gone: Vec<PatternName> = picked.iter().map(|&idx| lessons.name(idx)).collect();
        let rest: Vec<usize> = (0..lessons.len())
            .filter(|&idx| !gone.contains(&lessons.name(idx)))
            .collect();
        let never_learned = create(fixture, &NODES);
        commit(
            &never_learned,
            vec![stage(&never_learned, lessons.batch(&rest))],
            json!(2),
        );
        let all = create(fixture, &NODES);
        teach(&all, &lessons);
        let expected = content(&never_learned).into_iter().zip(content(&all));
        for (found, (expected, before)) in content(&store).into_iter().zip(expected) {
            assert_eq!(found.patterns, expected.patterns, "without {picked:?}");
            assert_eq!(found.totals, expected.totals, "without {picked:?}");
            assert_eq!(found.symbol_counts, expected.symbol_counts, "{picked:?}");
            assert_eq!(found.vectors, before.vectors, "vectors stay");
        }
        for document_idx in 0..lessons.len() as u64 {
            let found = store.document(document_idx).expect("a look-up works");
            assert_eq!(found, Some(format!("document {document_idx}")));
        }
    }
}

/// Checks that a pattern above keeps its content, name and counts, whether its children are there
/// or not.
pub fn names_of_the_forgotten_stay_as_references(fixture: &impl Fixture) {
    let lessons = three_levels();
    let store = create(fixture, &NODES);
    teach(&store, &lessons);
    let before = learned(&store, 1, lessons.name(6));
    forget(&store, &names_to_forget(&lessons, &[0, 8]), Value::Null);
    let store = fixture.reopen(store);
    let parent = learned(&store, 1, lessons.name(6));
    assert_eq!(parent, before);
    assert_eq!(parent.symbols[0], Symbol::Name(lessons.name(0)));
    let look_up = |node_idx, idx| store.pattern(node_idx, &lessons.name(idx));
    assert_eq!(look_up(0, 0).expect("a look-up works"), None);
    assert_eq!(look_up(1, 8).expect("a look-up works"), None);
    let counted = content(&store)[1].symbol_counts.clone();
    let counts = counted
        .iter()
        .find(|(symbol, _)| *symbol == Symbol::Name(lessons.name(0)));
    assert_eq!(counts.map(|(_, counts)| counts.frequency), Some(2));
}

/// Checks that reopening finds what was left, with the checkpoint of the forgetting, and that
/// training goes on.
pub fn forgetting_is_durable_and_one_commit(fixture: &impl Fixture) {
    let lessons = three_levels();
    let store = create(fixture, &NODES);
    teach(&store, &lessons);
    let checkpoint = json!({"samples": 7, "large": u64::MAX});
    forget(
        &store,
        &names_to_forget(&lessons, &[0, 7]),
        checkpoint.clone(),
    );
    assert_eq!(store.checkpoint(), checkpoint);
    let before = content(&store);
    let store = fixture.reopen(store);
    assert_eq!((content(&store), store.checkpoint()), (before, checkpoint));
    commit(&store, vec![stage(&store, lessons.batch(&[2]))], json!(8));
    let store = fixture.reopen(store);
    assert_eq!(store.checkpoint(), json!(8));
    assert_eq!(learned(&store, 0, lessons.name(2)).frequency, 2);
}

/// Checks that lists for another number of nodes are refused, and that the checkpoint stays.
pub fn forgetting_for_other_nodes_changes_nothing(fixture: &impl Fixture) {
    let lessons = three_levels();
    let store = create(fixture, &NODES);
    teach(&store, &lessons);
    commit(&store, Vec::new(), json!("before"));
    let before = content(&store);
    for n_nodes in [0, 1, 2, 4] {
        let refused = store.forget(&vec![vec![lessons.name(0)]; n_nodes], json!("after"));
        assert!(
            matches!(refused, Err(StoreError::NodeCount { found, expected: 3 }) if found == n_nodes),
            "{refused:?} for {n_nodes} nodes"
        );
    }
    assert_eq!(
        (&content(&store), store.checkpoint()),
        (&before, json!("before"))
    );
    let store = fixture.reopen(store);
    assert_eq!(
        (content(&store), store.checkpoint()),
        (before, json!("before"))
    );
}

/// Checks that names may come in any order, more than once, at the wrong node, or be those of no
/// pattern.
///
/// No names at all only move the checkpoint.
pub fn unknown_names_are_passed_over(fixture: &impl Fixture) {
    let lessons = three_levels();
    let store = create(fixture, &NODES);
    teach(&store, &lessons);
    let before = content(&store);
    let unknown = PatternName::of_events(&[["never learned"]]);
    let edges = [[0; PatternName::BYTES], [0xff; PatternName::BYTES]].map(PatternName::from_bytes);
    let nothing = vec![
        vec![unknown, lessons.name(6), edges[1]],
        edges.into(),
        Vec::new(),
    ];
    forget(&store, &nothing, json!(1));
    assert_eq!((&content(&store), store.checkpoint()), (&before, json!(1)));
    let mut lists = names_to_forget(&lessons, &[5, 0, 3, 0, 5]);
    lists[0].splice(1..1, [edges[1], unknown, edges[0]]);
    forget(&store, &lists, json!(2));
    let left = content(&store)[0].patterns.len();
    assert_eq!((left, store.checkpoint()), (3, json!(2)));
    let once = content(&store);
    forget(&store, &lists, json!(3));
    assert_eq!((content(&store), store.checkpoint()), (once, json!(3)));
    let empty = create(fixture, &NODES);
    forget(&empty, &lists, json!(4));
    assert_eq!(content(&empty), content(&create(fixture, &NODES)));
}

/// Checks that what is learned again counts from one.
pub fn a_forgotten_pattern_begins_anew(fixture: &impl Fixture) {
    let lessons = three_levels();
    let store = create(fixture, &NODES);
    teach(&store, &lessons);
    let before = content(&store);
    let all: Vec<usize> = (0..lessons.len()).collect();
    forget(&store, &names_to_forget(&lessons, &all), Value::Null);
    assert_eq!(content(&store)[0].patterns, []);
    teach(&store, &lessons);
    assert_eq!(content(&fixture.reopen(store)), before);
}

/// Checks that a batch that was staged before counts with all that it holds.
pub fn batches_staged_before_forgetting_still_count(fixture: &impl Fixture) {
    let lessons = three_levels();
    let store = create(fixture, &NODES);
    teach(&store, &lessons);
    let staged = stage(&store, lessons.batch(&[0, 1, 6]));
    forget(&store, &names_to_forget(&lessons, &[0, 1, 6]), json!(1));
    commit(&store, vec![staged], json!(2));
    let store = fixture.reopen(store);
    for (node_idx, idx) in [(0, 0), (0, 1), (1, 6)] {
        let frequency = learned(&store, node_idx, lessons.name(idx)).frequency;
        assert_eq!(frequency, 1, "lesson {idx}");
    }
    assert_eq!(store.checkpoint(), json!(2));
}

/// Checks that scans that began before see what was there when they began.
pub fn a_scan_goes_on_over_what_is_forgotten(fixture: &impl Fixture) {
    let lessons: Vec<LearnCall> = (0..600)
        .map(|idx: u32| LearnCall::text(0, &["a", &idx.to_string()]))
        .collect();
    let lessons = Lessons::new(1, lessons);
    let store = create(fixture, &["node0"]);
    teach(&store, &lessons);
    let mut patterns = store.scan(0).expect("a node can be scanned");
    let mut frequencies = store.scan_frequencies(0).expect("a node can be scanned");
    assert!(patterns.next().is_some() && frequencies.next().is_some());
    let even: Vec<usize> = (0..600).step_by(2).collect();
    forget(&store, &names(&lessons, |_| 0, &even), Value::Null);
    // Two commits more, so that not even the previous generation names the old files.
    commit(&store, Vec::new(), Value::Null);
    commit(&store, Vec::new(), Value::Null);
    assert_eq!(patterns.filter(Result::is_ok).count(), 599);
    assert_eq!(frequencies.filter(Result::is_ok).count(), 599);
    assert_eq!(content(&store)[0].patterns.len(), 300);
}

/// Checks that a store holds what a [`MemoryStore`] does, after lessons were taught in these groups
/// and others forgotten after each.
///
/// `rounds` are the lessons of each group and those whose names are forgotten after it. For random
/// input.
pub fn forgets_the_same(
    fixture: &impl Fixture,
    lessons: &Lessons,
    node_of: impl Fn(usize) -> usize,
    rounds: &[(Vec<usize>, Vec<usize>)],
) {
    let nodes: Vec<String> = (0..lessons.n_nodes())
        .map(|idx| format!("node{idx}"))
        .collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let mut store = fixture.create(&nodes, Value::Null, lessons.limits());
    let plain = MemoryStore::with_limits(&nodes, Value::Null, lessons.limits());
    for (round, (group, picked)) in rounds.iter().enumerate() {
        let names_to_forget = names(lessons, &node_of, picked);
        for store in [&store as &dyn PatternStore, &plain] {
            let staged = stage(store, lessons.batch(group));
            commit(store, vec![staged], json!(round));
            forget(store, &names_to_forget, json!([round, "forgotten"]));
        }
        assert_same_content(&store, &plain, lessons.len() as u64);
        store = fixture.reopen(store);
    }
    assert_same_content(&store, &plain, lessons.len() as u64);
    assert_eq!(store.checkpoint(), plain.checkpoint());
}
