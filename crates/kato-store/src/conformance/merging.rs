//! Tests that batches may be grouped and ordered in any way.

use kato_model::emotives::EmotiveWindow;
use kato_model::{Attributes, EmotiveMap, FirstSeen, Metadata, VectorName};
use serde_json::{Value, json};

use super::{
    CallSymbol, Fixture, LearnCall, Lessons, assert_same_content, commit, create, learned, stage,
};
use crate::{MemoryStore, PatternStore};

/// Checks that lessons taught in commits of batches leave what a [`MemoryStore`] holds that was
/// taught all in one batch.
///
/// `commits[c][b]` are the lessons of batch `b` of commit `c`; every lesson is to be in one batch.
/// The store is read after every commit, beside reopening at the end.
pub fn teaches_the_same(fixture: &impl Fixture, lessons: &Lessons, commits: &[Vec<Vec<usize>>]) {
    let nodes: Vec<String> = (0..lessons.n_nodes())
        .map(|node_idx| format!("node{node_idx}"))
        .collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let store = fixture.create(&nodes, Value::Null, lessons.limits());
    let n_samples = lessons.len() as u64;
    let mut taught = Vec::new();
    for (number, batches) in commits.iter().enumerate() {
        let staged = batches
            .iter()
            .map(|picked| stage(&store, lessons.batch(picked)))
            .collect();
        commit(&store, staged, json!(number));
        taught.extend(batches.iter().flatten().copied());
        assert_same_content(
            &store,
            &taught_in_one_batch(&nodes, lessons, &taught),
            n_samples,
        );
    }
    let store = fixture.reopen(store);
    assert_same_content(
        &store,
        &taught_in_one_batch(&nodes, lessons, &taught),
        n_samples,
    );
}

/// Returns a store that was taught lessons in one batch.
fn taught_in_one_batch(nodes: &[&str], lessons: &Lessons, taught: &[usize]) -> MemoryStore {
    let store = MemoryStore::with_limits(nodes, Value::Null, lessons.limits());
    let staged = stage(&store, lessons.batch(taught));
    commit(&store, vec![staged], Value::Null);
    store
}

/// Checks that a pattern learned in several batches and commits has the sum of its frequencies.
pub fn repeated_patterns_add_up(fixture: &impl Fixture) {
    let store = create(fixture, &["node0"]);
    let lessons = Lessons::new(1, vec![LearnCall::text(0, &["a", "b"]); 6]);
    for batches in [vec![vec![0, 1], vec![2]], vec![vec![3]], vec![vec![4, 5]]] {
        let staged = batches
            .iter()
            .map(|picked| stage(&store, lessons.batch(picked)))
            .collect();
        commit(&store, staged, Value::Null);
    }
    let pattern = learned(&store, 0, lessons.name(0));
    assert_eq!(pattern.frequency, 6);
    assert_eq!(store.count_patterns(0).expect("patterns can be counted"), 1);
    let totals = store.totals(0).expect("totals can be read");
    assert_eq!(
        (totals.learns, totals.learned_symbols, totals.member_symbols),
        (6, 12, 12)
    );
}

/// Checks that grouping and order of batches leave no trace.
///
/// One batch, a batch for each lesson, a commit for each lesson, backwards, odd before even: all
/// give the same knowledge bases.
pub fn order_and_grouping_do_not_show(fixture: &impl Fixture) {
    let lessons = varied();
    let all: Vec<usize> = (0..lessons.len()).collect();
    let backwards: Vec<usize> = all.iter().copied().rev().collect();
    let (even, odd): (Vec<usize>, Vec<usize>) = all.iter().partition(|&idx| idx % 2 == 0);
    let each =
        |order: &[usize]| -> Vec<Vec<usize>> { order.iter().map(|&idx| vec![idx]).collect() };
    teaches_the_same(fixture, &lessons, &[vec![all.clone()]]);
    teaches_the_same(fixture, &lessons, &[each(&all)]);
    teaches_the_same(fixture, &lessons, &[each(&backwards)]);
    teaches_the_same(
        fixture,
        &lessons,
        &each(&all)
            .into_iter()
            .map(|one| vec![one])
            .collect::<Vec<_>>(),
    );
    teaches_the_same(
        fixture,
        &lessons,
        &each(&backwards)
            .into_iter()
            .map(|one| vec![one])
            .collect::<Vec<_>>(),
    );
    teaches_the_same(fixture, &lessons, &[vec![odd.clone()], vec![even.clone()]]);
    teaches_the_same(fixture, &lessons, &[vec![even, vec![], odd]]);
}

/// Returns some of everything: three nodes, repeats, names of the node below, of other nodes and of
/// nothing, attributes.
fn varied() -> Lessons {
    let text = |text: &str| CallSymbol::Text(text.to_owned());
    let mut lessons = Vec::new();
    for round in 0..3_u64 {
        let first = lessons.len();
        let metadata = |value: String| {
            let mut metadata = Metadata::default();
            metadata.insert_text("book", value, None);
            Attributes {
                metadata,
                ..Attributes::default()
            }
        };
        lessons.push(
            LearnCall::text(0, &["a", "b", "c"]).with_attributes(metadata(round.to_string())),
        );
        lessons.push(LearnCall::text(0, &["x", "x", &round.to_string()]));
        lessons.push(LearnCall::with_events(
            0,
            vec![vec![text("a"), text("b")], vec![], vec![text("")]],
        ));
        let mut emotives = EmotiveWindow::default();
        let map = EmotiveMap::from([("joy".to_owned(), 0.1 + round as f64)]);
        emotives.learn((round, 0), map, kato_model::emotives::DEFAULT_PERSISTENCE);
        let attributes = Attributes {
            emotives,
            extra_frequency: round,
            affinity: EmotiveMap::from([("joy".to_owned(), 0.25 - round as f64)]),
            ..Attributes::default()
        };
        lessons.push(
            LearnCall::new(
                1,
                [
                    CallSymbol::Learned(first),
                    CallSymbol::Learned(first + 1),
                    CallSymbol::Learned(first),
                ],
            )
            .with_attributes(attributes),
        );
        lessons.push(LearnCall::new(
            1,
            [
                CallSymbol::Learned(0),
                text("PTRN|x"),
                text(&format!("PTRN|{}", "0".repeat(40))),
            ],
        ));
        let mut top = LearnCall::new(
            2,
            [
                CallSymbol::Learned(first + 3),
                CallSymbol::Learned(first + 1),
                text("a"),
            ],
        );
        let vector = [round as f64, 1.0];
        top.vectors = vec![
            (VectorName::of_vector(&vector), vector.to_vec()),
            (VectorName::of_vector(&[]), vector.to_vec()),
        ];
        lessons.push(top);
    }
    for (seen, lesson) in (0..).zip(&mut lessons) {
        lesson.seen = FirstSeen {
            document_idx: 100 - seen,
            token_idx: seen,
        };
    }
    Lessons::new(3, lessons).with_provenance()
}
