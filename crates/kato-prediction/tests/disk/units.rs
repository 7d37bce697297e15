//! Indexes that add to others answer as one of everything does, cost what is new, and stay few.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kato_engine::node::Lesson;
use kato_engine::{Engine, EngineOptions};
use kato_model::{Event, PatternName};
use kato_prediction::disk::{BuildOptions, StoreIndex};
use kato_store::embedded::EmbeddedOptions;
use kato_store::{EmbeddedStore, PatternStore};

use crate::damage::check;
use crate::support::{engines, events, keeping_units, name, teach_indexed};

/// Parts that have patterns, texts and names in common.
const PARTS: [&[&str]; 4] = [
    &[
        "the cat sat on the",
        "the cat sat down",
        "a dog ran on",
        "on the mat",
    ],
    &[
        "the cat sat down",
        "the dog ran",
        "a new word",
        "on the mat",
    ],
    &[
        "a new word",
        "mat on a cat",
        "the cat sat on the",
        "a dog ran on",
    ],
    &["down the hill", "the dog ran", "a dog ran on", "a new hill"],
];

/// Creates a knowledge base of which each part is indexed by itself.
fn in_units(kb: &Path) {
    let part = |texts: &[&str]| texts.iter().map(|text| (events(text), 2)).collect();
    let parts: Vec<_> = PARTS.iter().map(|texts| part(texts)).collect();
    teach_indexed(kb, &parts);
}

fn find(store: &EmbeddedStore) -> Option<StoreIndex> {
    let found = kato_prediction::disk::find(store);
    assert!(found.faults.is_empty(), "{:?}", found.faults);
    found.index
}

/// Compares an engine over what index there is with one in memory.
fn check_both(kb: &Path) {
    let open = || Arc::new(EmbeddedStore::open_read_only(kb).unwrap());
    let store = open();
    let index = kato_prediction::disk::find(&store).index;
    let nodes: Vec<_> = index.iter().flat_map(StoreIndex::nodes).collect();
    let covered = index.as_ref().map(StoreIndex::covered).unwrap_or_default();
    let options = EngineOptions::default();
    check(&[
        Engine::open(open() as Arc<dyn PatternStore>).unwrap(),
        Engine::open_indexed(store, nodes, covered, options).unwrap(),
    ]);
}

#[test]
fn what_is_new_is_indexed_alone_and_all_of_it_answers() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    in_units(&kb);
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    let index = find(&store).unwrap();
    assert_eq!(index.covered(), store.content().sources);
    // What the parts hold that none before them does: four, two, one and two patterns, and of the
    // names one each, or two.
    let units: Vec<u64> = index.units().map(|(_, n_patterns)| n_patterns).collect();
    assert_eq!(units.len(), PARTS.len());
    assert_eq!(units.iter().sum::<u64>(), index.n_patterns());
    let stored: u64 = (0..2)
        .map(|node_idx| store.count_patterns(node_idx).unwrap())
        .sum();
    assert_eq!(index.n_patterns(), stored);
    index.check().unwrap();
    check(&engines(&kb));
    // Written again as one, it answers the same.
    let whole = BuildOptions::default().with_unit_ratio(u64::MAX);
    let store = EmbeddedStore::open(&kb).unwrap();
    let engine = Engine::open(Arc::new(store)).unwrap();
    let lesson = Lesson::new(events("one more of them"));
    engine.nodes().next().unwrap().teach(&lesson).unwrap();
    engine.commit().unwrap();
    drop(engine);
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    kato_prediction::disk::build(&store, &whole).unwrap();
    assert_eq!(find(&store).unwrap().units().len(), 1);
    check(&engines(&kb));
}

