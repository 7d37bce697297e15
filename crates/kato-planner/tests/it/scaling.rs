//! Series of known laws with known noise: the right law is chosen, and intervals hold.

use kato_planner::scaling::{Law, Limit, ScalingAnalyzer, ScalingError};
use kato_random::SplitMix64;
use proptest::prelude::*;

/// Three decades of sizes, each measured three times.
const SIZES: [f64; 8] = [1e3, 2.7e3, 7.2e3, 1.9e4, 5.2e4, 1.4e5, 3.7e5, 1e6];
const REPEATS: usize = 3;

/// Series of each kind: 400, or as many as KATO_SCALING_SERIES says.
fn n_series() -> usize {
    let asked = std::env::var("KATO_SCALING_SERIES").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(400)
}

/// A series with a name, a law, its number of parameters, and what it takes without noise.
struct Truth {
    name: &'static str,
    law: Law,
    parameters: usize,
    value: fn(f64) -> f64,
}

const TRUTHS: [Truth; 9] = [
    Truth {
        name: "1",
        law: Law::Constant,
        parameters: 1,
        value: |_| 7.0,
    },
    Truth {
        name: "log n",
        law: Law::Logarithmic,
        parameters: 1,
        value: |n| 0.3 * n.ln_1p(),
    },
    Truth {
        name: "n",
        law: Law::Linear,
        parameters: 1,
        value: |n| 2e-4 * n,
    },
    Truth {
        name: "5 + n",
        law: Law::Linear,
        parameters: 2,
        value: |n| 5.0 + 2e-4 * n,
    },
    Truth {
        name: "n log n",
        law: Law::Linearithmic,
        parameters: 1,
        value: |n| 3e-6 * n * n.ln_1p(),
    },
    Truth {
        name: "n²",
        law: Law::Quadratic,
        parameters: 1,
        value: |n| 1e-9 * n * n,
    },
    Truth {
        name: "5 + n²",
        law: Law::Quadratic,
        parameters: 2,
        value: |n| 5.0 + 1e-9 * n * n,
    },
    Truth {
        name: "n^0.6",
        law: Law::Power,
        parameters: 2,
        value: |n| 0.4 * n.powf(0.6),
    },
    Truth {
        name: "n^1.5",
        law: Law::Power,
        parameters: 2,
        value: |n| 1e-6 * n.powf(1.5),
    },
];

/// Draws from the normal distribution, by Box and Muller.
fn normal(random: &mut SplitMix64) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

fn noisy(value: f64, noise: f64, random: &mut SplitMix64) -> f64 {
    value * (noise * normal(random)).exp()
}

/// Returns whether sizes and noise tell a series from all laws with no more parameters than its
/// own: whether the best of them misses it by so much that noise makes up for that in about a
/// hundredth of all cases.
fn can_be_told_apart(truth: &Truth, noise: f64) -> bool {
    let exact: Vec<(f64, f64)> = SIZES
        .iter()
        .map(|&size| (size, (truth.value)(size)))
        .collect();
    Law::COSTS
        .iter()
        .filter(|&&law| law != truth.law)
        .all(|&law| {
            let fits = ScalingAnalyzer::new()
                .with_laws([law])
                .fit(exact.clone())
                .unwrap()
                .fits();
            fits.iter()
                .filter(|fit| fit.parameters <= truth.parameters)
                .all(|fit| {
                    let squares = fit.spread.powi(2) * (SIZES.len() - fit.parameters) as f64;
                    squares * REPEATS as f64 / noise.powi(2) > 20.0
                })
        })
}

fn series(truth: &Truth, noise: f64, random: &mut SplitMix64) -> Vec<(f64, f64)> {
    let sizes = SIZES.iter().flat_map(|&size| [size; REPEATS]);
    sizes
        .map(|size| (size, noisy((truth.value)(size), noise, random)))
        .collect()
}

