//! Tests of tombstones, which a store keeps or refuses.

use kato_model::PatternName;
use serde_json::{Value, json};

use super::{Fixture, LearnCall, Lessons, commit, content, create, stage, teach};
use crate::{
    ExchangeError, KnowledgeBase, MemoryStore, PatternStore, StoreError, Tombstone, Tombstones,
};

const NODES: [&str; 2] = ["node0", "node1"];

fn kept(store: &dyn PatternStore) -> Vec<Tombstones> {
    Tombstones::of_store(store).expect("tombstones can be read")
}

/// Checks that an import ends at the first line that comes with a tombstone.
fn refuses_what_is_retired(store: &dyn PatternStore, lessons: &Lessons) {
    let donor = MemoryStore::new(&NODES, Value::Null);
    let staged = donor
        .stage(lessons.batch(&[0, 1]))
        .expect("a batch can be staged");
    let mut tombstones = vec![Tombstones::default(); 2];
    tombstones[0].retire(lessons.name(1));
    donor
        .commit(vec![staged], Value::Null)
        .and_then(|()| donor.bury(tombstones, &[Vec::new(), Vec::new()], Value::Null))
        .expect("a store in memory keeps tombstones");
    let mut lines = Vec::new();
    let exported = KnowledgeBase::new(&donor, NODES[0]).map(|node| node.export(&mut lines));
    assert!(matches!(exported, Ok(Ok(2))), "{exported:?}");
    let imported = KnowledgeBase::new(store, NODES[0]).map(|node| node.import(&lines[..]));
    assert!(
        matches!(&imported, Ok(Err(ExchangeError::NoTombstones { name, .. })) if *name == lessons.name(1)),
        "{imported:?}"
    );
}

/// Checks that tombstones and what is forgotten with them are one commit, that later commits keep them and
/// clearing does not; or that the store refuses them and stays as it is.
pub fn tombstones_belong_to_a_commit(fixture: &impl Fixture) {
    let lessons: Vec<LearnCall> = (0..4)
        .map(|idx| LearnCall::text(0, &["shared", &idx.to_string()]))
        .collect();
    let lessons = Lessons::new(2, lessons);
    let store = create(fixture, &NODES);
    teach(&store, &lessons);
    commit(&store, Vec::new(), json!(1));
    let before = content(&store);
    let nothing = vec![Tombstones::default(); 2];
    assert_eq!(kept(&store), nothing);
    let (gone, hidden) = (lessons.name(0), lessons.name(1));
    let unknown = PatternName::of_events(&[["never learned"]]);
    let mut tombstones = nothing.clone();
    for name in [hidden, unknown] {
        assert!(tombstones[0].retire(name));
    }
    let no_names = vec![Vec::new(); 2];
    match store.bury(tombstones.clone(), &no_names, json!(2)) {
        Err(StoreError::NoTombstones) => {
            assert!(!store.keeps_tombstones());
            refuses_what_is_retired(&store, &lessons);
            assert_eq!((content(&store), store.checkpoint()), (before, json!(1)));
            assert_eq!(kept(&store), nothing);
            return;
        }
        buried => buried.expect("a store keeps tombstones, or says that it cannot"),
    }
    // Alone they change nothing of what is stored.
    assert_eq!((&content(&store), store.checkpoint()), (&before, json!(2)));
    let store = fixture.reopen(store);
    assert_eq!(
        (kept(&store), &content(&store)),
        (tombstones.clone(), &before)
    );
    // With names to forget, both or none.
    tombstones[0].purge(gone);
    let short = store.bury(tombstones[..1].to_vec(), &no_names, json!(3));
    assert!(
        matches!(short, Err(StoreError::NodeCount { found: 1, .. })),
        "{short:?}"
    );
    let names = vec![vec![gone], Vec::new()];
    store
        .bury(tombstones.clone(), &names, json!(4))
        .expect("what is retired can be purged");
    let store = fixture.reopen(store);
    let never = create(fixture, &NODES);
    commit(
        &never,
        vec![stage(&never, lessons.batch(&[1, 2, 3]))],
        Value::Null,
    );
    let (found, expected) = (content(&store), content(&never));
    assert_eq!(found[0].patterns, expected[0].patterns);
    assert_eq!(found[0].symbol_counts, expected[0].symbol_counts);
    assert_eq!(found[0].totals, expected[0].totals);
    // They outlive commits, and what is forgotten beside them.
    commit(&store, vec![stage(&store, lessons.batch(&[2]))], json!(5));
    store
        .forget(&[vec![lessons.name(3)], Vec::new()], json!(6))
        .expect("patterns can be forgotten");
    let store = fixture.reopen(store);
    assert_eq!(kept(&store), tombstones);
    // An export has nothing of what is gone, and what is hidden stays so where it is imported, once and again.
    let copy = create(fixture, &NODES);
    let export = |store: &dyn PatternStore| {
        let mut lines = Vec::new();
        let node = KnowledgeBase::new(store, NODES[0]).expect("the node is there");
        node.export(&mut lines).expect("patterns can be exported");
        lines
    };
    let lines = export(&store);
    for times in 1..3 {
        let node = KnowledgeBase::new(&copy, NODES[0]).expect("the node is there");
        node.import(&lines[..]).expect("an export can be imported");
        // Also the name that nobody learned.
        let mut expected = Tombstones::default();
        let mut retired = tombstones[0].unpurged();
        assert!(retired.all(|name| expected.retire(name)));
        assert_eq!(expected.get(&hidden), Some(Tombstone::Retired));
        assert_eq!(kept(&copy)[0], expected, "{times}");
        assert_eq!(export(&copy) == lines, times == 1);
    }
    // What comes hidden is held, so that it can be purged again where it was gone.
    let mut of_copy = kept(&copy);
    of_copy[0].purge(hidden);
    let names = vec![vec![hidden], Vec::new()];
    copy.bury(of_copy, &names, Value::Null)
        .expect("what is retired can be purged");
    let node = KnowledgeBase::new(&copy, NODES[0]).expect("the node is there");
    node.import(&lines[..]).expect("an export can be imported");
    assert_eq!(kept(&copy)[0].get(&hidden), Some(Tombstone::Retired));
    // An import learns, too, and all or nothing of it.
    let mut lines = Vec::new();
    let donor = create(fixture, &NODES);
    commit(
        &donor,
        vec![stage(&donor, lessons.batch(&[2, 1]))],
        Value::Null,
    );
    let exported = KnowledgeBase::new(&donor, NODES[0]).map(|node| node.export(&mut lines));
    assert!(matches!(exported, Ok(Ok(2))), "{exported:?}");
    let before = content(&store);
    let imported = KnowledgeBase::new(&store, NODES[0]).map(|node| node.import(&lines[..]));
    assert!(
        matches!(&imported, Ok(Err(ExchangeError::Store(StoreError::Retired { pattern, .. }))) if *pattern == hidden),
        "{imported:?}"
    );
    assert_eq!(content(&store), before);
    let of = |name| kept(&store)[0].get(&name);
    assert_eq!(
        (of(gone), of(hidden)),
        (Some(Tombstone::Purged), Some(Tombstone::Retired))
    );
    store.clear(json!(7)).expect("a store can be emptied");
    assert_eq!(kept(&fixture.reopen(store)), nothing);
}
