//! Files that are cut off, overwritten, removed and replaced while they are mapped.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;

use kato_columns::map::{DirectoryWatch, Map, MapState};

const LEN: usize = 40_000;

/// A directory with a file of sevens.
fn sevens() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, [7; LEN]).unwrap();
    (dir, path)
}

fn map(path: &Path) -> Map {
    Map::from_file(path, &File::open(path).unwrap()).unwrap()
}

fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn what_was_cut_off_reads_as_zeros_and_is_lost_and_other_maps_stay() {
    for len in [0, 1, LEN / 2, LEN - 4096] {
        let (dir, path) = sevens();
        let (_other_dir, other_path) = sevens();
        let (cut, other) = (map(&path), map(&other_path));
        let watch = DirectoryWatch::new(dir.path());
        let version = watch.version();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(len as u64)
            .unwrap();
        assert_eq!(cut[LEN - 1], 0, "{len}");
        assert!(cut.iter().all(|&byte| byte == 0), "{len}");
        assert!(watch.version() > version, "{len}");
        assert!(matches!(cut.look(), MapState::Lost(_)), "{len}");
        // Also for those who ask later.
        assert!(matches!(cut.look(), MapState::Lost(_)), "{len}");
        assert!(other.iter().all(|&byte| byte == 7));
        assert_eq!(other.look(), MapState::Unchanged);
    }
}

#[test]
fn a_file_that_shrank_or_grew_is_lost_before_a_fault() {
    for len in [LEN as u64 - 1, LEN as u64 + 1] {
        let (_dir, path) = sevens();
        let map = map(&path);
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(len).unwrap();
        assert!(matches!(map.look(), MapState::Lost(_)));
    }
}

#[test]
fn a_write_is_told_once() {
    let (dir, path) = sevens();
    let watch = DirectoryWatch::new(dir.path());
    let map = map(&path);
    let version = watch.version();
    assert_eq!(watch.version(), version);
    write_at(&path, 9, &[8]);
    let later = watch.version();
    assert!(later > version);
    assert_eq!(watch.version(), later);
    assert_eq!(map[9], 8);
    assert_eq!(map.look(), MapState::Changed);
    assert_eq!(map.look(), MapState::Unchanged);
}

#[test]
fn removing_and_replacing_are_no_changes() {
    let (dir, path) = sevens();
    let watch = DirectoryWatch::new(dir.path());
    let map = map(&path);
    let new = dir.path().with_extension("new");
    fs::write(&new, [1; 3]).unwrap();
    fs::rename(new, &path).unwrap();
    assert_eq!(map.look(), MapState::Unchanged);
    fs::remove_file(&path).unwrap();
    assert_eq!(map.look(), MapState::Unchanged);
    assert!(map.iter().all(|&byte| byte == 7));
    let version = watch.version();
    drop(dir);
    assert_eq!(watch.version(), version);
    assert_eq!(map.look(), MapState::Unchanged);
}

#[test]
fn an_empty_file_is_mapped() {
    let (_dir, path) = sevens();
    fs::write(&path, []).unwrap();
    let map = map(&path);
    assert!(map.is_empty());
    assert_eq!(map.look(), MapState::Unchanged);
    write_at(&path, 0, &[1]);
    assert!(matches!(map.look(), MapState::Lost(_)));
}

#[test]
fn there_may_be_many_maps_and_each_is_guarded() {
    let (_dir, path) = sevens();
    for _ in 0..3 {
        let maps: Vec<Map> = (0..600).map(|_| map(&path)).collect();
        assert!(maps.iter().all(|map| map[LEN - 1] == 7));
    }
    let maps: Vec<Map> = (0..600).map(|_| map(&path)).collect();
    File::create(&path).unwrap();
    assert!(maps.iter().all(|map| map[LEN - 1] == 0));
    assert!(
        maps.iter()
            .all(|map| matches!(map.look(), MapState::Lost(_)))
    );
}

#[test]
fn threads_that_read_while_a_file_is_cut_off_live() {
    let (dir, path) = sevens();
    let (map, watch) = (map(&path), DirectoryWatch::new(dir.path()));
    let version = watch.version();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| while map.iter().any(|&byte| byte != 0) {});
        }
        File::create(&path).unwrap();
    });
    assert!(watch.version() > version);
    assert!(matches!(map.look(), MapState::Lost(_)));
}

#[test]
fn two_watches_of_a_directory_are_told_both() {
    let (dir, path) = sevens();
    let [one, other] = [0, 1].map(|_| DirectoryWatch::new(dir.path()));
    let before = (one.version(), other.version());
    write_at(&path, 0, &[1]);
    assert!(one.version() > before.0 && other.version() > before.1);
    drop(one);
    let before = other.version();
    write_at(&path, 0, &[2]);
    assert!(other.version() > before);
}