#[test]
fn the_right_law_is_found_and_intervals_hold() {
    println!(
        "law | noise | can be told apart | right | right or a rival | covered inside | at 10 times | at 100 times"
    );
    let mut random = SplitMix64::from_seed(18);
    let mut failed = Vec::new();
    for truth in &TRUTHS {
        for noise in [0.05, 0.2] {
            let (mut right, mut named, mut covered) = (0, 0, [0; 3]);
            let mut wrong = std::collections::BTreeMap::new();
            for _ in 0..n_series() {
                let points = series(truth, noise, &mut random);
                let scaling = ScalingAnalyzer::new().fit(points).unwrap();
                let is_named = scaling.law() == truth.law || scaling.rivals().contains(&truth.law);
                named += usize::from(is_named);
                match scaling.law() == truth.law {
                    true => right += 1,
                    false => *wrong.entry(scaling.law().name()).or_insert(0) += 1,
                }
                for (covered, size) in covered.iter_mut().zip([3e4, 1e7, 1e8]) {
                    let measured = noisy((truth.value)(size), noise, &mut random);
                    *covered += usize::from(scaling.predict(size).unwrap().covers(measured));
                }
            }
            let share = |count: usize| 100.0 * count as f64 / n_series() as f64;
            let [inside, ten, hundred] = covered.map(share);
            let is_told = can_be_told_apart(truth, noise);
            println!(
                "{} | {noise} | {is_told} | {:.1} % | {:.1} % | {inside:.1} % | {ten:.1} % | {hundred:.1} % {wrong:?}",
                truth.name,
                share(right),
                share(named)
            );
            let found = if is_told { share(right) } else { share(named) };
            // Three standard errors of a thousand series, and as many of fewer.
            let off = 3.0 * (1000.0 / n_series() as f64).sqrt().max(1.0);
            let holds = |share: f64, off: f64| (share - 90.0).abs() <= off;
            let holds = holds((inside + ten + hundred) / 3.0, 3.0)
                && [inside, ten, hundred]
                    .into_iter()
                    .all(|share| holds(share, off));
            if found < 95.0 || !holds {
                failed.push(format!("{} at {noise}", truth.name));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn distinct_patterns_by_pitman_and_yor_are_told_from_a_power() {
    // Θ = 20,000 and d = 0.5: nearly all new at first, and a square root in the end.
    let value = |n: f64| 40_000.0 * ((1.0 + n / 20_000.0_f64).sqrt() - 1.0);
    let mut random = SplitMix64::from_seed(3);
    let analyzer = ScalingAnalyzer::new().with_laws(Law::PATTERNS);
    let mut right = 0;
    let mut covered = 0;
    for _ in 0..100 {
        let points = SIZES.iter().flat_map(|&size| [size; REPEATS]);
        let points: Vec<_> = points
            .map(|n| (n, noisy(value(n), 0.05, &mut random)))
            .collect();
        let scaling = analyzer.fit(points).unwrap();
        right += usize::from(scaling.law() == Law::PitmanYor);
        let measured = noisy(value(1e7), 0.05, &mut random);
        covered += usize::from(scaling.predict(1e7).unwrap().covers(measured));
    }
    assert!(right >= 95 && covered >= 83, "{right} {covered}");
}

#[test]
fn sizes_too_close_leave_rivals_and_wide_intervals() {
    let mut random = SplitMix64::from_seed(5);
    let points = [1e3, 1.5e3, 2e3].into_iter().flat_map(|n| [n; 3]);
    let points = points.map(|n| (n, noisy(1e-3 * n, 0.2, &mut random)));
    let scaling = ScalingAnalyzer::new().fit(points).unwrap();
    assert!(!scaling.rivals().is_empty());
    let far = scaling.predict(1e5).unwrap();
    assert!(far.high / far.low > 20.0, "{far:?}");
    assert!(scaling.to_string().contains("could also be"), "{scaling}");
}

#[test]
fn three_measurements_are_fitted_without_a_fixed_part() {
    let scaling = ScalingAnalyzer::new()
        .fit([(1.0, 2.0), (10.0, 20.0), (100.0, 200.0)])
        .unwrap();
    assert_eq!(scaling.law(), Law::Linear);
    assert!(scaling.fits().iter().all(|fit| fit.parameters == 1));
    let there = scaling.predict(1000.0).unwrap();
    assert!((there.value - 2000.0).abs() < 1e-6 * 2000.0);
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let analyzer = ScalingAnalyzer::new();
    let few = analyzer.fit([(1.0, 1.0), (1.0, 2.0), (2.0, 3.0)]);
    assert_eq!(few.unwrap_err(), ScalingError::TooFewSizes { sizes: 2 });
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let points = [(1.0, 1.0), (2.0, bad), (3.0, 3.0)];
        assert!(matches!(
            analyzer.fit(points),
            Err(ScalingError::Value { position: 1, .. })
        ));
    }
    let points = [(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)];
    let scaling = analyzer.fit(points).unwrap();
    assert!(scaling.predict(400.0).is_ok());
    assert!(matches!(
        scaling.predict(401.0),
        Err(ScalingError::TooFar { .. })
    ));
    assert!(matches!(
        scaling.predict(0.009),
        Err(ScalingError::TooFar { .. })
    ));
    let forced = analyzer.clone().with_force(true).fit(points).unwrap();
    assert!((forced.predict(1e9).unwrap().value - 1e9).abs() < 1.0);
    assert!(analyzer.clone().with_confidence(1.0).fit(points).is_err());
    assert!(
        analyzer
            .clone()
            .with_max_extrapolation(0.5)
            .fit(points)
            .is_err()
    );
    let none = analyzer.with_laws([Law::Power]).fit(points);
    assert_eq!(none.unwrap_err(), ScalingError::NoLaw);
}

#[test]
fn a_limit_is_met_where_the_prediction_reaches_it() {
    let points =
        [1.0, 2.0, 5.0, 10.0, 20.0, 40.0].map(|n: f64| (n, 3.0 * n * (1.0 + 0.01 * n.sin())));
    let scaling = ScalingAnalyzer::new().fit(points).unwrap();
    let limits = [
        Limit::new("the disk is full", 3e5),
        Limit::new("memory is", 3e3),
    ];
    let crossings = scaling.crossings(&limits);
    assert_eq!(crossings[0].what, "memory is");
    let expected = crossings[0].expected.unwrap();
    assert!((expected / 1e3 - 1.0).abs() < 0.02, "{expected}");
    assert!(crossings[0].earliest.unwrap() < expected);
    assert_eq!(scaling.size_at(1.0), None, "below what was measured");
    assert_eq!(scaling.size_at(1e30), None, "further than anything");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_measurements_make_a_prediction_that_is_no_number(
        values in proptest::collection::vec((1e-3..1e9_f64, 1e-6..1e12_f64), 3..12),
        far in 1.0..100.0_f64,
    ) {
        let Ok(scaling) = ScalingAnalyzer::new().fit(values) else {
            return Ok(());
        };
        let at = scaling.range().1 * far;
        let there = scaling.predict(at).unwrap();
        prop_assert!(there.value.is_finite() && there.value > 0.0, "{:?}", there);
        prop_assert!(there.low <= there.value && there.value <= there.high, "{:?}", there);
        prop_assert!(there.low >= 0.0);
    }

    #[test]
    fn units_change_nothing_but_the_numbers(scale in 1e-6..1e6_f64) {
        let mut random = SplitMix64::from_seed(7);
        let points = series(&TRUTHS[2], 0.05, &mut random);
        let scaled = points.iter().map(|&(n, value)| (n, value * scale));
        let (a, b) = (
            ScalingAnalyzer::new().fit(points.clone()).unwrap(),
            ScalingAnalyzer::new().fit(scaled).unwrap(),
        );
        prop_assert_eq!(a.law(), b.law());
        let (a, b) = (a.predict(1e7).unwrap(), b.predict(1e7).unwrap());
        prop_assert!((b.high / a.high / scale - 1.0).abs() < 1e-6);
    }
}
