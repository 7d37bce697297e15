//! A directory as the store: files beside it are not written again, and others are copied.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::support::{Place, block};
use kato_cluster::{Cluster, Moment, PlanOptions, Watch};
use kato_store::slice::NameRanges;

/// Returns all files below a directory.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Carries out a plan in a directory; returns the slices and segments there, and which of them were
/// files of the working directory as well when they had arrived.
fn carry_out(place: &Place, store: &Path) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let shared = Arc::new(Mutex::new(BTreeSet::new()));
    let watch = {
        let (shared, scratch) = (Arc::clone(&shared), place.scratch().to_owned());
        Watch::new(move |moment| {
            if moment == Moment::Uploaded {
                let files = files(&scratch).into_iter().map(|file| file.metadata());
                let linked = files.filter_map(|file| file.ok().filter(|file| file.nlink() == 2));
                shared.lock().unwrap().extend(linked.map(|file| file.ino()));
            }
        })
    };
    let cluster = Cluster::open(store.to_str().unwrap())
        .unwrap()
        .with_watch(watch);
    let mut options = PlanOptions::new(3);
    options.ranges = NameRanges::new(2).unwrap();
    let plan = block(place.plan(&cluster, &options)).unwrap().into_inner();
    for task in 0..plan.tasks() {
        block(place.learn(&cluster, task)).unwrap();
    }
    for level in 0..plan.levels() {
        for range in 0..2 {
            block(cluster.merge(level, range, place.scratch())).unwrap();
        }
    }
    for range in 0..2 {
        block(cluster.seal(range, place.scratch())).unwrap();
    }
    assert_eq!(place.publish(&cluster), place.train());
    assert!(files(place.scratch()).is_empty(), "working files are left");
    let data = files(store).into_iter().filter(|file| {
        file.extension()
            .is_some_and(|it| it == "slice" || it == "seg")
    });
    let stored = data.map(|file| file.metadata().unwrap().ino()).collect();
    let shared = shared.lock().unwrap().clone();
    (stored, shared)
}

#[test]
fn what_lies_on_the_same_file_system_is_not_written_again() {
    let place = Place::new(false);
    let store = place.scratch().parent().unwrap().join("store");
    let (stored, shared) = carry_out(&place, &store);
    // Three tasks and two ranges of two levels, and two segments.
    assert_eq!(stored.len(), 3 * 2 + 2 * 2 + 2);
    assert_eq!(shared, stored);
}

#[test]
fn what_lies_on_another_file_system_is_copied() {
    let place = Place::new(false);
    let elsewhere = tempfile::tempdir().unwrap();
    let device = |path: &Path| path.metadata().unwrap().dev();
    if device(elsewhere.path()) == device(place.scratch()) {
        return;
    }
    let (_, shared) = carry_out(&place, elsewhere.path());
    assert!(shared.is_empty());
}
