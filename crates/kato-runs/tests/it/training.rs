//! Runs that were trained: what their manifests tell, and that they go on wherever they are taken.

use std::time::Duration;

use kato_loader::StreamingDatasetLoader;
use kato_prediction::disk::{BuildOptions, IndexPolicy, keep};
use kato_runs::manifest::{BackendKind, RunBackend, RunOrigin, RunState};
use kato_runs::{Archive, Destination, ManifestFile, RunManifest, RunsError, Start, TrainingRun};
use kato_scheduler::{RunConfiguration, TrainingOptions};
use kato_store::{EmbeddedStore, MemoryStore, StoreError};

use crate::support::{N_DOCUMENTS, Place, content, learner, name};

#[test]
fn a_run_taken_elsewhere_goes_on_to_the_same_result() {
    let place = Place::new();
    place.train("whole", u64::MAX);
    place.train("half", N_DOCUMENTS / 2);
    let runs = place.runs();
    runs.clone_run("half", &name("cloned")).unwrap();
    runs.export("half", place.path("out")).unwrap();
    runs.import(place.path("out"), Some(&name("imported")))
        .unwrap();
    let archive = Archive::open(place.path("out")).unwrap();
    let memory = MemoryStore::new(
        &learner().node_names(),
        RunConfiguration::from_learner(&learner()).to_json(),
    );
    archive.import_into(&memory).unwrap();

    let (checkpoint, whole) = place.content("whole");
    assert_eq!(checkpoint["counters"]["documents"], N_DOCUMENTS);
    for run in ["half", "cloned", "imported"] {
        assert_ne!(place.content(run).1, whole);
        let report = place.train(run, u64::MAX);
        assert!(report.complete);
        assert_eq!(report.session_documents, N_DOCUMENTS / 2);
        assert_eq!(
            place.content(run),
            (checkpoint.clone(), whole.clone()),
            "{run}"
        );
    }
    place.train_into(&memory, u64::MAX);
    assert_eq!(content(&memory), (checkpoint, whole));
}

#[test]
fn a_run_that_goes_on_adds_to_its_index() {
    let place = Place::new();
    let dir = place.path("runs/wiki");
    let configuration = RunConfiguration::from_learner(&learner());
    // Every document is a commit, and so a segment.
    let mut options = TrainingOptions::default();
    (options.commit_interval, options.batch_bytes) = (Duration::ZERO, 1);
    let build = BuildOptions::default().with_unit_ratio(0);
    let mut units = Vec::new();
    for (nth, documents) in [N_DOCUMENTS / 2, N_DOCUMENTS].into_iter().enumerate() {
        let corpus = StreamingDatasetLoader::builder()
            .with_input(place.path("corpus.jsonl"))
            .with_max_documents(documents);
        let (mut run, mut loader) = TrainingRun::open(
            Destination::from(&dir),
            &learner(),
            &configuration,
            Start::NewOrResume,
            |position| -> Result<_, RunsError> { Ok(position.loader(corpus)?) },
        )
        .unwrap();
        run.train(&mut loader, &learner(), &options, |_event| {})
            .unwrap();
        let store = run.store().unwrap();
        assert!(
            keep(store, IndexPolicy::Auto, &build).unwrap().is_none(),
            "so little"
        );
        let built = keep(store, IndexPolicy::Require, &build).unwrap().unwrap();
        let index = kato_prediction::disk::open(store).unwrap().unwrap();
        assert_eq!(index.covered(), store.content().sources);
        assert_eq!(built.patterns, index.n_patterns());
        let now: Vec<_> = index.units().collect();
        assert_eq!((now.len(), &now[..nth]), (nth + 1, &units[..]));
        units = now;
    }
}

