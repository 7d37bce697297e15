//! An index is written by itself where much would have to be loaded, and only there.

use std::path::Path;

use kato_model::batch::BatchSymbol;
use kato_model::{LearnBatch, PatternName};
use kato_prediction::disk::{BuildOptions, BuildProgress, IndexPolicy, LOADED_PATTERNS, keep};
use kato_store::embedded::EmbeddedOptions;
use kato_store::{EmbeddedStore, PatternStore};
use serde_json::Value;

fn create(dir: &Path) -> EmbeddedStore {
    EmbeddedStore::create(dir.join("kb"), &["node0"], Value::Null).unwrap()
}

fn texts(number: u64) -> [String; 2] {
    [format!("{}", number % 1000), format!("b{}", number / 1000)]
}

fn name(number: u64) -> PatternName {
    PatternName::of_events(&texts(number).each_ref().map(|text| [text.as_str()]))
}

/// Commits so many patterns that no other call commits.
fn commit(store: &EmbeddedStore, patterns: std::ops::Range<u64>) {
    let mut batch = LearnBatch::new(1);
    for number in patterns {
        let symbols = texts(number).map(|text| BatchSymbol::Literal(batch.literal(&text)));
        batch.learn(0, name(number), symbols);
    }
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], Value::Null).unwrap();
}

#[test]
fn what_is_quickly_loaded_is_not_indexed_unless_that_is_required() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(dir.path());
    commit(&store, 0..LOADED_PATTERNS - 1);
    assert!(!IndexPolicy::Auto.is_due(&store));
    assert!(!IndexPolicy::Never.is_due(&store));
    assert!(IndexPolicy::Require.is_due(&store));
    // One more, and loading takes longer.
    commit(&store, LOADED_PATTERNS..LOADED_PATTERNS + 1);
    // Who reads beside the writer leaves it to that.
    let reader = EmbeddedStore::open_read_only(dir.path().join("kb")).unwrap();
    assert!(!IndexPolicy::Auto.is_due(&reader) && IndexPolicy::Auto.is_due(&store));
    let progress = BuildProgress::default();
    let options = BuildOptions::default().with_progress(progress.clone());
    assert!(
        keep(&store, IndexPolicy::Never, &options)
            .unwrap()
            .is_none()
    );
    let built = keep(&store, IndexPolicy::Auto, &options).unwrap().unwrap();
    assert_eq!(built.patterns, LOADED_PATTERNS);
    assert!(0 < progress.done() && progress.done() <= progress.total());
    // It is there now, and little more is loaded above it.
    assert!(keep(&store, IndexPolicy::Auto, &options).unwrap().is_none());
    commit(&store, LOADED_PATTERNS + 1..LOADED_PATTERNS + 10);
    assert!(keep(&store, IndexPolicy::Auto, &options).unwrap().is_none());
    let all = keep(&store, IndexPolicy::Require, &options).unwrap();
    assert_eq!(all.unwrap().patterns, LOADED_PATTERNS + 9);
}

#[test]
fn what_has_to_be_passed_over_counts_as_what_has_to_be_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = EmbeddedOptions::default();
    // Deleted patterns stay in their segment, and so does its index.
    options.max_deleted_percent = 100;
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create_with(&kb, &["node0"], Value::Null, options).unwrap();
    commit(&store, 0..LOADED_PATTERNS + 10);
    let options = BuildOptions::default();
    keep(&store, IndexPolicy::Auto, &options).unwrap().unwrap();
    let forget = |numbers: std::ops::Range<u64>| {
        let names = numbers.map(name).collect();
        store.forget(&[names], Value::Null).unwrap();
    };
    forget(0..LOADED_PATTERNS - 1);
    assert!(!IndexPolicy::Auto.is_due(&store));
    forget(LOADED_PATTERNS - 1..LOADED_PATTERNS);
    let built = keep(&store, IndexPolicy::Auto, &options).unwrap().unwrap();
    assert_eq!(built.patterns, 10);
    assert!(!IndexPolicy::Auto.is_due(&store));
}
