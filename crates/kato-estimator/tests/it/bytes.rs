//! Bytes of the embedded store against directories that it wrote.

use kato_estimator::{Calibration, Hierarchy, StorageEstimator, Target};
use kato_learner::HierarchicalConceptLearner;
use kato_store::{EmbeddedStore, PatternStore as _};
use kato_tokenizer::gpt2;
use serde_json::json;

use crate::corpus::{self, Document};
use crate::learner::learn;

/// Bytes of a directory with a knowledge base of these documents.
fn written(sizes: &[usize], documents: &[Document]) -> u64 {
    let learner = HierarchicalConceptLearner::builder(gpt2())
        .chunk_sizes(sizes.to_vec())
        .build()
        .unwrap();
    let learned = learn(
        &learner,
        documents.iter().map(|document| document.text.as_str()),
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kb");
    let store = EmbeddedStore::create(&path, &learner.node_names(), json!({})).unwrap();
    store
        .commit(vec![store.stage(learned).unwrap()], json!({}))
        .unwrap();
    let files = [path.clone(), path.join("segments")].map(|dir| std::fs::read_dir(dir).unwrap());
    let sizes = files
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().metadata().unwrap());
    sizes
        .filter(|metadata| metadata.is_file())
        .map(|metadata| metadata.len())
        .sum()
}

#[test]
fn known_contents_take_the_bytes_that_the_store_writes() {
    let Some(corpora) = corpus::real() else {
        return;
    };
    println!("| chunk sizes | documents | written | predicted | error |");
    for sizes in [vec![3, 5], vec![5, 7, 9], vec![15]] {
        for share in [1, 8, 64] {
            let documents = &corpora[0].documents[..corpora[0].documents.len() / share];
            let actual = written(&sizes, documents) as f64;
            let sample = corpus::sample(&Hierarchy::new(sizes.clone()).unwrap(), documents);
            let target = Target::text_bytes(sample.text_bytes);
            let estimator = StorageEstimator::builder()
                .calibration(Calibration::from_sample(&sample))
                .build()
                .unwrap();
            let predicted = estimator.estimate(target).unwrap().bytes.value;
            let error = predicted / actual - 1.0;
            println!(
                "| {sizes:?} | {} | {actual} | {predicted:.0} | {:+.2} % |",
                documents.len(),
                error * 100.0
            );
            assert!(error.abs() < 0.02, "{sizes:?} {share}");
        }
    }
}

#[test]
fn a_tenth_of_the_documents_tells_the_bytes_of_all() {
    let Some(corpora) = corpus::real() else {
        return;
    };
    let documents = &corpora[0].documents;
    for sizes in [vec![4, 5], vec![5, 7, 9], vec![8, 5], vec![15]] {
        let actual = written(&sizes, documents) as f64;
        let mut draws = corpus::Draws(sizes[0] as u64);
        let sample = corpus::sample(
            &Hierarchy::new(sizes.clone()).unwrap(),
            draws.choose(documents, documents.len() / 10),
        );
        let text_bytes = documents
            .iter()
            .map(|document| document.text.len() as u64)
            .sum();
        let estimator = StorageEstimator::builder()
            .calibration(Calibration::from_sample(&sample))
            .build()
            .unwrap();
        let bytes = estimator
            .estimate(Target::text_bytes(text_bytes))
            .unwrap()
            .bytes;
        let error = bytes.value / actual - 1.0;
        println!(
            "| {sizes:?} | {actual} | {:.0} | {:+.2} % |",
            bytes.value,
            error * 100.0
        );
        assert!(
            error.abs() < 0.05 && bytes.covers(actual),
            "{sizes:?} {bytes:?}"
        );
    }
}
