//! Salvage: what is whole of a damaged knowledge base, each learn call once, and what is not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kato_model::PatternName;
use kato_store::conformance::Lessons;
use kato_store::embedded::{DamagePolicy, EmbeddedOptions, SalvageReport, is_salvaged, salvage};
use kato_store::{EmbeddedStore, PatternStore, StoreError, Tombstones};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{files, open_and_read};
use crate::support::{always_merging, commit, copy_dir, never_rewriting, two_levels};

const NODES: [&str; 2] = ["node0", "node1"];

/// Frequencies of all patterns, by node.
type Counts = Vec<BTreeMap<PatternName, u64>>;

fn counts(store: &EmbeddedStore) -> Counts {
    let node = |idx| {
        store
            .scan_frequencies(idx)
            .unwrap()
            .map(Result::unwrap)
            .collect()
    };
    (0..store.nodes().len()).map(node).collect()
}

/// What a knowledge base of these commits knows.
fn learned(lessons: &Lessons, commits: &[&[usize]]) -> Counts {
    let dir = tempfile::tempdir().unwrap();
    counts(&create(
        &dir.path().join("kb"),
        lessons,
        commits,
        EmbeddedOptions::default(),
    ))
}

fn create(
    kb: &Path,
    lessons: &Lessons,
    commits: &[&[usize]],
    options: EmbeddedOptions,
) -> EmbeddedStore {
    let store = EmbeddedStore::create_with(kb, &NODES, json!({"a": 1}), options).unwrap();
    for (idx, picked) in commits.iter().enumerate() {
        commit(&store, lessons, picked, json!({"samples": idx + 1}));
    }
    store
}

const COMMITS: [&[usize]; 3] = [&[0, 1, 2, 8], &[0, 3, 4], &[0, 5, 6, 7, 11]];

