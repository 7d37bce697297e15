//! Files that are taken out of what was learned: the knowledge base is that of a training without them.

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::Recording;
use kato_loader::{Order, Split, StreamingDatasetLoader, StreamingDatasetLoaderBuilder};
use kato_occurrences::{Documents, Occurrences, Writer};
use kato_runs::manifest::{BackendKind, RunBackend};
use kato_runs::{Forgotten, ManifestFile, RunManifest, RunsError, forget};
use kato_scheduler::{
    RunConfiguration, TrainingOptions, Workers, loader_at_checkpoint, loader_behind, train_parallel,
};
use kato_store::{EmbeddedStore, PatternStore, StoreError, Tombstones};
use kato_tokenizer::Whitespace;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{content, learner, name};

/// The words of the learner.
const WORDS: [&str; 7] = ["a", "cat", "the", "sat", "on", "mat", "sea"];

/// A file's documents, as numbers of words.
type File = Vec<Vec<usize>>;

/// A folder with a file for each of some lists of documents, and knowledge bases.
struct Folder(TempDir);

impl Folder {
    fn new(files: &[File]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (idx, documents) in files.iter().enumerate() {
            let lines = documents.iter().map(|document| {
                let words: Vec<&str> = document.iter().map(|&word| WORDS[word]).collect();
                json!({"text": words.join(" ")}).to_string() + "\n"
            });
            fs::write(folder.file(idx), lines.collect::<String>()).unwrap();
        }
        folder
    }

    fn file(&self, idx: usize) -> PathBuf {
        self.0.path().join(format!("{idx}.jsonl"))
    }

    fn files(&self, of: &[usize]) -> Vec<PathBuf> {
        of.iter().map(|&idx| self.file(idx)).collect()
    }

    fn open(&self, kb: &str) -> EmbeddedStore {
        let dir = self.0.path().join(kb);
        match EmbeddedStore::exists(&dir) {
            true => EmbeddedStore::open(&dir).unwrap(),
            false => {
                let configuration = RunConfiguration::from_learner(&learner()).to_json();
                EmbeddedStore::create(&dir, &learner().node_names(), configuration).unwrap()
            }
        }
    }

    /// Forgets files with two workers.
    fn forget(&self, kb: &str, files: &[usize]) -> Result<Forgotten, RunsError> {
        let store = self.open(kb);
        forget(&store, &learner(), &self.files(files), &options(2), |it| it)
    }

    fn content(&self, kb: &str) -> (Value, Vec<String>) {
        content(&self.open(kb))
    }
}

fn options(n_workers: usize) -> TrainingOptions {
    let mut options = TrainingOptions::default();
    options.n_workers = Workers::Exactly(NonZeroUsize::new(n_workers).unwrap());
    options.batch_bytes = 64;
    options
}

/// How the files are read.
fn corpus(files: Vec<PathBuf>) -> StreamingDatasetLoaderBuilder {
    StreamingDatasetLoader::builder()
        .with_inputs(files)
        .with_min_chars(3)
        .allow_empty()
}

/// Trains, or goes on.
fn train(store: &dyn PatternStore, corpus: StreamingDatasetLoaderBuilder, n_workers: usize) {
    let mut loader = loader_at_checkpoint(corpus, &store.checkpoint()).unwrap();
    train_parallel(&mut loader, &learner(), store, &options(n_workers), |_| {}).unwrap();
}

fn add(store: &dyn PatternStore, corpus: StreamingDatasetLoaderBuilder) {
    let mut loader = loader_behind(corpus, &store.checkpoint()).unwrap();
    train_parallel(&mut loader, &learner(), store, &options(2), |_| {}).unwrap();
}

fn files() -> impl Strategy<Value = Vec<File>> {
    // Few words, so that files teach the same; some documents are too short, or of one token.
    let document = prop::collection::vec(0..3_usize, 1..12);
    let wide = prop::collection::vec(0..WORDS.len(), 1..12);
    let file = prop::collection::vec(prop_oneof![3 => document, 1 => wide], 0..8);
    prop::collection::vec(file, 2..6)
}

/// The places of files whose bit is set, and those of the others.
fn parted(n: usize, bits: u8) -> (Vec<usize>, Vec<usize>) {
    (0..n).partition(|&idx| bits >> idx & 1 == 1)
}

