//! Recorded runs of the original: 1,000 documents predicted from 100.

use std::collections::BTreeMap;

use kato_estimator::bytes::{ByteMeasurement, ByteModel, LevelContents};
use kato_estimator::power_law::PowerLaw;
use kato_estimator::run_record::{FinishedRun, RunLevel};
use kato_estimator::{
    Calibration, EstimatedHierarchy, FrequencyCounts, StorageEngine, StorageEstimator,
};
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Recorded {
    pub(crate) run: String,
    pub(crate) chunk_sizes: Vec<usize>,
    pub(crate) samples: u64,
    pub(crate) requested: u64,
    pub(crate) levels: Vec<RecordedLevel>,
}

#[derive(Deserialize)]
pub(crate) struct RecordedLevel {
    bytes: u64,
    pub(crate) observations: u64,
    pub(crate) patterns: u64,
    frequencies: BTreeMap<u64, u64>,
}

#[derive(Deserialize)]
struct Gamma {
    run: String,
    level: usize,
    gamma: f64,
}

impl Recorded {
    fn frequencies(&self, level: usize) -> FrequencyCounts {
        self.levels[level]
            .frequencies
            .iter()
            .map(|(&f, &n)| (f, n))
            .collect()
    }

    pub(crate) fn record(&self) -> FinishedRun {
        let run = FinishedRun::new(
            EstimatedHierarchy::new(self.chunk_sizes.clone()).unwrap(),
            self.samples,
        )
        .with_engine("stock-kato");
        (0..self.levels.len()).fold(run, |run, level| {
            run.with_level(
                RunLevel::new(self.frequencies(level)).with_bytes(self.levels[level].bytes),
            )
        })
    }

    pub(crate) fn patterns(&self) -> f64 {
        self.levels.iter().map(|level| level.patterns as f64).sum()
    }

    fn bytes(&self) -> f64 {
        self.levels.iter().map(|level| level.bytes as f64).sum()
    }
}

pub(crate) fn recorded() -> Vec<Recorded> {
    let lines = include_str!("../data/recorded-runs.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_histograms_of_the_records_add_up_to_their_totals() {
    for run in recorded() {
        for (idx, level) in run.levels.iter().enumerate() {
            let frequencies = run.frequencies(idx);
            assert_eq!(
                (frequencies.observations(), frequencies.distinct()),
                (level.observations, level.patterns),
                "{} {idx}",
                run.run
            );
        }
    }
}

#[test]
fn runs_of_a_thousand_documents_are_predicted_from_runs_of_a_hundred_within_15_percent() {
    let runs = recorded();
    println!("| run | patterns | predicted | error | interval | bytes error |");
    let mut n_checked = 0;
    let mut covered = 0;
    for large in runs.iter().filter(|run| run.requested == 1_000) {
        let Some(small) = runs
            .iter()
            .find(|run| run.requested == 100 && run.chunk_sizes == large.chunk_sizes)
        else {
            continue;
        };
        let calibration = Calibration::from_run(&small.record()).unwrap();
        let estimator = StorageEstimator::builder()
            .with_calibration(calibration)
            .with_engine(StorageEngine::stock_kato())
            .build()
            .unwrap();
        let breakdown = estimator.estimate_storage(large.samples).unwrap();
        let error = breakdown.total_patterns.value / large.patterns() - 1.0;
        let bytes_error = breakdown.bytes.value / large.bytes() - 1.0;
        println!(
            "| {} | {} | {:.0} | {:+.1} % | {:.0}–{:.0} | {:+.1} % |",
            large.run,
            large.patterns(),
            breakdown.total_patterns.value,
            error * 100.0,
            breakdown.total_patterns.low,
            breakdown.total_patterns.high,
            bytes_error * 100.0
        );
        assert!(
            error.abs() < 0.15 && bytes_error.abs() < 0.15,
            "{}",
            large.run
        );
        covered += u32::from(breakdown.total_patterns.covers(large.patterns()));
        n_checked += 1;
    }
    assert_eq!(n_checked, 13);
    assert_eq!(covered, n_checked);
}

#[test]
fn the_history_tells_its_own_error_by_leaving_runs_out() {
    let runs: Vec<FinishedRun> = recorded().iter().map(Recorded::record).collect();
    let hierarchy = EstimatedHierarchy::new([6; 5]).unwrap();
    let calibration = Calibration::from_history(&runs, &hierarchy).unwrap();
    assert_eq!(calibration.samples, 1_000);
    assert_eq!(calibration.held_out.len(), 3);
    assert!(
        calibration
            .held_out
            .iter()
            .all(|held| held.error().abs() < 0.15),
        "{:?}",
        calibration.held_out
    );
    assert!(Calibration::from_history(&runs, &EstimatedHierarchy::new([9, 9]).unwrap()).is_err());
}

#[test]
fn exponents_of_the_frequencies_are_those_of_an_independent_maximum_likelihood_fit() {
    let runs = recorded();
    let gammas = include_str!("../data/recorded-gammas.jsonl").lines();
    let mut n_checked = 0;
    for line in gammas {
        let expected: Gamma = serde_json::from_str(line).unwrap();
        let run = runs.iter().find(|run| run.run == expected.run).unwrap();
        let law = PowerLaw::fit(&run.frequencies(expected.level), 1).unwrap();
        assert!(
            (law.gamma - expected.gamma).abs() < 0.006,
            "{} node{}: {} not {}",
            run.run,
            expected.level,
            law.gamma,
            expected.gamma
        );
        n_checked += 1;
    }
    assert_eq!(n_checked, 30);
}

#[test]
fn bytes_of_the_recorded_levels_follow_from_patterns_symbols_and_distinct_symbols() {
    let model = ByteModel::stock_kato();
    let mut measurements = Vec::new();
    for run in recorded() {
        let [bottom, above] = [0, 1].map(|idx| &run.levels[idx]);
        let mean =
            (bottom.observations as f64 / above.observations as f64).min(run.chunk_sizes[1] as f64);
        let contents = LevelContents {
            patterns: above.patterns as f64,
            repeated: 0.0,
            symbols: above.patterns as f64 * mean,
            distinct_symbols: bottom.patterns as f64,
        };
        let error = model.bytes(&contents, false) / above.bytes as f64 - 1.0;
        assert!(error.abs() < 0.01, "{} {error}", run.run);
        measurements.push(ByteMeasurement {
            is_bottom: true,
            contents,
            bytes: above.bytes as f64,
        });
    }
    let fitted = ByteModel::fit(&measurements, 0.0).unwrap();
    assert!(
        (fitted.bottom.per_symbol / model.above.per_symbol - 1.0).abs() < 0.02,
        "{fitted:?}"
    );
}
