//! Damaged files: found, and never believed. What a commit before the newest one is good for is in
//! `generations`.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use kato_store::conformance::Lessons;
use kato_store::{EmbeddedStore, PatternStore, StoreError};
use proptest::prelude::*;

use super::{
    Everything, Files, files, open_and_read, small_alone, small_deleting, small_sealed, write,
};
use crate::support::cases;

/// Damage is reported as such, or changes nothing that can be read.
fn check(dir: &Path, lessons: &Lessons, expected: &Everything, what: &str) -> bool {
    let found = open_and_read(dir, lessons);
    if let Ok(found) = &found {
        assert_eq!(found, expected, "{what}");
        return false;
    }
    assert!(
        matches!(found, Err(StoreError::Corrupt { .. })),
        "{what}: {found:?}"
    );
    true
}

#[test]
fn every_changed_byte_of_the_manifest_is_found_or_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small_alone(dir.path());
    let expected = open_and_read(dir.path(), &lessons).unwrap();
    let path = dir.path().join("MANIFEST");
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        for mask in [0x01, 0x20, 0x80] {
            let mut bytes = whole.clone();
            bytes[at] ^= mask;
            fs::write(&path, &bytes).unwrap();
            let found = check(
                dir.path(),
                &lessons,
                &expected,
                &format!("byte {at} ^ {mask}"),
            );
            assert!(
                found || at + 1 == whole.len(),
                "only the last line end does not count, not byte {at} ^ {mask}"
            );
        }
        fs::write(&path, &whole[..at]).unwrap();
        check(
            dir.path(),
            &lessons,
            &expected,
            &format!("cut after {at} bytes"),
        );
    }
}

#[test]
fn every_changed_byte_of_a_segment_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small_alone(dir.path());
    let names = ["0000000000.seg", "0000000001.seg"];
    check_every_byte(dir.path(), &lessons, &names);
}

#[test]
fn every_changed_byte_of_a_segment_with_foreign_names_is_found() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("kb");
    let lessons = small_sealed(&dir);
    let names = ["0000000000.seg", "0000000001.seg", "0000000002.seg"];
    let versions = names.map(|name| fs::read(dir.join("segments").join(name)).unwrap()[7]);
    assert!(versions.contains(&b'2'), "{versions:?}");
    check_every_byte(&dir, &lessons, &names);
}

#[test]
fn every_changed_byte_of_what_is_deleted_and_of_its_segments_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small_deleting(dir.path());
    let names = ["0000000000.seg", "0000000001.seg", "0000000002.del"];
    check_every_byte(dir.path(), &lessons, &names);
}

#[test]
fn deletions_with_wrong_numbers_and_right_checksums_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small_deleting(dir.path());
    let path = dir.path().join("segments/0000000002.del");
    let whole = fs::read(&path).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest_body(dir.path())).unwrap();
    for (at, number) in (0..whole.len()).flat_map(|at| [0, 1, 2, 9, 0x7f, 0xff].map(|n| (at, n))) {
        let mut bytes = whole.clone();
        bytes[at] = number;
        fs::write(&path, &bytes).unwrap();
        let mut manifest = manifest.clone();
        manifest["deletions"][0]["crc32"] = crc32fast::hash(&bytes).into();
        write_manifest(
            dir.path(),
            &serde_json::to_string_pretty(&manifest).unwrap(),
        );
        match open_and_read(dir.path(), &lessons) {
            Ok(_) | Err(StoreError::Corrupt { .. }) => {}
            Err(error) => panic!("byte {at} = {number}: {error:?}"),
        }
    }
}

fn check_every_byte(dir: &Path, lessons: &Lessons, names: &[&str]) {
    let expected = open_and_read(dir, lessons).unwrap();
    for name in names {
        let path = dir.join("segments").join(name);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, &bytes).unwrap();
            assert!(
                check(dir, lessons, &expected, &format!("{name} byte {at}")),
                "{name} byte {at} is not checked"
            );
            fs::write(&path, &whole[..at]).unwrap();
            assert!(check(
                dir,
                lessons,
                &expected,
                &format!("{name} cut after {at} bytes")
            ));
        }
        fs::write(&path, [whole.as_slice(), b"more"].concat()).unwrap();
        assert!(check(dir, lessons, &expected, "bytes appended"));
        fs::write(&path, whole).unwrap();
    }
}

#[test]
fn a_writer_finds_the_damage_that_it_reads_and_leaves_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small_alone(dir.path());
    let path = dir.path().join("segments/0000000000.seg");
    let mut bytes = fs::read(&path).unwrap();
    bytes[12] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let store = EmbeddedStore::open(dir.path()).unwrap();
    assert!(matches!(store.compact(), Err(StoreError::Corrupt { .. })));
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(
        fs::read_dir(dir.path().join("segments")).unwrap().count(),
        2
    );
    assert!(open_and_read(dir.path(), &lessons).is_err());
}

