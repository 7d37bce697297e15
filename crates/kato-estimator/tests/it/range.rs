//! From a hundred documents to a billion: finite, monotone, honest about the range; formats.

use kato_estimator::run_record::{FinishedRun, RunLevel};
use kato_estimator::{
    Calibration, EstimateError, EstimatedHierarchy, Figure, GrowthLaw, Method, SampleBuilder,
    StorageBreakdown, StorageEngine, StorageEstimator, Target,
};
use kato_test_needs::is_thorough;
use proptest::prelude::*;

use crate::corpus::Draws;

/// Documents of 5 to 64 tokens, frequent ones among them by a power law.
fn random_sample(seed: u64, documents: usize) -> Calibration {
    let mut draws = Draws::from_seed(seed);
    let mut sample = SampleBuilder::new(EstimatedHierarchy::new([4, 3, 3]).unwrap());
    for _ in 0..documents {
        let n_tokens = 5 + draws.below(60);
        let tokens: Vec<u32> = (0..n_tokens)
            .map(|_| {
                let limit = 1 + draws.below(300);
                draws.below(limit) as u32
            })
            .collect();
        sample.add(&[&tokens], n_tokens as u64 * 5);
    }
    Calibration::from_sample(&sample.finish().unwrap())
}

fn run() -> Calibration {
    let run = FinishedRun::new(EstimatedHierarchy::new([3, 3]).unwrap(), 100)
        .with_level(RunLevel::new(
            [(1, 2575), (2, 85), (3, 19), (4, 4), (9, 2), (17, 1)]
                .into_iter()
                .collect(),
        ))
        .with_level(RunLevel::new([(1, 967)].into_iter().collect()));
    Calibration::from_run(&run).unwrap()
}

fn figures(breakdown: &StorageBreakdown) -> Vec<Figure> {
    let levels = breakdown
        .level_estimates
        .iter()
        .flat_map(|level| [level.learns, level.distinct_patterns, level.bytes]);
    levels
        .chain([breakdown.total_patterns, breakdown.bytes])
        .collect()
}

fn relative_width(figure: &Figure) -> f64 {
    (figure.high / figure.low).ln()
}

#[test]
fn estimates_are_finite_and_monotone_from_one_sample_to_ten_billion() {
    let steps: &[u64] = match is_thorough() {
        true => &[1, 2, 3, 5, 7],
        false => &[1, 4],
    };
    for calibration in [random_sample(1, 80), run()] {
        for law in [
            None,
            Some(GrowthLaw::PitmanYor),
            Some(GrowthLaw::Slope),
            Some(GrowthLaw::Heaps),
            Some(GrowthLaw::Linear),
        ] {
            for engine in [
                StorageEngine::embedded(),
                StorageEngine::embedded_of_run(2, 256 << 20),
                StorageEngine::embedded_of_run(50, 4 << 20),
                StorageEngine::mongodb(),
            ] {
                let mut builder = StorageEstimator::builder()
                    .with_calibration(calibration.clone())
                    .with_engine(engine)
                    .with_force(true);
                if let Some(law) = law {
                    builder = builder.with_law(law);
                }
                let estimator = builder.build().unwrap();
                let mut before: Option<Vec<Figure>> = None;
                for decade in 0..10 {
                    for step in steps {
                        let now = figures(
                            &estimator
                                .estimate_storage(step * 10u64.pow(decade))
                                .unwrap(),
                        );
                        for (at, figure) in now.iter().enumerate() {
                            let (low, high) = (figure.low, figure.high);
                            assert!(
                                figure.value.is_finite()
                                    && high.is_finite()
                                    && low <= figure.value
                                    && figure.value <= high,
                                "{figure:?}"
                            );
                            if let Some(before) = &before {
                                // A store is smaller after a merge than before it.
                                let is_merged = matches!(engine, StorageEngine::Embedded(layout) if layout.commit_tokens.is_some());
                                let is_bytes = at % 3 == 2 || at + 1 == now.len();
                                let least = if is_merged && is_bytes {
                                    0.75
                                } else {
                                    1.0 - 1e-9
                                };
                                assert!(
                                    figure.value >= before[at].value * least,
                                    "{law:?} {decade} {step}: {figure:?} after {:?}",
                                    before[at]
                                );
                            }
                        }
                        before = Some(now);
                    }
                }
            }
        }
    }
}

#[test]
fn intervals_widen_with_the_extrapolation() {
    let estimator = StorageEstimator::builder()
        .with_calibration(random_sample(2, 100))
        .with_force(true)
        .build()
        .unwrap();
    let widths: Vec<f64> = [200, 1_000, 10_000, 1_000_000, 1_000_000_000]
        .map(|samples| relative_width(&estimator.estimate_storage(samples).unwrap().total_patterns))
        .to_vec();
    assert!(
        widths.windows(2).all(|pair| pair[0] < pair[1]),
        "{widths:?}"
    );
}