#[test]
fn units_stay_few_and_little_is_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = Arc::new(EmbeddedStore::create(&kb, &["node0"], serde_json::Value::Null).unwrap());
    let engine = Engine::open(Arc::clone(&store) as Arc<dyn PatternStore>).unwrap();
    let node = engine.nodes().next().unwrap();
    let (mut n_written, mut before) = (0, Vec::new());
    for number in 0..64 {
        node.teach(&Lesson::new(events(&format!("a {number} b"))))
            .unwrap();
        engine.commit().unwrap();
        kato_prediction::disk::build(&store, &BuildOptions::default()).unwrap();
        let units: Vec<_> = find(&store).unwrap().units().collect();
        assert!(units.len() <= 7, "{units:?}");
        assert_eq!(units.iter().map(|(_, n)| n).sum::<u64>(), number + 1);
        let new = units.iter().filter(|unit| !before.contains(*unit));
        n_written += new.map(|(_, n_patterns)| n_patterns).sum::<u64>();
        before = units;
    }
    // Written anew each time it would be 2,080.
    assert!(n_written <= 64 * 7, "{n_written}");
}

#[test]
fn damage_below_is_not_carried_into_what_adds_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    in_units(&kb);
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    let units: Vec<_> = find(&store).unwrap().units().collect();
    drop(store);
    for (unit, _) in units {
        for entry in fs::read_dir(kb.join("index").join(unit.to_string())).unwrap() {
            let path = entry.unwrap().path();
            let whole = fs::read(&path).unwrap();
            if whole.is_empty() || path.extension().is_none() {
                continue;
            }
            let mut damaged = whole.clone();
            damaged[whole.len() / 2] ^= 0x10;
            // Replaced and not changed, as files of an index are mapped.
            let replace = |bytes: &[u8]| {
                fs::remove_file(&path).unwrap();
                fs::write(&path, bytes).unwrap();
            };
            replace(&damaged);
            check_both(&kb);
            replace(&whole);
        }
    }
    // The names are read when something is added.
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    let first = find(&store).unwrap().units().next().unwrap().0;
    drop(store);
    let names = kb.join("index").join(first.to_string()).join("0.names");
    let n_bytes = fs::metadata(&names).unwrap().len();
    fs::remove_file(&names).unwrap();
    fs::write(&names, vec![7; usize::try_from(n_bytes).unwrap()]).unwrap();
    let store = Arc::new(EmbeddedStore::open(&kb).unwrap());
    let engine = Engine::open(Arc::clone(&store) as Arc<dyn PatternStore>).unwrap();
    let node = engine.nodes().next().unwrap();
    node.teach(&Lesson::new(events("the cat sat on a hill")))
        .unwrap();
    engine.commit().unwrap();
    kato_prediction::disk::build(&store, &keeping_units()).unwrap();
    assert_eq!(
        find(&store).unwrap().units().len(),
        1,
        "it was written anew"
    );
    drop((engine, node, store));
    check(&engines(&kb));
}

#[test]
fn what_is_forgotten_or_merged_voids_no_more_than_what_adds_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    in_units(&kb);
    let store = EmbeddedStore::open(&kb).unwrap();
    // A pattern that the last part alone holds.
    let forgotten = PatternName::of_events(&events("down the hill"));
    store
        .forget(&[vec![forgotten], Vec::new()], store.checkpoint())
        .unwrap();
    assert_eq!(find(&store).unwrap().units().len(), PARTS.len() - 1);
    check_both(&kb);
    kato_prediction::disk::build(&store, &keeping_units()).unwrap();
    assert_eq!(find(&store).unwrap().units().len(), PARTS.len());
    check_both(&kb);
    // What stays while others are merged.
    kato_prediction::disk::spare(&store);
    let engine = Engine::open(Arc::new(store)).unwrap();
    let node = engine.nodes().next().unwrap();
    for number in 0..100 {
        node.teach(&Lesson::new(events(&format!("the {number} cat"))))
            .unwrap();
        engine.commit().unwrap();
    }
    drop((engine, node));
    let store = EmbeddedStore::open(&kb).unwrap();
    assert_eq!(find(&store).unwrap().units().len(), PARTS.len());
    check_both(&kb);
    store.compact().unwrap();
    assert!(find(&store).is_none());
    kato_prediction::disk::build(&store, &keeping_units()).unwrap();
    assert_eq!(find(&store).unwrap().units().len(), 1);
    check_both(&kb);
}

