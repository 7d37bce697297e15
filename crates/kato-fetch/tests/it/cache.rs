//! The cache on disk: it spares requests and is never believed blindly.

use std::fs;
use std::path::{Path, PathBuf};

use kato_hub_standin::{HubStandin, PlainFile};

use crate::support::{builder, cached, noise, open, read_all, serving};

const SIZE: usize = 9 << 20;

fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for item in fs::read_dir(folder).unwrap().flatten() {
        if item.path().is_dir() {
            found.extend(segments(&item.path()));
        } else {
            found.push(item.path());
        }
    }
    found
}

#[test]
fn what_was_read_once_is_not_asked_for_again_by_anyone() {
    let bytes = noise(SIZE, 1);
    let standin = serving(bytes.clone());
    let folder = tempfile::tempdir().unwrap();
    let first = cached(&standin, folder.path());
    let reader = open(&first, &standin.file_url("a"));
    assert!(reader.read(100..SIZE as u64).unwrap() == bytes[100..]);
    assert_eq!(segments(folder.path()).len(), 3);
    standin.forget_requests();

    let second = cached(&standin, folder.path());
    let reader = open(&second, &standin.file_url("a"));
    assert_eq!(
        reader.read_many(&[5..10, 5 << 20..6 << 20]).unwrap(),
        [&bytes[5..10], &bytes[5 << 20..6 << 20]]
    );
    assert!(read_all(&reader, 77).unwrap() == bytes[77..]);
    assert_eq!(standin.requests().len(), 1, "only the HEAD that opened it");
    let figures = second.figures();
    assert_eq!(
        (
            figures.cache_hits,
            figures.cache_misses,
            figures.bytes_received
        ),
        (5, 0, 0)
    );
}

#[test]
fn damage_is_noticed_and_repaired() {
    let bytes = noise(SIZE, 1);
    let standin = serving(bytes.clone());
    let folder = tempfile::tempdir().unwrap();
    let fetcher = cached(&standin, folder.path());
    let reader = open(&fetcher, &standin.file_url("a"));
    assert!(read_all(&reader, 0).unwrap() == bytes);
    for (i, path) in segments(folder.path()).iter().enumerate() {
        let mut content = fs::read(path).unwrap();
        match i {
            0 => content[1000] ^= 1,
            1 => content.truncate(500),
            _ => content.clear(),
        }
        fs::write(path, content).unwrap();
    }
    assert!(read_all(&reader, 0).unwrap() == bytes);
    let misses = fetcher.figures().cache_misses;
    assert!(read_all(&reader, 0).unwrap() == bytes);
    assert_eq!((misses, fetcher.figures().cache_misses), (6, 6));
}

#[test]
fn a_new_content_has_its_own_segments() {
    let standin = serving(noise(5000, 1));
    let folder = tempfile::tempdir().unwrap();
    let fetcher = cached(&standin, folder.path());
    for seed in [1, 2, 1] {
        standin.put_file("a", PlainFile::new(noise(5000, seed)));
        let reader = open(&fetcher, &standin.file_url("a"));
        assert_eq!(reader.read(0..5000).unwrap(), noise(5000, seed));
    }
    assert_eq!(fetcher.figures().cache_hits, 1);
}

#[test]
fn files_without_a_strong_validator_are_not_kept() {
    let plain = PlainFile::new(noise(5000, 1));
    let standin = HubStandin::builder()
        .file("date", plain.clone().without_etag())
        .file("nothing", plain.without_validator())
        .start()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let fetcher = cached(&standin, folder.path());
    for name in ["date", "nothing"] {
        open(&fetcher, &standin.file_url(name))
            .read(0..5000)
            .unwrap();
    }
    assert!(segments(folder.path()).is_empty());
}

#[test]
fn the_budget_holds_and_a_disk_that_refuses_fails_nothing() {
    let bytes = noise(SIZE, 1);
    let standin = serving(bytes.clone());
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("cache");
    let budget = 5 << 20;
    let fetcher = builder(&standin)
        .with_cache(&inner, budget)
        .build()
        .unwrap();
    let reader = open(&fetcher, &standin.file_url("a"));
    for _ in 0..3 {
        assert!(read_all(&reader, 0).unwrap() == bytes);
        let kept: u64 = segments(&inner)
            .iter()
            .map(|path| fs::metadata(path).unwrap().len())
            .sum();
        assert!(kept <= budget, "{kept}");
    }
    fs::remove_dir_all(&inner).unwrap();
    fs::write(&inner, "a file where the folder was").unwrap();
    assert!(read_all(&reader, 0).unwrap() == bytes);
}