#[test]
fn the_sample_itself_is_told_exactly() {
    let calibration = random_sample(3, 60);
    let estimator = StorageEstimator::builder()
        .with_calibration(calibration.clone())
        .build()
        .unwrap();
    let breakdown = estimator
        .estimate(
            Target::samples(calibration.samples).with_text_bytes(calibration.text_bytes.unwrap()),
        )
        .unwrap();
    for level in &breakdown.level_estimates {
        assert!((level.learns.value - level.observed.observations() as f64).abs() < 1e-6);
        assert!((level.distinct_patterns.value - level.observed.distinct() as f64).abs() < 1e-6);
    }
}

#[test]
fn beyond_the_range_nothing_is_answered_unless_forced() {
    let builder = StorageEstimator::builder().with_calibration(run());
    let refused = builder
        .clone()
        .build()
        .unwrap()
        .estimate_storage(1_000_000)
        .unwrap_err();
    assert!(matches!(
        refused,
        EstimateError::TooFar {
            ratio: 10_000.0,
            limit: 200.0
        }
    ));
    insta::assert_snapshot!(refused, @"the target is 10000 times what was observed, more than 200 times");
    insta::assert_snapshot!(refused.advice().unwrap(), @"observe more, or ask for it all the same with `with_force(true)`");
    assert!(
        builder
            .with_force(true)
            .build()
            .unwrap()
            .estimate_storage(1_000_000)
            .is_ok()
    );
}

#[test]
fn what_cannot_be_answered_is_refused_with_its_reason() {
    let nothing = StorageEstimator::builder().build().unwrap_err();
    assert!(matches!(nothing, EstimateError::NoModel));
    assert!(
        StorageEstimator::builder()
            .with_calibration(run())
            .with_confidence(1.0)
            .build()
            .is_err()
    );
    let estimator = StorageEstimator::builder()
        .with_calibration(run())
        .build()
        .unwrap();
    assert!(matches!(
        estimator.estimate_storage(0),
        Err(EstimateError::Target { .. })
    ));
    assert!(
        matches!(
            estimator.estimate(Target::text_bytes(10)),
            Err(EstimateError::Target { .. })
        ),
        "the run tells no bytes of text"
    );
    assert!(matches!(
        SampleBuilder::new(EstimatedHierarchy::new([4]).unwrap()).finish(),
        Err(EstimateError::EmptySample)
    ));
}

#[test]
fn the_table_and_the_json_hold_what_was_estimated() {
    let estimator = StorageEstimator::builder()
        .with_calibration(run())
        .with_engine(StorageEngine::stock_kato())
        .build()
        .unwrap();
    let breakdown = estimator.estimate_storage(1_000).unwrap();
    insta::assert_snapshot!("table", breakdown);
    assert_eq!(
        StorageBreakdown::from_json(&breakdown.to_json()).unwrap(),
        breakdown
    );
    let mut other: serde_json::Value = serde_json::from_str(&breakdown.to_json()).unwrap();
    other["schema"] = 2.into();
    assert!(matches!(
        StorageBreakdown::from_json(&other.to_string()),
        Err(EstimateError::Json { .. })
    ));
    other["level_estimates"] = serde_json::json!([]);
    let keys: Vec<&String> = other.as_object().unwrap().keys().collect();
    insta::assert_json_snapshot!("json_keys", keys);
}

#[test]
fn a_calibration_survives_storing() {
    let calibration = random_sample(4, 30);
    assert_eq!(
        Calibration::from_json(&calibration.to_json()).unwrap(),
        calibration
    );
    assert!(Calibration::from_json("{}").is_err());
    // An older form lacks fields, and which ones says nothing to anybody.
    let told = Calibration::from_json(r#"{"schema": 2, "levels": []}"#).unwrap_err();
    assert!(
        told.to_string()
            .contains("it has schema 2, and this build reads 3"),
        "{told}"
    );
}

#[test]
fn plots_are_the_same_every_time_and_written_as_files() {
    let breakdown = StorageEstimator::builder()
        .with_calibration(run())
        .build()
        .unwrap()
        .estimate_storage(10_000)
        .unwrap();
    // What a run learned stands beside what was foretold of it.
    let level = |n| RunLevel::new([(1, n), (3, n / 50)].into_iter().collect());
    let truth = FinishedRun::new(EstimatedHierarchy::new([3, 3]).unwrap(), 10_000)
        .with_level(level(260_000))
        .with_level(level(90_000));
    let truth = Some(&truth);
    insta::assert_snapshot!("growth_svg", breakdown.growth_svg(None));
    insta::assert_snapshot!("growth_with_truth_svg", breakdown.growth_svg(truth));
    insta::assert_snapshot!("repeats_svg", breakdown.repeats_svg(truth));
    insta::assert_snapshot!("bytes_svg", breakdown.bytes_svg());
    insta::assert_snapshot!("rank_frequency_svg", breakdown.rank_frequency_svg());
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("plots");
    let written = breakdown.write_plots(&folder, None).unwrap();
    let read = written
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap());
    assert_eq!(
        read.collect::<Vec<_>>(),
        [
            breakdown.rank_frequency_svg(),
            breakdown.growth_svg(None),
            breakdown.repeats_svg(None),
            breakdown.bytes_svg()
        ]
    );
    // A file where a folder should be: the message names it.
    let error = breakdown.write_plots(&written[0], None).unwrap_err();
    assert!(matches!(&error, EstimateError::Plot { path, .. } if *path == written[0]));
    assert!(error.to_string().contains("rank-frequency.svg"), "{error}");
}

