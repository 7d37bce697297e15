//! Bytes of the embedded store against directories that it wrote.

use kato_estimator::bytes::EmbeddedLayout;
use kato_estimator::{Calibration, EstimatedHierarchy, StorageEngine, StorageEstimator, Target};
use kato_learner::HierarchicalConceptLearner;
use kato_store::{EmbeddedStore, PatternStore as _};
use kato_tokenizer::gpt2;
use serde_json::json;

use crate::corpus::{self, Document};
use crate::learner::learn;

/// Bytes of a directory with a knowledge base of these documents, after so many commits.
fn written(sizes: &[usize], documents: &[&Document], commits: usize) -> u64 {
    let learner = HierarchicalConceptLearner::builder(gpt2())
        .with_chunk_sizes(sizes.to_vec())
        .build()
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kb");
    let store = EmbeddedStore::create(&path, &learner.node_names(), json!({})).unwrap();
    for part in documents.chunks(documents.len().div_ceil(commits)) {
        let learned = learn(&learner, part.iter().map(|document| document.text.as_str()));
        store
            .commit(vec![store.stage(learned).unwrap()], json!({}))
            .unwrap();
    }
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

fn refer(documents: &[Document]) -> Vec<&Document> {
    documents.iter().collect()
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
            let actual = written(&sizes, &refer(documents), 1) as f64;
            let sample =
                corpus::sample(&EstimatedHierarchy::new(sizes.clone()).unwrap(), documents);
            let target = Target::text_bytes(sample.text_bytes);
            let estimator = StorageEstimator::builder()
                .with_calibration(Calibration::from_sample(&sample))
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
        let actual = written(&sizes, &refer(documents), 1) as f64;
        let mut draws = corpus::Draws::from_seed(sizes[0] as u64);
        let sample = corpus::sample(
            &EstimatedHierarchy::new(sizes.clone()).unwrap(),
            draws.choose(documents, documents.len() / 10),
        );
        let text_bytes = documents
            .iter()
            .map(|document| document.text.len() as u64)
            .sum();
        let estimator = StorageEstimator::builder()
            .with_calibration(Calibration::from_sample(&sample))
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

#[test]
fn commits_leave_segments_that_share_patterns() {
    let Some(corpora) = corpus::real() else {
        return;
    };
    let documents = &corpora[0].documents;
    let in_order = refer(documents);
    let shuffled = corpus::Draws::from_seed(5).choose(documents, documents.len());
    println!("| chunk sizes | commits | order | written | predicted | error |");
    for sizes in [vec![3, 5], vec![5, 7, 9]] {
        let sample = corpus::sample(&EstimatedHierarchy::new(sizes.clone()).unwrap(), documents);
        let calls = sample.levels[0].frequencies.observations();
        let tokens = calls as f64 * sizes[0] as f64;
        for commits in [4, 64, 67, 300] {
            let layout = EmbeddedLayout {
                commit_tokens: Some(tokens / (commits as f64 - 0.5)),
                ..EmbeddedLayout::default()
            };
            let estimator = StorageEstimator::builder()
                .with_calibration(Calibration::from_sample(&sample))
                .with_engine(StorageEngine::Embedded(layout))
                .build()
                .unwrap();
            let target = Target::text_bytes(sample.text_bytes);
            let predicted = estimator.estimate(target).unwrap().bytes;
            // Neighbours repeat each other, and patterns within a commit are stored once.
            for (order, documents, tolerance) in
                [("shuffled", &shuffled, 0.03), ("as it is", &in_order, 0.14)]
            {
                let actual = written(&sizes, documents, commits) as f64;
                let error = predicted.value / actual - 1.0;
                println!(
                    "| {sizes:?} | {commits} | {order} | {actual} | {:.0} | {:+.2} % |",
                    predicted.value,
                    error * 100.0
                );
                assert!(
                    error.abs() < tolerance && predicted.covers(actual),
                    "{sizes:?} {commits} {order}: {predicted:?}"
                );
            }
        }
    }
}