#[test]
fn what_is_deleted_is_passed_over_by_every_unit_until_it_is_learned_again() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    in_units(&kb);
    let mut options = EmbeddedOptions::default();
    options.max_deleted_percent = 100;
    let open = || EmbeddedStore::open_with(&kb, options).unwrap();
    let store = open();
    kato_prediction::disk::spare(&store);
    let units = |store: &EmbeddedStore| -> Vec<_> { find(store).unwrap().units().collect() };
    let before = units(&store);
    // One that several units hold, and one that a pattern above refers to.
    for text in ["the dog ran", "on the mat"] {
        let gone = PatternName::of_events(&events(text));
        let names = [vec![gone], Vec::new()];
        store.forget(&names, store.checkpoint()).unwrap();
        assert_eq!(store.pattern(0, &gone).unwrap(), None);
        assert_eq!(units(&store), before);
        check_both(&kb);
    }
    let index = find(&store).unwrap();
    assert_eq!(
        store
            .deleted_beyond(0, index.covered())
            .unwrap()
            .unwrap()
            .len(),
        2
    );
    let report = kato_prediction::disk::build(&store, &keeping_units()).unwrap();
    assert!(report.was_there, "there is nothing to add");
    drop(store);
    // What is new is added, as long as none of it is what was deleted.
    let teach = |text: &str| {
        let engine = Engine::open(Arc::new(open())).unwrap();
        let lesson = Lesson::new(events(text));
        engine.nodes().next().unwrap().teach(&lesson).unwrap();
        engine.commit().unwrap();
    };
    teach("another hill");
    let store = open();
    kato_prediction::disk::build(&store, &keeping_units()).unwrap();
    assert_eq!(units(&store)[..before.len()], before);
    assert_eq!(units(&store).len(), before.len() + 1);
    check_both(&kb);
    drop(store);
    teach("the dog ran");
    check_both(&kb);
    let store = open();
    kato_prediction::disk::build(&store, &keeping_units()).unwrap();
    assert_eq!(units(&store).len(), 1, "it would count with what is gone");
    let index = find(&store).unwrap();
    assert_eq!(
        store.deleted_beyond(0, index.covered()).unwrap(),
        Some(Vec::new())
    );
    check_both(&kb);
}

#[test]
fn a_name_that_was_a_text_stays_the_same_symbol_when_its_pattern_is_learned() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create(&kb, &["node0", "node1"], serde_json::Value::Null).unwrap();
    let store = Arc::new(store);
    let engine = Engine::open(Arc::clone(&store) as Arc<dyn PatternStore>).unwrap();
    let [lower, upper] = [0, 1].map(|node_idx| engine.nodes().nth(node_idx).unwrap());
    let build = || {
        engine.commit().unwrap();
        kato_prediction::disk::build(&store, &keeping_units()).unwrap();
    };
    let children: Vec<Vec<Event>> = ["the cat sat on the", "the cat sat down", "a dog ran on"]
        .map(events)
        .to_vec();
    let names: Vec<Event> = children.iter().map(|child| name(child)).collect();
    // Above first: the names are of nothing that is known.
    upper.teach(&Lesson::new(names[..2].to_vec())).unwrap();
    build();
    lower.teach(&Lesson::new(children[0].clone())).unwrap();
    build();
    // Now they are met again, one as the name of what is known by now.
    for child in &children {
        lower.teach(&Lesson::new(child.clone())).unwrap();
    }
    upper.teach(&Lesson::new(names.clone())).unwrap();
    upper.teach(&Lesson::new(names[..2].to_vec())).unwrap();
    build();
    assert_eq!(find(&store).unwrap().units().len(), 3);
    check(&engines(&kb));
}
