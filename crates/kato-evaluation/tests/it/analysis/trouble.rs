//! Stores that cannot be read, or change while they are read: an error, and never a part of the
//! truth.

use std::fs;

use kato_evaluation::analysis::cleanup::References;
use kato_evaluation::analysis::{
    AnalysisError, CleanupOptions, CleanupPlan, Snapshot, SnapshotOptions,
};
use kato_store::{EmbeddedStore, PatternStore};

use super::support::small;

#[test]
fn a_node_that_cannot_be_read_is_an_error_for_all() {
    let (_dir, store) = small().embedded();
    store.compact().unwrap();
    let made = CleanupPlan::new(&store, &CleanupOptions::new(2, References::Keep)).unwrap();
    for entry in fs::read_dir(store.dir().join("segments")).unwrap() {
        let path = entry.unwrap().path();
        let length = fs::metadata(&path).unwrap().len();
        let bytes = vec![0; length as usize];
        // In place, as the store holds the file open.
        fs::write(&path, bytes).unwrap();
    }
    let is_read = |error: AnalysisError| matches!(error, AnalysisError::Read { node, .. } if node == "node0" || node == "node2");
    assert!(is_read(
        Snapshot::from_store(&store, &SnapshotOptions::default()).unwrap_err()
    ));
    for references in [References::Keep, References::Cascade] {
        let options = CleanupOptions::new(2, references);
        assert!(is_read(CleanupPlan::new(&store, &options).unwrap_err()));
    }
    assert!(is_read(made.apply(&store).unwrap_err()));
}

#[test]
fn a_store_that_cannot_be_written_is_an_error() {
    let (_dir, store) = small().embedded();
    let reader = EmbeddedStore::open_read_only(store.dir()).unwrap();
    let made = CleanupPlan::new(&reader, &CleanupOptions::new(2, References::Keep)).unwrap();
    let refused = made.apply(&reader);
    assert!(
        matches!(refused, Err(AnalysisError::Forget { .. })),
        "{refused:?}"
    );
    made.apply(&store).unwrap();
    assert_eq!(store.count_patterns(2).unwrap(), 0);
}