#[test]
fn a_missing_or_exchanged_segment_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small_alone(dir.path());
    let paths =
        ["0000000000.seg", "0000000001.seg"].map(|name| dir.path().join("segments").join(name));
    let whole = paths.clone().map(|path| fs::read(path).unwrap());
    let corrupt = |what: &str| {
        assert!(
            matches!(
                open_and_read(dir.path(), &lessons),
                Err(StoreError::Corrupt { .. })
            ),
            "{what}"
        );
        assert!(
            matches!(
                EmbeddedStore::open(dir.path()),
                Err(StoreError::Corrupt { .. })
            ),
            "{what}"
        );
    };
    fs::write(&paths[0], &whole[1]).unwrap();
    corrupt("the other segment in its place");
    fs::remove_file(&paths[0]).unwrap();
    corrupt("missing");
    let other = tempfile::tempdir().unwrap();
    EmbeddedStore::create(other.path(), &["node0"], serde_json::Value::Null)
        .and_then(|store| {
            let staged = store.stage(kato_model::LearnBatch::new(1).seal())?;
            store.commit(vec![staged], serde_json::Value::Null)
        })
        .unwrap();
    fs::copy(other.path().join("segments/0000000000.seg"), &paths[0]).unwrap();
    corrupt("a segment of a knowledge base with fewer nodes");
}

/// Writes a manifest with a checksum that fits.
fn write_manifest(dir: &Path, body: &str) {
    // A writer that opened the directory before has given it a twin.
    let _ = fs::remove_file(dir.join("MANIFEST.twin"));
    let crc32 = crc32fast::hash(body.as_bytes());
    fs::write(dir.join("MANIFEST"), format!("{body}\ncrc32 {crc32:08x}\n")).unwrap();
}

fn manifest_body(dir: &Path) -> String {
    let text = fs::read_to_string(dir.join("MANIFEST")).unwrap();
    text.rsplit_once("\ncrc32 ").unwrap().0.to_owned()
}

#[test]
fn another_version_of_the_format_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    small_alone(dir.path());
    let body = manifest_body(dir.path()).replace("\"format_version\": 1", "\"format_version\": 6");
    write_manifest(dir.path(), &body);
    for opened in [
        EmbeddedStore::open(dir.path()),
        EmbeddedStore::open_read_only(dir.path()),
    ] {
        let error = opened.unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::Version {
                    found: 6,
                    supported: 5,
                    ..
                }
            ),
            "{error:?}"
        );
    }
    // What a later version may look like otherwise does not matter.
    write_manifest(dir.path(), r#"{"format_version":99}"#);
    assert!(matches!(
        EmbeddedStore::open(dir.path()),
        Err(StoreError::Version { found: 99, .. })
    ));
}

#[test]
fn a_manifest_has_version_2_as_long_as_a_segment_has_it() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("kb");
    let lessons = small_sealed(&dir);
    let version = || manifest_body(&dir).contains("\"format_version\": 2");
    assert!(version());
    let store = EmbeddedStore::open(&dir).unwrap();
    crate::support::commit(&store, &lessons, &[0], serde_json::Value::Null);
    assert!(version());
    store.compact().unwrap();
    assert!(!version());
    drop(store);
    // Nobody writes a segment that the manifest's version does not know.
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("kb");
    small_sealed(&dir);
    let body = manifest_body(&dir).replace("\"format_version\": 2", "\"format_version\": 1");
    write_manifest(&dir, &body);
    assert!(matches!(
        EmbeddedStore::open(&dir),
        Err(StoreError::Corrupt { .. })
    ));
}

#[test]
fn a_manifest_has_version_3_as_long_as_there_are_tombstones() {
    let dir = tempfile::tempdir().unwrap();
    let lessons = small_alone(dir.path());
    let store = EmbeddedStore::open(dir.path()).unwrap();
    let mut tombstones = vec![kato_store::Tombstones::default(); store.nodes().len()];
    let names = vec![Vec::new(); store.nodes().len()];
    let version = || manifest_body(dir.path()).contains("\"format_version\": 3");
    assert!(!version() && !manifest_body(dir.path()).contains("tombstones"));
    tombstones[0].retire(lessons.name(0));
    let null = serde_json::Value::Null;
    store
        .bury(tombstones.clone(), &names, null.clone())
        .unwrap();
    assert!(version());
    crate::support::commit(&store, &lessons, &[0], null.clone());
    assert!(version());
    tombstones[0].raise(&lessons.name(0));
    store.bury(tombstones, &names, null).unwrap();
    assert!(!version() && !manifest_body(dir.path()).contains("tombstones"));
}