#[test]
fn bounded_memory_changes_little() {
    let mut draws = Draws::from_seed(7);
    let documents: Vec<Vec<u32>> = (0..400)
        .map(|_| {
            (0..200)
                .map(|_| {
                    let limit = 1 + draws.below(2_000);
                    draws.below(limit) as u32
                })
                .collect()
        })
        .collect();
    let estimate = |max_patterns: usize| {
        let mut sample = SampleBuilder::new(EstimatedHierarchy::new([3]).unwrap())
            .with_max_patterns(max_patterns);
        documents
            .iter()
            .for_each(|tokens| sample.add(&[tokens], 900));
        let sample = sample.finish().unwrap();
        let is_exact = sample.levels[0].is_exact;
        let estimator = StorageEstimator::builder()
            .with_calibration(Calibration::from_sample(&sample))
            .build()
            .unwrap();
        (
            is_exact,
            estimator
                .estimate_storage(8_000)
                .unwrap()
                .total_patterns
                .value,
        )
    };
    let (all, few) = (estimate(1_000_000), estimate(10_000));
    assert!(all.0 && !few.0);
    assert!((few.1 / all.1 - 1.0).abs() < 0.05, "{few:?} {all:?}");
}

#[test]
fn a_document_of_more_patterns_than_are_kept_is_counted_like_many() {
    let mut draws = Draws::from_seed(5);
    let paragraphs: Vec<Vec<u32>> = (0..600)
        .map(|_| (0..2_000).map(|_| draws.below(50_000) as u32).collect())
        .collect();
    // Of few that are kept, so little of a document is left that a sample itself would have kept all.
    for (max_patterns, most) in [(1 << 18, 0.02), (1_000, 0.15)] {
        let hierarchy = EstimatedHierarchy::new([2, 2]).unwrap();
        let mut sample = SampleBuilder::new(hierarchy).with_max_patterns(max_patterns);
        for _ in 0..2 {
            sample.add(&paragraphs, 6_000_000);
        }
        let sample = sample.finish().unwrap();
        // The last two chunks of a paragraph are one.
        for (level, learns) in sample.levels.iter().zip([1_198_800, 599_400]) {
            assert_eq!(level.learns, learns);
            assert!(!level.is_exact);
            // Both times all of what is kept was counted.
            assert!(level.frequencies.iter().all(|(times, _)| times % 2 == 0));
            let distinct = level.frequencies.distinct() as f64;
            assert!(
                (2.0 * distinct / learns as f64 - 1.0).abs() < most,
                "{distinct} of {max_patterns} kept"
            );
        }
        let estimator = StorageEstimator::builder()
            .with_calibration(Calibration::from_sample(&sample))
            .build()
            .unwrap();
        let all = estimator.estimate(Target::samples(2)).unwrap();
        for level in &all.level_estimates {
            assert_eq!(level.learns.method, Method::Counted);
            assert_eq!(level.distinct_patterns.method, Method::Ratio);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_sample_gives_an_answer(
        documents in prop::collection::vec(prop::collection::vec(prop::collection::vec(0..5u32, 0..20), 0..4), 1..6),
        sizes in prop::collection::vec(2..6usize, 1..4),
        samples in 1..2_000u64,
    ) {
        let mut sample = SampleBuilder::new(EstimatedHierarchy::new(sizes).unwrap());
        for paragraphs in &documents {
            sample.add(paragraphs, 10);
        }
        if let Ok(sample) = sample.finish() {
            let estimator = StorageEstimator::builder().with_calibration(Calibration::from_sample(&sample)).with_force(true).build().unwrap();
            for figure in figures(&estimator.estimate_storage(samples).unwrap()) {
                prop_assert!(figure.value.is_finite() && figure.value >= 0.0);
                prop_assert!(figure.low <= figure.value && figure.value <= figure.high);
            }
        }
    }
}