fn order(is_shuffled: bool) -> Order {
    match is_shuffled {
        true => Order::Shuffled {
            seed: 7,
            epoch: 0,
            window_bytes: 1 << 20,
        },
        false => Order::Sequential,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_forgotten_was_never_there(
        files in files(),
        bits in 1_u8..,
        n_workers in 1_usize..4,
        is_shuffled in any::<bool>(),
    ) {
        let folder = Folder::new(&files);
        let (gone, left) = parted(files.len(), bits);
        let order = order(is_shuffled);
        let all: Vec<usize> = (0..files.len()).collect();
        let reading = |of: &[usize]| corpus(folder.files(of)).with_order(order);
        train(&folder.open("kb"), reading(&all), n_workers);
        let before = folder.content("kb");
        if gone.is_empty() {
            return Ok(());
        }
        folder.forget("kb", &gone).unwrap();
        if left.is_empty() {
            prop_assert_eq!(folder.content("kb"), content(&folder.open("empty")));
            train(&folder.open("kb"), reading(&all), n_workers);
            prop_assert_eq!(folder.content("kb"), before);
            return Ok(());
        }
        train(&folder.open("without"), reading(&left), n_workers);
        prop_assert_eq!(folder.content("kb"), folder.content("without"));
        // What was forgotten is not forgotten again, and can be added again.
        let again = folder.forget("kb", &gone);
        prop_assert!(again.unwrap_err().to_string().contains("never learned"));
        if !is_shuffled {
            add(&folder.open("kb"), reading(&gone));
            add(&folder.open("without"), reading(&gone));
            prop_assert_eq!(folder.content("kb"), folder.content("without"));
            prop_assert_eq!(folder.content("kb").1, before.1);
        }
    }

    #[test]
    fn a_training_that_was_cut_off_goes_on_without_what_was_forgotten(
        files in files(),
        bits in 1_u8..,
        n_read in 0_u64..20,
    ) {
        let folder = Folder::new(&files);
        let (gone, left) = parted(files.len(), bits);
        let all: Vec<usize> = (0..files.len()).collect();
        train(&folder.open("kb"), corpus(folder.files(&all)).with_max_documents(n_read), 2);
        let before = folder.content("kb");
        if gone.is_empty() || left.is_empty() {
            return Ok(());
        }
        match folder.forget("kb", &gone) {
            Err(error) => {
                // A file that is not read to its end, or not at all.
                prop_assert!(error.to_string().contains("not read to its end"), "{}", error);
                prop_assert_eq!(folder.content("kb"), before);
            }
            Ok(_) => {
                train(&folder.open("kb"), corpus(folder.files(&left)), 2);
                train(&folder.open("without"), corpus(folder.files(&left)), 2);
                prop_assert_eq!(folder.content("kb"), folder.content("without"));
            }
        }
    }
}

/// Three files, and a run of all of them in `kb`.
fn trained() -> Folder {
    let folder = Folder::new(&[
        vec![vec![0, 1, 2, 3, 4, 5], vec![6, 5, 4]],
        vec![vec![2, 2, 2, 3, 3, 3], vec![0, 1, 2]],
        vec![vec![6, 6, 6, 1, 1, 1]],
    ]);
    train(&folder.open("kb"), corpus(folder.files(&[0, 1, 2])), 2);
    folder
}

/// Expects that a file is not forgotten for a reason, and that nothing has changed.
fn assert_refused(folder: &Folder, kb: &str, file: usize, reason: &str) {
    let before = folder.content(kb);
    let error = folder.forget(kb, &[file]).unwrap_err();
    assert!(
        matches!(error, RunsError::NotForgettable { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains(reason), "{error}");
    assert_eq!(folder.content(kb), before);
}

#[test]
fn a_file_that_has_changed_or_has_another_name_is_not_forgotten() {
    let folder = trained();
    fs::rename(folder.file(1), folder.file(7)).unwrap();
    fs::write(folder.file(1), "{\"text\": \"a cat sat\"}\n").unwrap();
    assert_refused(&folder, "kb", 1, "size of");
    assert_refused(&folder, "kb", 7, "1.jsonl` holds the same");
    fs::rename(folder.file(7), folder.file(1)).unwrap();
    let forgotten = folder.forget("kb", &[1]).unwrap();
    assert_eq!(forgotten.files, [folder.file(1).display().to_string()]);
    assert_eq!((forgotten.documents, forgotten.tokens), (2, 9));
}

#[test]
fn what_nobody_can_tell_apart_is_not_forgotten() {
    let folder = trained();
    let split = Split::training(0.5, 1);
    let learner = |recording| {
        HierarchicalConceptLearner::builder(Whitespace::from_texts(WORDS))
            .with_chunk_sizes([3, 2])
            .with_recording(recording)
            .build()
            .unwrap()
    };
    let provenance = Recording {
        provenance: true,
        metadata: false,
    };
    for (kb, recording, split, reason) in [
        ("provenance", provenance, None, "first seen"),
        ("split", Recording::default(), Some(split), "held out"),
    ] {
        let learner = learner(recording);
        let configuration = RunConfiguration::from_learner(&learner).with_split(split);
        let dir = folder.0.path().join(kb);
        let store = EmbeddedStore::create(&dir, &learner.node_names(), configuration.to_json());
        let store = store.unwrap();
        let mut reading = corpus(folder.files(&[0, 1]));
        if let Some(split) = split {
            reading = reading.with_split(split);
        }
        let mut loader = reading.build().unwrap();
        train_parallel(&mut loader, &learner, &store, &options(1), |_| {}).unwrap();
        drop(store);
        assert_refused(&folder, kb, 0, reason);
    }
    let reading = |file| corpus(folder.files(&[file]));
    let mixture = StreamingDatasetLoader::builder()
        .with_mixed(1.0, reading(0))
        .with_mixed(1.0, reading(1));
    train(&folder.open("mixture"), mixture, 1);
    assert_refused(&folder, "mixture", 0, "mixture");
    train(&folder.open("sample"), reading(0).with_skip_records(1), 1);
    assert_refused(&folder, "sample", 0, "passed over");
    folder.open("new");
    assert_refused(&folder, "new", 0, "no training is in it");
}

#[test]
fn what_was_purged_stays_away_and_what_is_retired_is_forgotten_with_the_rest() {
    let folder = trained();
    train(&folder.open("without"), corpus(folder.files(&[0, 2])), 2);
    for kb in ["kb", "without"] {
        let store = folder.open(kb);
        let mut tombstones = Tombstones::of_store(&store).unwrap();
        let all = folder.open("all");
        train(&all, corpus(folder.files(&[0, 1, 2])), 1);
        let mut patterns = all.scan(0).unwrap().map(|pattern| pattern.unwrap().name);
        let (purged, retired) = (patterns.next().unwrap(), patterns.next().unwrap());
        tombstones[0].purge(purged);
        tombstones[0].retire(retired);
        store
            .bury(tombstones, &[vec![purged], Vec::new()], store.checkpoint())
            .unwrap();
    }
    folder.forget("kb", &[1]).unwrap();
    assert_eq!(folder.content("kb"), folder.content("without"));
}

#[test]
fn what_was_forgotten_otherwise_is_not_taken_back_twice() {
    let folder = trained();
    let store = folder.open("kb");
    let names = store
        .scan(0)
        .unwrap()
        .map(|pattern| pattern.unwrap().name)
        .collect();
    store
        .forget(&[names, Vec::new()], store.checkpoint())
        .unwrap();
    drop(store);
    let before = folder.content("kb");
    let error = folder.forget("kb", &[0]).unwrap_err();
    let RunsError::Store { source, .. } = error else {
        panic!("{error:?}");
    };
    assert!(
        matches!(source, StoreError::NotLearned { .. }),
        "{source:?}"
    );
    assert_eq!(folder.content("kb"), before);
}

#[test]
fn a_stop_leaves_everything_as_it_was() {
    let folder = trained();
    let before = folder.content("kb");
    let options = options(1);
    options.stop.stop();
    let store = folder.open("kb");
    let error = forget(&store, &learner(), &folder.files(&[0]), &options, |it| it).unwrap_err();
    assert_eq!(error.kind(), kato_advice::ErrorKind::Interrupted);
    drop(store);
    assert_eq!(folder.content("kb"), before);
}

#[test]
fn occurrences_go_with_what_is_forgotten_unless_somebody_writes_them() {
    let folder = trained();
    let kb = folder.0.path().join("kb");
    let before = folder.content("kb");
    let writer = Writer::new(&kb, Documents::new("corpus", 2, 5)).unwrap();
    let error = folder.forget("kb", &[1]).unwrap_err();
    assert_eq!(error.kind(), kato_advice::ErrorKind::Locked);
    assert_eq!(folder.content("kb"), before);
    assert!(Occurrences::are_kept(&kb));
    drop(writer);
    assert!(folder.forget("kb", &[1]).unwrap().had_occurrences);
    assert!(!Occurrences::are_kept(&kb));
    assert!(!folder.forget("kb", &[2]).unwrap().had_occurrences);
}

#[test]
fn a_manifest_says_what_is_left_also_where_occurrences_are() {
    let folder = trained();
    let kb = folder.0.path().join("kb");
    let file = ManifestFile::in_knowledge_base(&kb);
    let configuration = RunConfiguration::from_learner(&learner());
    let backend = RunBackend::new(BackendKind::Embedded, "kb");
    let manifest = RunManifest::begin(name("kb"), &configuration, backend);
    file.write(&manifest).unwrap();
    drop(Writer::new(&kb, Documents::new("corpus", 2, 5)).unwrap());
    // A file in the place of the first unit is removed by nobody.
    fs::write(kb.join("occurrences").join("0".repeat(20)), "").unwrap();
    let error = folder.forget("kb", &[1]).unwrap_err();
    assert!(
        matches!(error, RunsError::OccurrencesLeft { .. }),
        "{error:?}"
    );
    let results = file.read().unwrap().unwrap().results.unwrap();
    assert_eq!(results.documents, 3);
}
