//! Forgetting a few patterns of many.

use kato_model::batch::BatchSymbol;
use kato_model::{LearnBatch, PatternName};
use kato_store::{EmbeddedStore, PatternStore};
use serde_json::json;

/// More than a segment has of which single names are looked up.
const N: usize = 600;

fn words(stem: &str, n: usize) -> [String; 2] {
    [format!("{stem}{n}"), "end".to_owned()]
}

fn name(stem: &str, n: usize) -> PatternName {
    PatternName::of_events(&words(stem, n).map(|word| [word]))
}

/// Commits patterns as a segment of their own.
fn teach(store: &EmbeddedStore, stem: &str) {
    let mut batch = LearnBatch::new(1);
    for n in 0..N {
        let symbols = words(stem, n).map(|word| BatchSymbol::Literal(batch.literal(&word)));
        batch.learn(0, name(stem, n), symbols);
    }
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], json!(stem)).unwrap();
}

#[test]
fn segments_without_the_names_stay_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create(&kb, &["node0"], json!(null)).unwrap();
    teach(&store, "one");
    let only = EmbeddedStore::files_of(&kb).unwrap().unwrap();
    teach(&store, "two");
    let before = EmbeddedStore::files_of(&kb).unwrap().unwrap();
    assert_eq!((only.len(), before.len()), (2, 3));
    let gone = [name("two", 7), name("two", 500), name("none", 0)];
    store.forget(&[gone.to_vec()], json!("forgotten")).unwrap();
    let after = EmbeddedStore::files_of(&kb).unwrap().unwrap();
    let kept: Vec<_> = before.iter().filter(|file| after.contains(file)).collect();
    assert_eq!(kept, only.iter().collect::<Vec<_>>());
    for stem in ["one", "two"] {
        for n in 0..N {
            let is_there = store.pattern(0, &name(stem, n)).unwrap().is_some();
            assert_eq!(is_there, !gone.contains(&name(stem, n)), "{stem} {n}");
        }
    }
}
