//! Index and counts that are written along one walk are those of two.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kato::head::disk::CountsOptions;
use kato::index::BuildOptions;
use kato::prelude::*;
use kato::{IndexPolicy, Preparation};

use super::{corpus, training};

/// Returns all files below a directory, by their paths.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => drop(found.insert(path.display().to_string(), fs::read(&path).unwrap())),
        }
    }
    found
}

/// Returns the files of the index and of the counts of a knowledge base.
fn files_beside(kb: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files(&kb.join("index"));
    found.extend(files(&kb.join("head")));
    found
}

/// Writes what a policy wants, in so much memory for sorting; returns whether index and counts were written.
fn prepare(kb: &Path, policy: IndexPolicy, sort_bytes: usize) -> (bool, bool) {
    let store = EmbeddedStore::open_read_only(kb).unwrap();
    let index = BuildOptions::default().with_sort_bytes(sort_bytes);
    let counts = CountsOptions::default().with_sort_bytes(sort_bytes);
    let mut preparation = Preparation::begin(&store, policy, index, counts);
    let index = preparation.write_index().unwrap();
    let counts = preparation.write_counts().unwrap();
    (
        index.is_some_and(|index| !index.was_there),
        counts.is_some_and(|counts| !counts.was_there),
    )
}

#[test]
fn one_walk_writes_the_bytes_of_two() {
    let place = tempfile::tempdir().unwrap();
    let kb = place.path().join("kb");
    training(&kb, &corpus(&place)).run().unwrap();
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    kato::index::build(&store, &BuildOptions::default()).unwrap();
    kato::head::disk::build(&store, &CountsOptions::default()).unwrap();
    let expected = files_beside(&kb);
    assert!(expected.len() > 2, "{:?}", expected.keys());
    let remove = |names: &[&str]| {
        for name in names {
            fs::remove_dir_all(kb.join(name)).unwrap();
        }
    };
    for sort_bytes in [0, 1 << 20] {
        remove(&["index", "head"]);
        assert_eq!(prepare(&kb, IndexPolicy::Require, sort_bytes), (true, true));
        assert!(files_beside(&kb) == expected, "{sort_bytes}");
    }
    // What is there stays, and the other is written alone.
    for (name, written) in [("index", (true, false)), ("head", (false, true))] {
        remove(&[name]);
        assert_eq!(prepare(&kb, IndexPolicy::Require, 0), written);
        assert!(files_beside(&kb) == expected, "{name}");
    }
}

#[test]
fn nothing_is_written_that_is_not_wanted() {
    let place = tempfile::tempdir().unwrap();
    let kb = place.path().join("kb");
    training(&kb, &corpus(&place)).run().unwrap();
    for policy in [IndexPolicy::Never, IndexPolicy::Auto] {
        assert_eq!(prepare(&kb, policy, 1 << 20), (false, false));
    }
    assert_eq!(files_beside(&kb), BTreeMap::new());
}
