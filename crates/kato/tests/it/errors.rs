//! Errors are told apart by their kinds alone, and their texts name the place and the reason.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use kato::engine::EngineError;
use kato::head::HeadError;
use kato::hierarchy::HierarchyError;
use kato::model::PatternName;
use kato::prelude::*;
use kato::scheduler::TrainError;
use kato::store::{MemoryStore, Place, StoreError, StoreErrorKind};
use kato::{ErrorKind, OpenOptions, SessionConfig};
use tempfile::TempDir;

use super::{corpus, training};

/// A knowledge base that was trained.
fn trained(place: &TempDir) -> std::path::PathBuf {
    let kb = place.path().join("kb");
    training(&kb, &corpus(place)).run().unwrap();
    kb
}

/// Cuts all segments of a knowledge base off.
fn cut(kb: &Path) {
    for segment in fs::read_dir(kb.join("segments")).unwrap() {
        let path = segment.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    }
}

fn of_io(kind: io::ErrorKind) -> Error {
    let source = io::Error::from(kind);
    let path = "kb/segments/1.seg".into();
    Error::from(match kind {
        io::ErrorKind::PermissionDenied => StoreError::Io {
            action: "open",
            path,
            source,
        },
        _ => StoreError::Full { path, source },
    })
}

#[test]
fn what_is_opened_or_trained_fails_with_a_kind() {
    let place = tempfile::tempdir().unwrap();
    let kb = trained(&place);
    let source = corpus(&place);
    let rules = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .build()
        .unwrap();
    let other = place.path().join("other.txt");
    fs::write(&other, "another text").unwrap();
    let broken = place.path().join("broken.jsonl.gz");
    fs::write(&broken, [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]).unwrap();
    let malformed = place.path().join("malformed.jsonl");
    fs::write(&malformed, "{\"title\": \"a record without text\"}\n").unwrap();
    let blank = place.path().join("blank.txt");
    fs::write(&blank, "\n \n").unwrap();
    let elsewhere = || place.path().join("elsewhere");
    let writer = OpenOptions::new().for_writing().open(&kb).unwrap();
    let refused: Error = kato::open(&kb)
        .unwrap()
        .learn("a text of some length")
        .unwrap_err()
        .into();
    let second = OpenOptions::new().for_writing().open(&kb);
    // The writer is gone with the level that it is asked for.
    let level: Error = writer
        .with_config(7, SessionConfig::default())
        .unwrap_err()
        .into();
    let cases = [
        (kato::open(elsewhere()).unwrap_err(), ErrorKind::NotFound),
        (kato::open(&source).unwrap_err(), ErrorKind::NotFound),
        (
            training(&source, &source).run().unwrap_err(),
            ErrorKind::Exists,
        ),
        (
            training(&elsewhere(), Path::new("no/such.txt"))
                .run()
                .unwrap_err(),
            ErrorKind::NotFound,
        ),
        (refused, ErrorKind::ReadOnly),
        (level, ErrorKind::InvalidArgument),
        (
            OpenOptions::new().create(&kb, &rules).unwrap_err(),
            ErrorKind::Exists,
        ),
        (
            kato::open("https://host/kb").unwrap_err(),
            ErrorKind::InvalidArgument,
        ),
        (
            training(&elsewhere(), &source)
                .with_chunk_sizes([1])
                .run()
                .unwrap_err(),
            ErrorKind::InvalidArgument,
        ),
        (
            training(&elsewhere(), &broken).run().unwrap_err(),
            ErrorKind::Corrupt,
        ),
        (
            training(&place.path().join("second"), &malformed)
                .run()
                .unwrap_err(),
            ErrorKind::Malformed,
        ),
        (
            training(&place.path().join("third"), &blank)
                .run()
                .unwrap_err(),
            ErrorKind::Empty,
        ),
        (
            training(&kb, &source)
                .with_chunk_sizes([3, 3])
                .run()
                .unwrap_err(),
            ErrorKind::OtherSettings,
        ),
        (
            training(&kb, &other).run().unwrap_err(),
            ErrorKind::OtherCorpus,
        ),
    ];
    assert!(second.is_err_and(|error| error.kind() == ErrorKind::Locked));
    for (error, kind) in cases {
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(error.class(), kind.class());
    }
    cut(&kb);
    assert_eq!(kato::open(&kb).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn what_a_store_or_the_system_says_keeps_its_kind() {
    let foreign = MemoryStore::new(&["node0"], serde_json::json!({"by": "somebody else"}));
    let (full, _) = Training::in_memory()
        .with_documents("tale", ["the cat sleeps on the mat"])
        .run_and_open()
        .unwrap();
    let full = Arc::clone(full.engine().store().unwrap());
    let away = StoreError::from_backend(
        StoreErrorKind::Transient,
        Place::from_address("shelf://attic/3"),
        "nobody is in",
    );
    let cases = [
        (
            OpenOptions::new()
                .open_store(Arc::new(foreign))
                .unwrap_err(),
            ErrorKind::Conflict,
        ),
        (
            OpenOptions::new()
                .with_max_memory(1)
                .open_store(full)
                .unwrap_err(),
            ErrorKind::OutOfMemory,
        ),
        (TrainError::Store(away).into(), ErrorKind::Unavailable),
        (
            Error::Source(kato::loader::LoadError::Interrupted),
            ErrorKind::Interrupted,
        ),
        (of_io(io::ErrorKind::StorageFull), ErrorKind::Full),
        (of_io(io::ErrorKind::QuotaExceeded), ErrorKind::Full),
        (of_io(io::ErrorKind::FileTooLarge), ErrorKind::FileSizeLimit),
        (of_io(io::ErrorKind::PermissionDenied), ErrorKind::Denied),
    ];
    for (error, kind) in cases {
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(error.class(), kind.class());
    }
}

#[test]
fn a_line_has_the_place_the_reason_and_what_to_do() {
    let text = of_io(io::ErrorKind::FileTooLarge).to_string();
    let all = [
        "kb/segments/1.seg",
        "limit on the size of files",
        "ulimit -f",
    ];
    assert!(all.iter().all(|part| text.contains(part)), "{text}");
    assert!(!text.contains("free some space"), "{text}");
    let text = of_io(io::ErrorKind::StorageFull).to_string();
    assert!(
        text.contains("no space left") && text.contains("free some space"),
        "{text}"
    );
    let text = of_io(io::ErrorKind::PermissionDenied).to_string();
    assert!(
        text.contains("kb/segments/1.seg") && text.contains("permission denied"),
        "{text}"
    );
}

#[test]
fn what_was_being_done_when_a_store_failed_is_told() {
    let full = || StoreError::Full {
        path: "kb/segments/1.seg".into(),
        source: io::ErrorKind::StorageFull.into(),
    };
    let name = || PatternName::of_events(&[["a"]]);
    let engine = || EngineError::Store {
        action: "commit",
        source: full(),
    };
    let met: [(Error, String); 5] = [
        (
            TrainError::Store(full()).into(),
            "failed to store".to_owned(),
        ),
        (engine().into(), "commit".to_owned()),
        (
            HierarchyError::Source {
                name: name(),
                source: full(),
            }
            .into(),
            name().to_string(),
        ),
        (
            HierarchyError::Head(HeadError::Store {
                level: 2,
                source: full(),
            })
            .into(),
            "level 2".to_owned(),
        ),
        (
            HierarchyError::Transfer {
                item_idx: 17,
                source: engine(),
            }
            .into(),
            "item number 17".to_owned(),
        ),
    ];
    for (error, place) in met {
        let text = error.to_string();
        assert!(matches!(error, Error::Store { .. }), "{error:?}");
        assert!(text.contains(&place) && text.contains("1.seg"), "{text}");
    }
}
