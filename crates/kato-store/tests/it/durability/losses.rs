//! Every kind of damage to every file, with one commit and with many: opening answers with the newest
//! commit or an error, never with an absence or an older state, and nothing that is whole is deleted.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kato_store::conformance::Lessons;
use kato_store::embedded::{DamagePolicy, EmbeddedOptions};
use kato_store::{EmbeddedStore, StoreError};
use serde_json::json;

use super::{Everything, Files, files, open_and_read, read_everything, write};
use crate::support::{always_merging, commit, two_levels};

/// What happens to a file.
type Damage = fn(&Path, &[u8]);

const DAMAGES: [(&str, Damage); 7] = [
    ("a bit near the beginning", |path, whole| {
        flip(path, whole, 1)
    }),
    ("a bit in the middle", |path, whole| {
        flip(path, whole, whole.len() / 2)
    }),
    ("a bit near the end", |path, whole| {
        flip(path, whole, whole.len() - 2)
    }),
    ("cut in the middle", |path, whole| {
        fs::write(path, &whole[..whole.len() / 2]).unwrap()
    }),
    ("empty", |path, _| fs::write(path, "").unwrap()),
    ("gone", |path, _| fs::remove_file(path).unwrap()),
    ("a directory", |path, _| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    }),
];

fn flip(path: &Path, whole: &[u8], at: usize) {
    let mut bytes = whole.to_vec();
    bytes[at] ^= 4;
    fs::write(path, bytes).unwrap();
}

/// The contents of all segment files, wherever they are.
fn segments_below(dir: &Path) -> BTreeSet<Vec<u8>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if entry.is_dir() {
            found.append(&mut segments_below(&entry));
        } else if entry.extension().is_some_and(|it| it == "seg") {
            found.insert(fs::read(entry).unwrap());
        }
    }
    found
}

/// Checks one way to open one damaged knowledge base.
struct Trial<'a> {
    lessons: &'a Lessons,
    /// The commits, oldest first.
    history: &'a [Everything],
    what: String,
}

impl Trial<'_> {
    fn check(&self, damaged: &Files, make: &dyn Fn(&Path), policy: DamagePolicy, is_writer: bool) {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), damaged);
        make(dir.path());
        let before = segments_below(dir.path());
        let opened = match is_writer {
            true => {
                let options = EmbeddedOptions::default().with_damage_policy(policy);
                EmbeddedStore::open_with(dir.path(), options)
            }
            false => EmbeddedStore::open_read_only_with(dir.path(), policy),
        };
        let what = format!("{}, {policy:?}, writer: {is_writer}", self.what);
        let mut is_sound = false;
        let newest = self.history.last().unwrap();
        let nothing = &self.history[0];
        match opened.and_then(|store| Ok((read_everything(&store, self.lessons)?, store))) {
            Ok((found, store)) if &found == newest => {
                let recovery = store.recovered();
                assert!(recovery.is_none_or(|it| it.is_lossless()), "{what}");
                is_sound = recovery.is_none();
            }
            Ok((found, store)) => {
                assert_ne!(policy, DamagePolicy::Refuse, "an older state: {what}");
                assert!(self.history.contains(&found), "{what}");
                assert!(
                    policy == DamagePolicy::Relearn || &found != nothing,
                    "{what}"
                );
                assert!(!store.recovered().expect(&what).is_lossless(), "{what}");
            }
            Err(error) => assert!(
                matches!(error, StoreError::Corrupt { .. }),
                "{what}: {error:?}"
            ),
        }
        let after = segments_below(dir.path());
        // What a sound knowledge base removes was merged into others.
        assert!(
            is_sound || before.is_subset(&after),
            "a segment was deleted: {what}"
        );
    }
}

fn check_every_damage(dir: &Path, lessons: &Lessons, history: &[Everything]) {
    let whole = files(dir);
    assert_eq!(
        &open_and_read(dir, lessons).unwrap(),
        history.last().unwrap()
    );
    let policies = [
        DamagePolicy::Refuse,
        DamagePolicy::GoBack,
        DamagePolicy::Relearn,
    ];
    for (name, bytes) in whole.iter().filter(|(name, _)| *name != "LOCK") {
        for (damage, make) in DAMAGES {
            let trial = Trial {
                lessons,
                history,
                what: format!("{} commits, {name}: {damage}", history.len() - 1),
            };
            for policy in policies {
                for is_writer in [false, true] {
                    let damage = |dir: &Path| make(&dir.join(name), bytes);
                    trial.check(&whole, &damage, policy, is_writer);
                }
            }
        }
    }
    let all_segments = |dir: &Path| fs::remove_dir_all(dir.join("segments")).unwrap();
    let segments_a_file = |dir: &Path| {
        all_segments(dir);
        fs::write(dir.join("segments"), "").unwrap();
    };
    let all_manifests = |dir: &Path| {
        for name in ["MANIFEST", "MANIFEST.twin", "MANIFEST.previous"] {
            let _ = fs::remove_file(dir.join(name));
        }
    };
    let both_manifests = |dir: &Path| {
        for name in ["MANIFEST", "MANIFEST.twin"] {
            fs::write(dir.join(name), "{").unwrap();
        }
    };
    type Make<'a> = &'a dyn Fn(&Path);
    let damages: [(&str, Make<'_>); 4] = [
        ("the segments are gone", &all_segments),
        ("the segments are a file", &segments_a_file),
        ("all manifests are gone", &all_manifests),
        ("both manifests are garbled", &both_manifests),
    ];
    for (damage, make) in damages {
        let what = format!("{} commits: {damage}", history.len() - 1);
        let trial = Trial {
            lessons,
            history,
            what,
        };
        for policy in policies {
            for is_writer in [false, true] {
                trial.check(&whole, make, policy, is_writer);
            }
        }
    }
}

#[test]
fn damage_is_no_absence_no_older_state_and_deletes_nothing() {
    let lessons = two_levels(8);
    for (n_commits, options) in [
        (1, EmbeddedOptions::default()),
        (2, EmbeddedOptions::default()),
        (5, always_merging()),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store =
            EmbeddedStore::create_with(dir.path(), &["node0", "node1"], json!(null), options)
                .unwrap();
        let mut history = vec![read_everything(&store, &lessons).unwrap()];
        for idx in 0..n_commits {
            commit(&store, &lessons, &[idx, idx + 1, 8], json!(idx));
            history.push(read_everything(&store, &lessons).unwrap());
        }
        drop(store);
        check_every_damage(dir.path(), &lessons, &history);
    }
}

#[test]
fn segments_without_a_manifest_are_no_place_for_a_new_knowledge_base() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = two_levels(8);
    let store = EmbeddedStore::create(dir.path(), &["node0", "node1"], json!(null)).unwrap();
    commit(&store, &lessons, &[0, 1, 8], json!(1));
    drop(store);
    for name in ["MANIFEST", "MANIFEST.twin", "MANIFEST.previous"] {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    let before = files(dir.path());
    assert!(EmbeddedStore::exists(dir.path()));
    let created = EmbeddedStore::create(dir.path(), &["node0", "node1"], json!(null));
    assert!(
        matches!(created, Err(StoreError::Exists { .. })),
        "{created:?}"
    );
    assert_eq!(files(dir.path()), before);
}
