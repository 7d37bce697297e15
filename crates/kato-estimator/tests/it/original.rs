//! The original's storage formula against the runs of the original: fixed shares of repeats and
//! 20 % overhead, which no run has.

use kato_estimator::{Calibration, StorageEngine, StorageEstimator};

use crate::recorded_runs::recorded;

/// What the formula says of a level: learn calls, distinct patterns, bytes.
type Level = (f64, f64, f64);

/// The formula: U = N · (1 − d) distinct patterns of N learn calls, d = 0.6 · 0.7^level, and
/// U · (56 + 35 · chunk size + 150) bytes, with 60 for 35 above level 0, times 1.2.
fn original(n_levels: usize, chunk_size: usize, tokens: f64) -> Vec<Level> {
    let chunk = chunk_size as f64;
    let mut input = tokens;
    (0..n_levels)
        .map(|level| {
            // It divides whole numbers.
            let learns = (input / chunk).floor();
            let patterns = learns * (1.0 - repeats(level));
            // Only new patterns go up, while a run passes every name up.
            input = patterns;
            let symbol = if level == 0 { 35.0 } else { 60.0 };
            let bytes = patterns * (56.0 + chunk * symbol + 150.0) * 1.2;
            (learns, patterns, bytes)
        })
        .collect()
}

/// Share of learn calls that repeat a pattern, by the formula.
fn repeats(level: usize) -> f64 {
    0.6 * 0.7f64.powf(level as f64)
}

#[test]
fn the_formula_gives_the_figures_that_the_original_documents() {
    // A million documents of 500 tokens, four levels of chunk size 15.
    let rounded: Vec<[u64; 3]> = original(4, 15, 500e6)
        .into_iter()
        .map(|(learns, patterns, bytes)| [learns, patterns, bytes / 1e5].map(|x| x.round() as u64))
        .collect();
    assert_eq!(
        rounded,
        [
            [33_333_333, 13_333_333, 116_960],
            [888_888, 515_555, 6_842],
            [34_370, 24_265, 322],
            [1_617, 1_284, 17],
        ]
    );
    let shares: Vec<f64> = (0..4)
        .map(|level| (repeats(level) * 1e4).round() / 1e4)
        .collect();
    assert_eq!(shares, [0.6, 0.42, 0.294, 0.2058]);
}

#[test]
fn no_recorded_run_repeats_as_much_as_the_formula_says() {
    for run in recorded() {
        for (level, found) in run
            .levels
            .iter()
            .enumerate()
            .filter(|(_, l)| l.observations > 0)
        {
            let share = 1.0 - found.patterns as f64 / found.observations as f64;
            assert!(
                share < 0.11 && share < repeats(level),
                "{} {level}: {share}",
                run.run
            );
        }
    }
}

#[test]
fn the_estimate_is_nearer_to_a_recorded_run_than_the_formula() {
    let runs = recorded();
    let mut n_checked = 0;
    for large in runs.iter().filter(|run| run.requested == 1_000) {
        let small = runs
            .iter()
            .find(|run| run.requested == 100 && run.chunk_sizes == large.chunk_sizes);
        // The formula knows one chunk size.
        let (Some(small), [chunk, rest @ ..]) = (small, large.chunk_sizes.as_slice()) else {
            continue;
        };
        if rest.iter().any(|size| size != chunk) {
            continue;
        }
        let tokens = large.levels[0].observations as f64 * *chunk as f64;
        let theirs = original(large.levels.len(), *chunk, tokens);
        let theirs: f64 = theirs.iter().map(|level| level.1).sum();
        let ours = StorageEstimator::builder()
            .with_calibration(Calibration::from_run(&small.record()).unwrap())
            .with_engine(StorageEngine::stock_kato())
            .build()
            .unwrap()
            .estimate_storage(large.samples)
            .unwrap();
        let error = |patterns: f64| (patterns / large.patterns()).ln().abs();
        let (ours, theirs) = (error(ours.total_patterns.value), error(theirs));
        assert!(ours * 3.0 < theirs, "{}: {ours} {theirs}", large.run);
        n_checked += 1;
    }
    assert!(n_checked >= 8, "{n_checked}");
}
