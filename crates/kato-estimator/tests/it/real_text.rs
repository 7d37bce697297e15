//! The full corpus predicted from 1 % of its documents.

use kato_estimator::run_record::{FinishedRun, RunLevel};
use kato_estimator::{Calibration, EstimatedHierarchy, StorageEstimator, Target};
use kato_test_needs::is_thorough;

use crate::corpus::{self, Corpus, Draws};

/// Random splits of each case.
fn n_splits() -> usize {
    if is_thorough() { 20 } else { 8 }
}

#[derive(Default)]
struct Errors {
    patterns: Vec<f64>,
    repeats: Vec<f64>,
    bytes_known: Vec<f64>,
    covered: usize,
}

impl Errors {
    fn median(values: &[f64]) -> f64 {
        let mut sorted: Vec<f64> = values.iter().map(|value| value.abs()).collect();
        sorted.sort_by(f64::total_cmp);
        (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
    }

    fn worst(values: &[f64]) -> f64 {
        values.iter().fold(0.0, |worst, &value| {
            if value.abs() > f64::abs(worst) {
                value
            } else {
                worst
            }
        })
    }
}

/// Errors of level 0 over random splits, `share` of the documents known, and the text bytes of the
/// corpus.
fn measure(corpus: &Corpus, chunk_size: usize, share: f64) -> Errors {
    let hierarchy = EstimatedHierarchy::new([chunk_size, 5]).unwrap();
    let full = corpus::sample(&hierarchy, &corpus.documents);
    let truth = full.levels[0].frequencies.distinct() as f64;
    let repeats = full.levels[0].learns as f64 - truth;
    let n = (corpus.documents.len() as f64 * share).round().max(1.0) as usize;
    let mut errors = Errors::default();
    for split in 0..n_splits() {
        let mut draws = Draws::from_seed((split * 1_000 + chunk_size) as u64);
        let sample = corpus::sample(&hierarchy, draws.choose(&corpus.documents, n));
        let estimator = StorageEstimator::builder()
            .with_calibration(Calibration::from_sample(&sample))
            .build()
            .unwrap();
        let breakdown = estimator
            .estimate(Target::text_bytes(full.text_bytes))
            .unwrap();
        let level = &breakdown.level_estimates[0];
        errors
            .patterns
            .push(level.distinct_patterns.value / truth - 1.0);
        errors
            .repeats
            .push(level.learns.value * level.dedup_share.value / repeats - 1.0);
        errors.covered += usize::from(level.distinct_patterns.covers(truth));
        let both = Target::samples(full.documents).with_text_bytes(full.text_bytes);
        let both = estimator.estimate(both).unwrap();
        errors
            .bytes_known
            .push(both.level_estimates[0].distinct_patterns.value / truth - 1.0);
    }
    errors
}

fn print_row(corpus: &Corpus, chunk_size: usize, errors: &Errors) {
    let percent = |value: f64| value * 100.0;
    println!(
        "| {} | {chunk_size} | {:.1} % ({:+.1} %) | {:.1} % ({:+.1} %) | {:.0} % | {} of {} |",
        corpus.name,
        percent(Errors::median(&errors.patterns)),
        percent(Errors::worst(&errors.patterns)),
        percent(Errors::median(&errors.bytes_known)),
        percent(Errors::worst(&errors.bytes_known)),
        percent(Errors::median(&errors.repeats)),
        errors.covered,
        n_splits(),
    );
}

#[test]
fn one_percent_of_the_documents_tells_the_distinct_patterns_of_all() {
    let Some(corpora) = corpus::real() else {
        return;
    };
    println!(
        "| corpus | chunk | bytes known: median (worst) | bytes and documents known | repeats, median | covered |"
    );
    let mut failures = Vec::new();
    let mut covered = 0;
    for chunk_size in [4, 5, 8, 15] {
        let errors = measure(&corpora[0], chunk_size, 0.01);
        print_row(&corpora[0], chunk_size, &errors);
        covered += errors.covered;
        if Errors::median(&errors.patterns) > 0.03
            || Errors::worst(&errors.patterns).abs() > 0.10
            || Errors::median(&errors.bytes_known) > 0.03
        {
            failures.push(chunk_size);
        }
    }
    assert_eq!(failures, [] as [usize; 0]);
    assert!(
        covered * 10 >= 4 * n_splits() * 9,
        "intervals for 90 % covered {covered} of {}",
        4 * n_splits()
    );
}

#[test]
fn other_texts_and_other_documents_are_told_within_their_intervals() {
    let Some(corpora) = corpus::real() else {
        return;
    };
    let mut covered = 0;
    for (corpus, share) in [(&corpora[1], 0.05), (&corpora[2], 0.01)] {
        for chunk_size in [4, 5, 8, 15] {
            let errors = measure(corpus, chunk_size, share);
            print_row(corpus, chunk_size, &errors);
            covered += errors.covered;
            assert!(Errors::worst(&errors.patterns).abs() < 0.2);
        }
    }
    assert!(
        covered * 10 >= 8 * n_splits() * 9,
        "intervals for 90 % covered {covered} of {}",
        8 * n_splits()
    );
}

#[test]
fn a_run_over_neighbouring_documents_tells_ten_times_as_many_without_bias() {
    let Some(corpora) = corpus::real() else {
        return;
    };
    println!("| corpus | chunk | documents | learn calls | mean error | largest error | covered |");
    let (mut n_covered, mut n_all) = (0, 0);
    let (chunk_sizes, numbers): (&[usize], &[usize]) = match is_thorough() {
        true => (&[3, 5, 8], &[25, 100, 250, 500]),
        false => (&[3, 8], &[25, 250]),
    };
    for corpus in [&corpora[0], &corpora[2]] {
        for (chunk_size, n) in chunk_sizes
            .iter()
            .flat_map(|&size| numbers.iter().map(move |&n| (size, n)))
        {
            let hierarchy = EstimatedHierarchy::new([chunk_size]).unwrap();
            let beyond = corpus.documents.len() - 10 * n;
            let (mut errors, mut calls, mut covered) = (Vec::new(), 0, 0);
            for offset in (0..=beyond).step_by((beyond / 8).max(1)) {
                let documents = &corpus.documents[offset..];
                let small = corpus::sample(&hierarchy, &documents[..n]);
                let large = corpus::sample(&hierarchy, &documents[..10 * n]);
                let frequencies = small.levels[0].frequencies.clone();
                calls += frequencies.observations();
                let run = FinishedRun::new(hierarchy.clone(), n as u64)
                    .with_text_bytes(small.text_bytes)
                    .with_level(RunLevel::new(frequencies));
                let estimator = StorageEstimator::builder()
                    .with_calibration(Calibration::from_run(&run).unwrap())
                    .build()
                    .unwrap();
                let patterns = estimator
                    .estimate(Target::text_bytes(large.text_bytes))
                    .unwrap()
                    .total_patterns;
                let actual = large.levels[0].frequencies.distinct() as f64;
                errors.push(patterns.value / actual - 1.0);
                covered += usize::from(patterns.covers(actual));
            }
            let runs = errors.len();
            let mean = errors.iter().sum::<f64>() / runs as f64;
            println!(
                "| {} | {chunk_size} | {n} | {} | {:+.1} % | {:+.1} % | {covered} of {runs} |",
                corpus.name,
                calls / runs as u64,
                mean * 100.0,
                Errors::worst(&errors) * 100.0
            );
            assert!(
                mean.abs() < 0.04,
                "{} {chunk_size} {n}: {mean}",
                corpus.name
            );
            (n_covered, n_all) = (n_covered + covered, n_all + runs);
        }
    }
    assert!(n_covered * 10 >= n_all * 9, "{n_covered} of {n_all}");
}
