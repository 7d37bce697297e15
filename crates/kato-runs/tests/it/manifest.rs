//! The form of a manifest.

use std::time::{Duration, UNIX_EPOCH};

use kato_loader::{CorpusIdentity, Cursor, Order, StreamingDatasetLoader};
use kato_runs::manifest::{BackendKind, CorpusDigest, RunBackend, RunResults};
use kato_runs::{RunFacts, RunId, RunManifest};
use kato_scheduler::{Checkpoint, RunConfiguration};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Place, learner, name};

/// What differs from run to run is replaced.
fn redacted(manifest: &RunManifest) -> Value {
    let mut value = serde_json::to_value(manifest).unwrap();
    for (pointer, replacement) in [
        ("/id", json!("[id]")),
        ("/created", json!("[time]")),
        ("/updated", json!("[time]")),
        ("/process", json!("[process]")),
        ("/corpus/digest", json!("[digest]")),
        ("/results/seconds", json!("[seconds]")),
        ("/configuration", json!("[configuration]")),
        ("/tokenizer/fingerprint", json!("[fingerprint]")),
    ] {
        if let Some(found) = value.pointer_mut(pointer).filter(|found| !found.is_null()) {
            *found = replacement;
        }
    }
    value
}

#[test]
fn the_form_of_a_manifest() {
    let place = Place::new();
    let report = place.train("wiki", u64::MAX);
    let backend = RunBackend::new(BackendKind::Embedded, "runs/wiki");
    let corpus = kato_loader::StreamingDatasetLoader::builder()
        .with_input(place.path("corpus.jsonl"))
        .build()
        .unwrap()
        .identity();
    let configuration = RunConfiguration::from_learner(&learner());
    let mut manifest = RunManifest::begin(name("wiki"), &configuration, backend)
        .with_corpus(&corpus)
        .with_option("n_workers", 2);
    insta::assert_json_snapshot!("begun", redacted(&manifest));
    manifest.finish(&report);
    insta::assert_json_snapshot!("finished", redacted(&manifest));
    let text = serde_json::to_string(&manifest).unwrap();
    assert_eq!(
        serde_json::from_str::<RunManifest>(&text).unwrap(),
        manifest
    );
}

#[test]
fn a_forecast_is_of_the_corpus_that_it_was_made_for() {
    let place = Place::new();
    let identity = |text: &str| {
        let path = place.path("other.txt");
        std::fs::write(&path, text).unwrap();
        let loader = kato_loader::StreamingDatasetLoader::builder().with_input(path);
        loader.build().unwrap().identity()
    };
    let backend = RunBackend::new(BackendKind::Embedded, "runs/wiki");
    let configuration = RunConfiguration::from_learner(&learner());
    let corpus = identity("of some length");
    let mut manifest =
        RunManifest::begin(name("wiki"), &configuration, backend).with_corpus(&corpus);
    let foretold = kato_model::forecast::Forecast {
        seconds: Some(14.5.into()),
        ..Default::default()
    };
    manifest.forecast = Some(foretold);
    let read = RunManifest::from_json(&manifest.to_json(), &place.path("run.json")).unwrap();
    let again = read.with_corpus(&corpus);
    assert_eq!(again.forecast, Some(foretold));
    let other = identity("of some length, and then more");
    // As it is found, whatever the manifest was written with.
    let found = |corpus: &CorpusIdentity| {
        let facts = RunFacts {
            nodes: learner().node_names().into_iter().map(Into::into).collect(),
            configuration: configuration.to_json(),
            checkpoint: Checkpoint::at_start(corpus.clone(), Cursor::default()).to_json(),
            levels: Vec::new(),
            backend: RunBackend::new(BackendKind::Embedded, "runs/wiki"),
            is_locked: false,
        };
        facts.manifest(Some(again.clone()), &name("wiki"), None)
    };
    assert_eq!(found(&corpus).forecast, Some(foretold));
    assert_eq!(found(&other).forecast, None);
    assert_eq!(again.with_corpus(&other).forecast, None);
}

#[test]
fn credentials_are_not_kept() {
    let place = |uri| RunBackend::new(BackendKind::Mongodb, uri).place;
    assert_eq!(
        place("mongodb://u:p@h1:1,h2:2/db?replicaSet=r"),
        "mongodb://h1:1,h2:2"
    );
    assert_eq!(place("mongodb+srv://u:p/q?@h"), "mongodb+srv://h");
    assert_eq!(
        place("mongodb://u:p@h/?authMechanismProperties=AWS_SESSION_TOKEN:s"),
        "mongodb://h"
    );
    assert_eq!(place("http://127.0.0.1:8000"), "http://127.0.0.1:8000");
    assert_eq!(place("runs/wiki"), "runs/wiki");
}

proptest! {
    #[test]
    fn ids_are_ordered_by_time_and_read_back(a in 0u64..10_000_000_000, b in 0u64..10_000_000_000, bits: u64) {
        let id = |seconds| RunId::new(UNIX_EPOCH + Duration::from_secs(seconds), bits);
        prop_assert_eq!(id(a).cmp(&id(b)), a.cmp(&b));
        prop_assert_eq!(id(a).as_str().parse::<RunId>().unwrap(), id(a));
    }

    #[test]
    fn any_text_is_an_id_or_refused(text in ".{0,80}") {
        let _ = text.parse::<RunId>();
    }
}

#[test]
fn results_are_read_under_their_former_names() {
    let former = json!({
        "samples": 3,
        "errors": 0,
        "tokens": 7,
        "levels": [{"node": "node0", "observations": 2, "patterns": 1}],
        "seconds": null,
    });
    let results: RunResults = serde_json::from_value(former).unwrap();
    assert_eq!((results.documents, results.levels[0].learns), (3, 2));
}

#[test]
fn digests_of_what_a_corpus_extends_are_those_of_the_corpora() {
    let folder = tempfile::tempdir().unwrap();
    let files = [0, 1, 2, 3].map(|n| folder.path().join(format!("{n}\"é.txt")));
    for file in &files {
        std::fs::write(file, file.to_string_lossy().as_bytes()).unwrap();
    }
    let builder = |n: usize| StreamingDatasetLoader::builder().with_inputs(&files[..n]);
    let identity = |n: usize| builder(n).build().unwrap().identity();
    for n in 1..=files.len() {
        let corpus = identity(n);
        let expected = (1..n).map(|n| {
            let extended = identity(n);
            assert!(corpus.extends(&extended));
            CorpusDigest::from_identity(&extended)
        });
        let found = CorpusDigest::all_extended_by(&corpus);
        assert_eq!(found, expected.collect::<Vec<CorpusDigest>>());
    }
    let mixture = StreamingDatasetLoader::builder()
        .with_mixed(1.0, builder(2))
        .with_mixed(1.0, builder(1));
    for none in [builder(3).with_order(Order::shuffled(7)), mixture] {
        let corpus = none.build().unwrap().identity();
        assert_eq!(CorpusDigest::all_extended_by(&corpus), []);
    }
}
