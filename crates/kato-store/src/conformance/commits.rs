//! Tests of what is visible when, and of what is refused.

use std::ops::ControlFlow;
use std::thread;

use kato_model::{AttributeLimits, LearnBatch, PatternName, VectorName};
use serde_json::{Value, json};

use super::{Fixture, LearnCall, Lessons, commit, content, create, learned, stage, teach};
use crate::contract::{StagedBatch, Totals};
use crate::visit::{SourceSymbols, VisitedPattern};
use crate::{MemoryStore, PatternStore, PatternVisitor, StoreError};

/// Returns lessons of two patterns in one node.
fn two_patterns() -> Lessons {
    Lessons::new(
        1,
        vec![
            LearnCall::text(0, &["a", "b"]),
            LearnCall::text(0, &["c", "d"]),
        ],
    )
}

/// Checks that a new store has its nodes, its configuration and its limits, and nothing else.
pub fn a_new_store_is_empty(fixture: &impl Fixture) {
    let configuration = json!({"chunk_sizes": [5, 7], "ü": null, "float": 0.1, "large": u64::MAX});
    let limits = AttributeLimits {
        metadata_values: Some(std::num::NonZeroUsize::MIN),
        ..AttributeLimits::default()
    };
    let mut store = fixture.create(&["node0", "ñode \"1\""], configuration.clone(), limits);
    for _ in 0..2 {
        assert_eq!(store.nodes(), ["node0", "ñode \"1\""]);
        assert_eq!(store.configuration(), &configuration);
        assert_eq!(store.attribute_limits(), limits);
        assert_eq!(store.checkpoint(), Value::Null);
        for node in content(&store) {
            assert_eq!(
                (node.totals, node.patterns.len(), node.symbol_counts.len()),
                (Totals::default(), 0, 0)
            );
        }
        let name = PatternName::of_events(&[["a"]]);
        assert_eq!(store.pattern(1, &name).expect("a look-up works"), None);
        assert_eq!(store.document(0).expect("a look-up works"), None);
        store = fixture.reopen(store);
    }
    assert!(fixture.create(&[], Value::Null, limits).nodes().is_empty());
}

/// Checks that a staged batch shows only after its commit, and a dropped one never.
pub fn staged_batches_are_invisible(fixture: &impl Fixture) {
    let lessons = two_patterns();
    let store = create(fixture, &["node0"]);
    let count = || store.count_patterns(0).expect("patterns can be counted");
    let staged = stage(&store, lessons.batch(&[0]));
    let dropped = stage(&store, lessons.batch(&[1]));
    assert_eq!(
        (
            count(),
            store.pattern(0, &lessons.name(0)).expect("a look-up works")
        ),
        (0, None)
    );
    drop(dropped);
    commit(&store, vec![staged], Value::Null);
    assert_eq!(count(), 1);
    commit(&store, Vec::new(), Value::Null);
    assert_eq!(count(), 1);
}

/// Checks that a batch that was staged before the store was closed does no harm, whether it is
/// committed or dropped afterwards.
pub fn abandoned_batches_do_no_harm(fixture: &impl Fixture) {
    let lessons = two_patterns();
    let store = create(fixture, &["node0"]);
    commit(
        &store,
        vec![stage(&store, lessons.batch(&[0]))],
        Value::Null,
    );
    let abandoned = stage(&store, lessons.batch(&[1]));
    let store = fixture.reopen(store);
    // A store that is not durable is still the one that staged it.
    let taken = store.commit(vec![abandoned], Value::Null).is_ok();
    assert_eq!(content(&store)[0].patterns.len(), 1 + usize::from(taken));
    let abandoned = stage(&store, lessons.batch(&[1]));
    let store = fixture.reopen(store);
    teach(&store, &lessons);
    // It may not take away what the reopened store wrote since.
    drop(abandoned);
    let pattern = learned(&store, 0, lessons.name(1));
    assert_eq!(pattern.frequency, 1 + u64::from(taken));
    let store = fixture.reopen(store);
    assert_eq!(content(&store)[0].patterns.len(), 2);
}