#[test]
fn a_manifest_that_is_no_manifest_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    small_alone(dir.path());
    for body in [
        "",
        "null",
        "[]",
        "{}",
        r#"{"format_version":"1"}"#,
        r#"{"format_version":1}"#,
        "{\"format_version\":1",
    ] {
        write_manifest(dir.path(), body);
        assert!(
            matches!(
                EmbeddedStore::open(dir.path()),
                Err(StoreError::Corrupt { .. })
            ),
            "{body}"
        );
    }
}

/// The segment with another footer, with a checksum that fits.
fn rewrite_footer(bytes: &[u8], change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    let tail = bytes.len() - 16;
    let length = u32::from_le_bytes(bytes[tail..tail + 4].try_into().unwrap()) as usize;
    let mut footer: serde_json::Value =
        serde_json::from_slice(&bytes[tail - length..tail]).unwrap();
    change(&mut footer);
    let footer = serde_json::to_vec(&footer).unwrap();
    let mut changed = bytes[..tail - length].to_vec();
    changed.extend_from_slice(&footer);
    changed.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    changed.extend_from_slice(&crc32fast::hash(&footer).to_le_bytes());
    changed.extend_from_slice(&bytes[..8]);
    changed
}

proptest! {
    #![proptest_config(cases(64))]

    /// Checksums that fit do not make a file right: somebody may have written it so.
    #[test]
    fn a_segment_with_wrong_numbers_and_right_checksums_never_panics(
        node_idx in 0_usize..2,
        pointer in prop::sample::select(vec![
            "/dictionary/offset", "/dictionary/bytes", "/n_literals", "/index/offset", "/index/bytes", "/blocks_end",
            "/totals/patterns", "/totals/observations", "/totals/symbols", "/vectors/offset", "/vectors/bytes",
        ]),
        number in prop_oneof![0_u64..400, Just(u64::MAX), Just(1 << 32), Just(1 << 62), any::<u64>()],
    ) {
        static SMALL: LazyLock<(Lessons, Files)> = LazyLock::new(|| {
            let dir = tempfile::tempdir().unwrap();
            (small_alone(dir.path()), files(dir.path()))
        });
        let (lessons, whole) = &*SMALL;
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), whole);
        let path = dir.path().join("segments/0000000000.seg");
        let bytes = rewrite_footer(&fs::read(&path).unwrap(), |footer| {
            *footer["nodes"][node_idx].pointer_mut(pointer).unwrap() = number.into();
        });
        fs::write(&path, &bytes).unwrap();
        let mut manifest: serde_json::Value = serde_json::from_str(&manifest_body(dir.path())).unwrap();
        manifest["segments"][0]["bytes"] = bytes.len().into();
        if let Some(total) = pointer.strip_prefix("/totals/") {
            manifest["segments"][0]["nodes"][node_idx][total] = number.into();
        }
        write_manifest(dir.path(), &serde_json::to_string_pretty(&manifest).unwrap());
        let _ = open_and_read(dir.path(), lessons);
        if let Ok(store) = EmbeddedStore::open(dir.path()) {
            let _ = store.compact();
        }
    }

    #[test]
    fn foreign_names_with_wrong_numbers_and_right_checksums_never_panic(
        name in 0_usize..3,
        node_idx in 0_usize..2,
        foreign in (
            prop_oneof![0_u64..400, any::<u64>()],
            prop_oneof![0_u64..40, Just(u64::MAX), Just(1 << 32), Just(u64::from(u32::MAX)), any::<u64>()],
        ),
        n_literals in prop::option::of(0_u64..20),
    ) {
        static SMALL: LazyLock<(Lessons, Files)> = LazyLock::new(|| {
            let root = tempfile::tempdir().unwrap();
            let dir = root.path().join("kb");
            (small_sealed(&dir), files(&dir))
        });
        let (lessons, whole) = &*SMALL;
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), whole);
        let path = dir.path().join(format!("segments/000000000{name}.seg"));
        let bytes = rewrite_footer(&fs::read(&path).unwrap(), |footer| {
            let node = &mut footer["nodes"][node_idx];
            node["foreign"] = serde_json::json!({"offset": foreign.0, "names": foreign.1});
            if let Some(n_literals) = n_literals {
                node["n_literals"] = n_literals.into();
            }
        });
        fs::write(&path, &bytes).unwrap();
        let mut manifest: serde_json::Value = serde_json::from_str(&manifest_body(dir.path())).unwrap();
        manifest["segments"][name]["bytes"] = bytes.len().into();
        write_manifest(dir.path(), &serde_json::to_string_pretty(&manifest).unwrap());
        let _ = open_and_read(dir.path(), lessons);
        if let Ok(store) = EmbeddedStore::open(dir.path()) {
            let names: Vec<_> = (0..8).step_by(2).map(|idx| lessons.name(idx)).collect();
            let _ = store.forget(&[names, Vec::new()], serde_json::Value::Null);
            let _ = store.compact();
        }
    }
}