/// A knowledge base of three commits, each a segment.
fn three() -> (TempDir, PathBuf, Lessons) {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let lessons = two_levels(8);
    drop(create(&kb, &lessons, &COMMITS, EmbeddedOptions::default()));
    (dir, kb, lessons)
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// Salvages, and checks that the damaged knowledge base stays as it is.
fn salvaged(kb: &Path) -> (SalvageReport, EmbeddedStore) {
    let before = files(kb);
    let out = kb.with_file_name("out");
    let _ = fs::remove_dir_all(&out);
    let report = salvage(kb, &out).unwrap();
    assert_eq!(files(kb), before);
    let store = EmbeddedStore::open_read_only(&out).unwrap();
    let learns: u64 = counts(&store).iter().flat_map(BTreeMap::values).sum();
    assert_eq!(report.saved.learns, learns);
    assert_eq!(is_salvaged(&store.checkpoint()), !report.is_complete());
    (report, store)
}

#[test]
fn a_whole_knowledge_base_is_salvaged_whole() {
    let (_dir, kb, lessons) = three();
    let expected = open_and_read(&kb, &lessons).unwrap();
    for damaged in [
        None,
        Some("MANIFEST"),
        Some("MANIFEST.twin"),
        Some("MANIFEST.previous"),
    ] {
        if let Some(name) = damaged {
            flip(&kb.join(name), 30);
        }
        let (report, store) = salvaged(&kb);
        assert!(report.is_complete(), "{report:?}");
        assert_eq!(report.n_commits, Some(3));
        drop(store);
        assert_eq!(
            open_and_read(&kb.with_file_name("out"), &lessons).unwrap(),
            expected
        );
        if let Some(name) = damaged {
            flip(&kb.join(name), 30);
        }
    }
}

#[test]
fn every_segment_that_is_whole_is_saved_whatever_byte_of_another_is_damaged() {
    let (_dir, kb, lessons) = three();
    let rest = learned(&lessons, &[COMMITS[0], COMMITS[2]]);
    let path = kb.join("segments/0000000001.seg");
    let n_bytes = fs::read(&path).unwrap().len();
    for at in (0..n_bytes).step_by(7) {
        flip(&path, at);
        let (report, store) = salvaged(&kb);
        assert_eq!(report.lost.len(), 1, "byte {at}: {report:?}");
        assert_eq!(
            (&report.lost[0].path, report.lost[0].held.unwrap().learns),
            (&path, 3)
        );
        assert_eq!((report.saved.segments, report.saved.learns), (2, 9));
        assert_eq!(counts(&store), rest, "byte {at}");
        assert_eq!(store.configuration(), &json!({"a": 1}));
        flip(&path, at);
    }
    for make in [
        (|path| fs::remove_file(path).unwrap()) as fn(&Path),
        |path| fs::create_dir(path).unwrap(),
    ] {
        make(&path);
        assert_eq!(counts(&salvaged(&kb).1), rest);
    }
}

#[test]
fn without_the_newest_manifests_segments_that_no_manifest_names_are_saved_and_told() {
    let (_dir, kb, lessons) = three();
    for name in ["MANIFEST", "MANIFEST.twin"] {
        flip(&kb.join(name), 30);
    }
    let (report, store) = salvaged(&kb);
    assert_eq!(report.n_commits, None);
    assert!(!report.is_complete());
    assert_eq!(report.unnamed, [kb.join("segments/0000000002.seg")]);
    assert_eq!(counts(&store), learned(&lessons, &COMMITS));
    fs::remove_file(kb.join("MANIFEST.previous")).unwrap();
    let refused = salvage(&kb, kb.with_file_name("none"));
    assert!(
        matches!(refused, Err(StoreError::Corrupt { .. })),
        "{refused:?}"
    );
    assert!(!kb.with_file_name("none").exists());
}

/// A commit that merges, on top of two: its files, those of the commit before, and what it learned.
fn merging() -> (TempDir, PathBuf, Lessons, Counts) {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let lessons = two_levels(8);
    let store = create(&kb, &lessons, &COMMITS, always_merging());
    assert_eq!(
        (store.n_segments(), files(&kb).len()),
        (2, 8),
        "a merge and its sources"
    );
    drop(store);
    let all = learned(&lessons, &COMMITS);
    (dir, kb, lessons, all)
}

/// The segment that the last commit merged, and the one that it learned.
fn merged_and_new(kb: &Path) -> [PathBuf; 2] {
    let manifest = fs::read_to_string(kb.join("MANIFEST")).unwrap();
    let manifest: Value = serde_json::from_str(manifest.rsplit_once("\ncrc32").unwrap().0).unwrap();
    let segments = manifest["segments"].as_array().unwrap();
    let mut paths: Vec<(u64, PathBuf)> = segments
        .iter()
        .map(|it| {
            let path = kb.join("segments").join(it["file"].as_str().unwrap());
            (it["nodes"][0]["observations"].as_u64().unwrap(), path)
        })
        .collect();
    paths.sort();
    [paths[1].1.clone(), paths[0].1.clone()]
}

#[test]
fn a_merge_that_is_damaged_is_replaced_by_what_was_merged_and_nothing_counts_twice() {
    let (_dir, kb, _lessons, all) = merging();
    let [merged, new] = merged_and_new(&kb);
    let (report, store) = salvaged(&kb);
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(counts(&store), all);
    flip(&merged, 60);
    let (report, store) = salvaged(&kb);
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(counts(&store), all);
    // What was merged is no help for what was not.
    flip(&merged, 60);
    flip(&new, 60);
    let (report, store) = salvaged(&kb);
    assert_eq!((report.lost.len(), &report.lost[0].path), (1, &new));
    let whole = counts(&EmbeddedStore::open_read_only(store.dir()).unwrap());
    for (node, all) in whole.iter().zip(&all) {
        assert!(node.iter().all(|(name, frequency)| frequency <= &all[name]));
    }
}

#[test]
fn without_the_newest_manifests_a_merge_counts_nothing_twice() {
    let (_dir, kb, _lessons, all) = merging();
    let [merged, new] = merged_and_new(&kb);
    for name in ["MANIFEST", "MANIFEST.twin"] {
        fs::remove_file(kb.join(name)).unwrap();
    }
    let (report, store) = salvaged(&kb);
    assert_eq!(
        (&report.left_out, &report.unnamed),
        (&vec![merged], &vec![new])
    );
    assert_eq!(counts(&store), all);
}

#[test]
fn what_is_there_is_never_replaced_and_a_writer_is_not_disturbed() {
    let (_dir, kb, _lessons) = three();
    let refused = salvage(&kb, &kb);
    assert!(
        matches!(refused, Err(StoreError::Exists { .. })),
        "{refused:?}"
    );
    let out = kb.with_file_name("out");
    let missing = salvage(&out, &out);
    assert!(
        matches!(missing, Err(StoreError::Missing { .. })),
        "{missing:?}"
    );
    let _writer = EmbeddedStore::open(&kb).unwrap();
    let locked = salvage(&kb, &out);
    assert!(
        matches!(locked, Err(StoreError::Locked { .. })),
        "{locked:?}"
    );
    assert!(!out.exists());
}

/// Purges the first lesson of a knowledge base, whose segments stay.
fn with_one_purged(kb: &Path, lessons: &Lessons) -> EmbeddedStore {
    let store = EmbeddedStore::open_with(kb, never_rewriting(EmbeddedOptions::default())).unwrap();
    let mut tombstones = vec![Tombstones::default(); 2];
    tombstones[0].purge(lessons.name(0));
    let doomed = [vec![lessons.name(0)], Vec::new()];
    store.bury(tombstones, &doomed, store.checkpoint()).unwrap();
    store
}

#[test]
fn what_was_deleted_stays_away_from_what_is_salvaged() {
    let (_dir, kb, lessons) = three();
    let store = with_one_purged(&kb, &lessons);
    let expected = counts(&store);
    drop(store);
    let (report, store) = salvaged(&kb);
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(counts(&store), expected);

    // A merge that is damaged is taken from what was merged, without what was deleted of that.
    let options = never_rewriting(always_merging());
    let merging = EmbeddedStore::open_with(&kb, options).unwrap();
    commit(&merging, &lessons, &[6], json!({"samples": 4}));
    let expected = counts(&merging);
    drop(merging);
    let merged = EmbeddedStore::files_of(&kb).unwrap().unwrap();
    let copy = kb.with_file_name("copy");
    copy_dir(&kb, &copy);
    flip(&copy.join(&merged[0]), 12);
    let (report, store) = salvaged(&copy);
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(counts(&store), expected);
}

#[test]
fn where_it_is_lost_what_was_deleted_tombstones_still_tell() {
    let (_dir, kb, lessons) = three();
    let store = with_one_purged(&kb, &lessons);
    let expected = counts(&store);
    store
        .forget(&[vec![lessons.name(1)], Vec::new()], json!("forgotten"))
        .unwrap();
    drop(store);
    let files = EmbeddedStore::files_of(&kb).unwrap().unwrap();
    let deletions = files
        .iter()
        .find(|file| file.extension().is_some_and(|it| it == "del"));
    flip(&kb.join(deletions.unwrap()), 9);
    let damage = EmbeddedStore::damage(&kb).unwrap().unwrap();
    assert_eq!(damage.files.len(), 1, "{damage:?}");
    let (report, store) = salvaged(&kb);
    assert!(!report.is_complete(), "what was forgotten is there again");
    assert_eq!(counts(&store), expected);
}

#[test]
fn an_error_of_damage_advises_only_ways_out_that_work() {
    const MANIFESTS: [&str; 3] = ["MANIFEST", "MANIFEST.twin", "MANIFEST.previous"];

    // Each manifest is lost or not, and no segment, the newest, or all of them.
    for lost in 0..24 {
        let (dir, kb, _) = three();
        for (bit, manifest) in MANIFESTS.iter().enumerate() {
            if lost >> bit & 1 == 1 {
                flip(&kb.join(manifest), 30);
            }
        }
        let segments = (0..3).map(|number| kb.join(format!("segments/{number:010}.seg")));
        let n_kept = [3, 2, 0][lost >> 3];
        for segment in segments.skip(n_kept) {
            fs::write(segment, "KATO").unwrap();
        }
        let Err(error) = EmbeddedStore::open_read_only(&kb) else {
            continue;
        };
        let out = dir.path().join("out");
        let saved = salvage(&kb, &out);
        let names_salvage = |error: &StoreError| error.to_string().contains("kato salvage");
        assert_eq!(names_salvage(&error), saved.is_ok(), "{lost}: {error}");
        if let Err(refused) = saved {
            assert!(!names_salvage(&refused), "{lost}: {refused}");
            assert_eq!(refused.advice(), None, "{lost}");
        }
        let older = EmbeddedStore::open_read_only_with(&kb, DamagePolicy::GoBack);
        assert_eq!(error.advice().is_some(), older.is_ok(), "{lost}: {error}");
        // To train again, as it says, is no matter of this directory.
        assert!(
            error.to_string().contains("into another directory"),
            "{error}"
        );
        // What looks at the manifests alone knows of them.
        if let Err(refused) = EmbeddedStore::checkpoint_of(&kb) {
            assert_eq!(names_salvage(&refused), lost & 7 != 7, "{lost}: {refused}");
        }
    }
}