/// Checks that a commit without batches, or of empty ones, replaces the checkpoint and nothing
/// else.
pub fn an_empty_commit_moves_only_the_checkpoint(fixture: &impl Fixture) {
    let store = create(fixture, &["node0"]);
    teach(&store, &two_patterns());
    let before = content(&store);
    let checkpoint = json!({"samples": 7, "rate": 0.1, "seed": u64::MAX, "text": "\u{0}\"ü\n"});
    commit(&store, Vec::new(), json!("first"));
    let empty = stage(&store, LearnBatch::new(1).seal());
    commit(&store, vec![empty], checkpoint.clone());
    let store = fixture.reopen(store);
    assert_eq!((content(&store), store.checkpoint()), (before, checkpoint));
}

/// Checks that a batch for another number of nodes is refused.
pub fn batches_with_other_nodes_are_refused(fixture: &impl Fixture) {
    let store = create(fixture, &["node0", "node1"]);
    for n_nodes in [0, 1, 3] {
        let refused = store.stage(LearnBatch::new(n_nodes).seal());
        assert!(
            matches!(refused, Err(StoreError::NodeCount { found, expected: 2 }) if found == n_nodes),
            "{refused:?} for {n_nodes} nodes"
        );
    }
}

/// Checks that what another store staged is refused together with all that came along, and that the
/// checkpoint stays.
pub fn batches_of_other_stores_are_refused(fixture: &impl Fixture) {
    struct Unknown;

    let lessons = two_patterns();
    let store = create(fixture, &["node0"]);
    commit(&store, Vec::new(), json!("before"));
    let other = create(fixture, &["node0"]);
    let stage = |store: &dyn PatternStore, idx| stage(store, lessons.batch(&[idx]));
    let memory = MemoryStore::new(&["node0"], Value::Null);
    for foreign in [
        StagedBatch::new(Unknown),
        stage(&memory, 1),
        stage(&other, 1),
    ] {
        let refused = store.commit(vec![stage(&store, 0), foreign], json!("after"));
        assert!(
            matches!(refused, Err(StoreError::ForeignBatch)),
            "{refused:?}"
        );
        assert_eq!(
            (content(&store)[0].patterns.len(), store.checkpoint()),
            (0, json!("before"))
        );
    }
}

/// Checks that look-ups at a node that is not there are refused with an error that lists the nodes.
pub fn unknown_nodes_are_refused(fixture: &impl Fixture) {
    struct Nobody;

    impl PatternVisitor for Nobody {
        fn pattern(&mut self, _: &SourceSymbols<'_>, _: &VisitedPattern<'_>) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }

    let store = create(fixture, &["bottom", "top"]);
    let name = PatternName::of_events(&[["a"]]);
    for node_idx in [2, usize::MAX] {
        let errors = [
            store.totals(node_idx).err(),
            store.count_patterns(node_idx).err(),
            store.pattern(node_idx, &name).err(),
            store.scan(node_idx).err(),
            store.scan_frequencies(node_idx).err(),
            store.visit(node_idx, &mut Nobody).err(),
            store.vectors(node_idx).err(),
            store.symbol_counts(node_idx).err(),
        ];
        for error in errors {
            let known = match error {
                Some(StoreError::UnknownNode { known, .. }) => known,
                _ => Vec::new(),
            };
            assert_eq!(known, ["bottom", "top"]);
        }
    }
}

/// Checks that reopening changes nothing that can be read, and that training goes on where it was.
pub fn what_was_committed_survives_reopening(fixture: &impl Fixture) {
    let lessons = two_patterns();
    let mut store = create(fixture, &["node0"]);
    for round in 1..=10 {
        teach(&store, &lessons);
        commit(&store, Vec::new(), json!({"round": round}));
        let before = content(&store);
        store = fixture.reopen(store);
        assert_eq!(
            (content(&store), store.checkpoint()),
            (before, json!({"round": round}))
        );
    }
    assert_eq!(
        content(&store)[0]
            .patterns
            .iter()
            .map(|pattern| pattern.frequency)
            .collect::<Vec<_>>(),
        [10, 10]
    );
}