#[test]
fn a_manifest_follows_its_run() {
    let place = Place::new();
    let dir = place.path("runs/wiki");
    let configuration = RunConfiguration::from_learner(&learner());
    let report = place.train("wiki", N_DOCUMENTS / 2);
    let backend = RunBackend::new(BackendKind::Embedded, "wiki");
    let file = ManifestFile::in_knowledge_base(&dir);
    let mut manifest =
        RunManifest::begin(name("wiki"), &configuration, backend).with_option("n_workers", 2);
    assert_eq!(manifest.results, None);
    manifest.finish(&report);
    assert_eq!(manifest.state, RunState::Interrupted);
    file.write(&manifest).unwrap();
    let run = place.runs().show("wiki").unwrap();
    assert!(run.is_recorded);
    assert_eq!(run.manifest.state, RunState::Interrupted);
    assert_eq!(run.manifest.results, manifest.results);
    assert_eq!(run.manifest.options["n_workers"], 2);

    // The second session dies before it can say what it did.
    let mut manifest = file.read().unwrap().unwrap();
    manifest.resume();
    file.write(&manifest).unwrap();
    let report = place.train("wiki", u64::MAX);
    let run = place.runs().show("wiki").unwrap();
    assert_eq!(run.manifest.state, RunState::Complete);
    let results = run.manifest.results.unwrap();
    assert_eq!(results.documents, report.documents_processed);
    assert_eq!(results.tokens, report.tokens);
    assert_eq!(results.levels[1].learns, report.levels[1].learns);
    let corpus = run.manifest.corpus.unwrap();
    assert_eq!(corpus.files, 1);
    assert_eq!(corpus.digest.len(), 64);

    let before = manifest
        .results
        .as_ref()
        .and_then(|results| results.seconds)
        .unwrap();
    manifest.finish(&report);
    assert_eq!(manifest.state, RunState::Complete);
    let seconds = manifest.results.unwrap().seconds.unwrap();
    assert_eq!(seconds, before + report.total_time_seconds);
}

#[test]
fn state_and_lineage_go_with_the_copies() {
    let place = Place::new();
    place.train("wiki", u64::MAX);
    let runs = place.runs();
    let wiki = runs.record("wiki").unwrap().manifest;
    let clone = runs.clone_run("wiki", &name("clone")).unwrap().manifest;
    runs.export("clone", place.path("out")).unwrap();
    let import = runs
        .import(place.path("out"), Some(&name("import")))
        .unwrap()
        .manifest;
    assert_eq!(import.state, RunState::Complete);
    assert_eq!(clone.state, RunState::Complete);
    assert_eq!(import.results.unwrap().documents, N_DOCUMENTS);
    let RunOrigin::Cloned { id, name } = &import.lineage[0] else {
        panic!("{:?}", import.lineage);
    };
    assert_eq!((id, name), (&wiki.id, &wiki.name));
    let RunOrigin::Imported { id, name } = &import.lineage[1] else {
        panic!("{:?}", import.lineage);
    };
    assert_eq!((id, name), (&clone.id, &clone.name));
    assert_eq!(import.contents, None);
    assert!(EmbeddedStore::exists(place.path("runs/import")));
}

#[test]
fn a_run_to_go_on_with_is_there_or_its_making_was_cut_off() {
    let place = Place::new();
    let dir = place.path("runs/wiki");
    let resume = || {
        let corpus = StreamingDatasetLoader::builder().with_input(place.path("corpus.jsonl"));
        let opened = TrainingRun::open(
            Destination::from(&dir),
            &learner(),
            &RunConfiguration::from_learner(&learner()),
            Start::Resume,
            |position| -> Result<_, RunsError> { Ok(position.loader(corpus)?) },
        );
        opened.map(drop)
    };
    for is_there in [false, true] {
        if is_there {
            std::fs::create_dir_all(&dir).unwrap();
        }
        let missing = resume().unwrap_err();
        assert!(
            matches!(missing, RunsError::Open(StoreError::Missing { .. })),
            "{missing:?}"
        );
        assert_eq!(dir.exists(), is_there);
    }
    // What a creation that was killed half-way leaves behind.
    std::fs::create_dir(dir.join("segments")).unwrap();
    resume().unwrap();
    assert!(EmbeddedStore::exists(&dir));
}