/// Checks that a scan gives the store as it was when the scan began, also while commits follow.
pub fn a_scan_sees_the_commits_before_it(fixture: &impl Fixture) {
    let lesson = |idx: u32| {
        let vector = vec![f64::from(idx)];
        LearnCall {
            vectors: vec![(VectorName::of_vector(&vector), vector)],
            ..LearnCall::text(0, &["a", &idx.to_string()])
        }
    };
    // More patterns than a block of the embedded store holds, so that scans have more to read after
    // the commits.
    let lessons = Lessons::new(1, (0..600).map(lesson).collect());
    let store = create(fixture, &["node0"]);
    let commit = |picked: &[usize]| {
        let staged = stage(&store, lessons.batch(picked));
        commit(&store, vec![staged], Value::Null);
    };
    let first: Vec<usize> = (0..300).collect();
    commit(&first);
    let mut patterns = store.scan(0).expect("a node can be scanned");
    let mut frequencies = store.scan_frequencies(0).expect("a node can be scanned");
    let mut symbols = store.symbol_counts(0).expect("a node can be scanned");
    let mut vectors = store.vectors(0).expect("a node can be scanned");
    assert!(patterns.next().is_some() && frequencies.next().is_some());
    assert!(symbols.next().is_some() && vectors.next().is_some());
    for part in (0..600).collect::<Vec<_>>().chunks(100) {
        commit(part);
    }
    assert!(patterns.all(|pattern| pattern.is_ok_and(|pattern| pattern.frequency == 1)));
    assert_eq!(
        (frequencies.count(), symbols.count(), vectors.count()),
        (299, 300, 299)
    );
    assert_eq!(
        store.count_patterns(0).expect("patterns can be counted"),
        600
    );
}

/// Checks that clearing forgets everything durably, as one commit with its checkpoint, and that
/// only what is committed afterwards is there.
pub fn clearing_forgets_everything<F: Fixture>(fixture: &F) {
    let lessons = two_patterns();
    let store = create(fixture, &["node0"]);
    teach(&store, &lessons);
    let mut documents = LearnBatch::new(1);
    documents.record_document(7, "a document");
    commit(&store, vec![stage(&store, documents.seal())], json!(1));
    let before = store.scan(0).expect("a node can be scanned");
    let staged = stage(&store, lessons.batch(&[0]));
    store
        .clear(json!("cleared"))
        .expect("a store can be cleared");
    assert_eq!(before.filter(Result::is_ok).count(), 2);
    let assert_empty = |store: &F::Store| {
        let (found, empty) = (content(store), content(&create(fixture, &["node0"])));
        assert_eq!((found, store.checkpoint()), (empty, json!("cleared")));
        assert_eq!(store.document(7).expect("a look-up works"), None);
    };
    assert_empty(&store);
    commit(&store, vec![staged], json!("staged before"));
    assert_eq!(learned(&store, 0, lessons.name(0)).frequency, 1);
    store
        .clear(json!("cleared"))
        .expect("a store can be cleared");
    let store = fixture.reopen(store);
    assert_empty(&store);
    teach(&store, &lessons);
    let store = fixture.reopen(store);
    assert_eq!(learned(&store, 0, lessons.name(1)).frequency, 1);
}

/// Checks that batches staged by several threads at once make the same commit.
pub fn threads_stage_at_once(fixture: &impl Fixture) {
    let lessons = Lessons::new(
        1,
        (0..64)
            .map(|idx| LearnCall::text(0, &["a", &(idx % 40).to_string()]))
            .collect(),
    );
    let store = create(fixture, &["node0"]);
    let staged = thread::scope(|scope| {
        let stage = |part: usize| {
            let (store, lessons) = (&store, &lessons);
            let picked: Vec<usize> = (part * 16..part * 16 + 16).collect();
            scope.spawn(move || stage(store, lessons.batch(&picked)))
        };
        let threads: Vec<_> = (0..4).map(stage).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("staging does not panic"))
            .collect()
    });
    commit(&store, staged, Value::Null);
    let alone = create(fixture, &["node0"]);
    teach(&alone, &lessons);
    assert_eq!(content(&store), content(&alone));
}
