//! Metrics: exact sums against an oracle of whole numbers, scores against their definitions, and
//! the same bits for any split and order.

use kato_gradient::GradientError;
use kato_gradient::metric::{
    Classification, CosineMean, ExponentialMean, Mean, RegressionScores, cosine,
};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What comes back from a file.
fn reread<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// Pairs of numbers of very different sizes.
fn any_pairs() -> impl Strategy<Value = Vec<(f32, f32)>> {
    let number = prop_oneof![-1e3..1e3_f32, -1e-20..1e-20_f32, -1e20..1e20_f32, Just(0.0)];
    prop::collection::vec((number.clone(), number), 1..60)
}

/// Hands `items` to several collectors, merges these in another order by way of a file, and
/// returns the whole and the merged one.
fn split<T, A>(
    items: &[T],
    places: &[usize],
    new: impl Fn() -> A,
    add: impl Fn(&mut A, &T),
    merge: impl Fn(&mut A, &A),
) -> (A, A)
where
    A: Serialize + DeserializeOwned,
{
    let mut whole = new();
    let mut parts: Vec<A> = (0..5).map(|_| new()).collect();
    for (index, item) in items.iter().enumerate() {
        add(&mut whole, item);
        add(&mut parts[places[index % places.len()] % 5], item);
    }
    let mut merged = new();
    for part in parts.iter().rev() {
        merge(&mut merged, &reread(part));
    }
    (whole, merged)
}

proptest! {
    #[test]
    fn any_split_gives_the_same_bits(pairs in any_pairs(), places in prop::collection::vec(0..5_usize, 1..60)) {
        let (whole, merged) = split(
            &pairs,
            &places,
            RegressionScores::new,
            |all, (predicted, target)| all.add(f64::from(*predicted), f64::from(*target)),
            RegressionScores::merge,
        );
        let bits = |errors: &RegressionScores| {
            let scores = [errors.mean_absolute_error(), errors.mean_squared_error(), errors.r_squared()];
            scores.map(|score| score.map(f64::to_bits))
        };
        prop_assert_eq!(bits(&whole), bits(&merged));
        prop_assert_eq!(whole, merged);

        let (whole, merged) = split(
            &pairs,
            &places,
            Mean::new,
            |all, (value, weight)| all.add_weighted(f64::from(*value), f64::from(weight.abs())),
            Mean::merge,
        );
        prop_assert_eq!(whole.value().map(f64::to_bits), merged.value().map(f64::to_bits));
        prop_assert_eq!(whole, merged);

        let (whole, merged) = split(
            &pairs,
            &places,
            CosineMean::new,
            |all, (a, b)| all.add(&[*a, 1.0], &[*b, 2.0]).unwrap(),
            CosineMean::merge,
        );
        prop_assert_eq!(whole.value().map(f64::to_bits), merged.value().map(f64::to_bits));

        let (whole, merged) = split(
            &pairs,
            &places,
            || Classification::new(3).unwrap(),
            |all, (a, b)| all.add(usize::from(*a > 0.0), 2 * usize::from(*b > 0.0)).unwrap(),
            |all, other| all.merge(other).unwrap(),
        );
        prop_assert_eq!(whole, merged);
    }

    #[test]
    fn errors_are_those_of_their_definitions(pairs in prop::collection::vec((-9.0..9.0_f64, -9.0..9.0_f64), 2..50)) {
        let mut errors = RegressionScores::new();
        pairs.iter().for_each(|(predicted, target)| errors.add(*predicted, *target));
        let n = pairs.len() as f64;
        let close = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() <= 1e-12 * wanted.abs().max(1.0);
        prop_assert!(close(errors.mean_absolute_error(), pairs.iter().map(|(p, t)| (p - t).abs()).sum::<f64>() / n));
        let squares: f64 = pairs.iter().map(|(p, t)| (p - t).powi(2)).sum();
        prop_assert!(close(errors.mean_squared_error(), squares / n));
        prop_assert!(close(errors.root_mean_squared_error(), (squares / n).sqrt()));
        let mean = pairs.iter().map(|(_, t)| t).sum::<f64>() / n;
        let spread: f64 = pairs.iter().map(|(_, t)| (t - mean).powi(2)).sum();
        let wanted = 1.0 - squares / spread;
        prop_assert!((errors.r_squared().unwrap() - wanted).abs() <= 1e-9 * wanted.abs().max(1.0));
    }
}

/// Textbook one-pass sums lose all digits here.
#[test]
fn r_squared_holds_for_targets_far_from_0() {
    let mut errors = RegressionScores::new();
    for (target, error) in [(1e9, 0.5), (1e9 + 1.0, -0.5), (1e9 + 2.0, 0.5)] {
        errors.add(target + error, target);
    }
    // Spread 2, squared errors 0.75.
    assert_eq!(errors.r_squared(), Some(1.0 - 0.75 / 2.0));
    // Targets whose sum no `f64` holds: 3·2⁴⁰ + 7 + 3·2⁻¹². Spread 42/9, squared errors 1.
    let mut errors = RegressionScores::new();
    let far = 1_099_511_627_776.0 + 1.0 / 4096.0;
    for (target, error) in [(far + 1.0, 1.0), (far + 2.0, 0.0), (far + 4.0, 0.0)] {
        errors.add(target + error, target);
    }
    let found = errors.r_squared().unwrap();
    assert!((found - (1.0 - 9.0 / 42.0)).abs() < 1e-6, "{found}");
    let mut equal = RegressionScores::new();
    [0.1, 0.1, 0.1]
        .iter()
        .for_each(|target| equal.add(0.2, *target));
    assert_eq!(equal.r_squared(), None);
    assert_eq!(RegressionScores::new().mean_absolute_error(), None);
}

#[test]
fn class_scores_are_those_of_the_table() {
    let mut classes = Classification::new(3).unwrap();
    // Rows are true classes, columns predicted ones.
    for (target, row) in [[5, 2, 0], [1, 3, 1], [0, 0, 8]].into_iter().enumerate() {
        for (predicted, n) in row.into_iter().enumerate() {
            (0..n).for_each(|_| classes.add(predicted, target).unwrap());
        }
    }
    assert_eq!(classes.accuracy(), Some(16.0 / 20.0));
    let first = classes.class(0).unwrap();
    assert_eq!(
        (first.precision, first.recall, first.support),
        (5.0 / 6.0, 5.0 / 7.0, 7)
    );
    assert_eq!(first.f1, 10.0 / 13.0);
    let weighted = classes.weighted().unwrap();
    let mean = |scores: [f64; 3]| (scores[0] * 7.0 + scores[1] * 5.0 + scores[2] * 8.0) / 20.0;
    assert_eq!(weighted.precision, mean([5.0 / 6.0, 3.0 / 5.0, 8.0 / 9.0]));
    assert_eq!((weighted.recall, weighted.support), (0.8, 20));
    assert_eq!(weighted.f1, mean([10.0 / 13.0, 6.0 / 10.0, 16.0 / 17.0]));
    // A class that is neither met nor predicted scores 0, and no class scores nothing.
    let empty = Classification::new(2).unwrap();
    assert_eq!(empty.class(1).unwrap().f1, 0.0);
    assert_eq!(
        (empty.accuracy(), empty.weighted(), empty.class(2)),
        (None, None, None)
    );
}

#[test]
fn what_does_not_go_together_is_refused_and_adds_nothing() {
    let mut classes = Classification::new(2).unwrap();
    let refused = classes.add_all(&[0, 1], &[0, 2]).unwrap_err();
    assert!(matches!(
        refused,
        GradientError::Class {
            class: 2,
            n_classes: 2
        }
    ));
    assert!(classes.add_all(&[0], &[0, 1]).is_err());
    assert!(classes.merge(&Classification::new(3).unwrap()).is_err());
    assert_eq!(classes, Classification::new(2).unwrap());
    assert!(Classification::new(0).is_err());
    let mut mean = Mean::new();
    assert!(mean.add_masked(&[1.0, 2.0], &[1.0]).is_err());
    let mut rows = CosineMean::new();
    assert!(rows.add_rows(&[1.0; 4], &[1.0; 4], 2, &[1.0]).is_err());
    assert!(rows.add_rows(&[1.0; 4], &[1.0; 2], 2, &[1.0; 2]).is_err());
    assert!(rows.add_rows(&[], &[], 0, &[]).is_err());
    assert_eq!((mean.value(), rows.value()), (None, None));
    let mut errors = RegressionScores::new();
    assert!(errors.add_masked(&[1.0], &[1.0], &[]).is_err());
    assert_eq!(errors.n(), 0);
}

#[test]
fn padding_counts_for_nothing_whatever_it_holds() {
    let mut mean = Mean::new();
    mean.add_masked(&[1.0, f32::NAN, 3.0], &[1.0, 0.0, 1.0])
        .unwrap();
    assert_eq!((mean.value(), mean.weight()), (Some(2.0), 2.0));
    let mut rows = CosineMean::new();
    rows.add_rows(&[1.0, f32::NAN], &[2.0, 1.0], 1, &[1.0, 0.0])
        .unwrap();
    assert_eq!(rows.value(), Some(1.0));
    let mut errors = RegressionScores::new();
    errors
        .add_masked(&[1.0, f32::NAN], &[2.0, 1.0], &[1.0, 0.0])
        .unwrap();
    assert_eq!((errors.n(), errors.mean_squared_error()), (1, Some(1.0)));
    // What is no padding is not hidden.
    mean.add(f64::NAN);
    assert!(mean.value().is_some_and(f64::is_nan));
}

#[test]
fn cosines_have_no_exceptions() {
    assert_eq!(cosine(&[1.0, 0.0], &[0.0, 5.0]).unwrap(), 0.0);
    assert_eq!(cosine(&[1e30, 1e30], &[-1e30, -1e30]).unwrap(), -1.0);
    assert_eq!(cosine(&[0.0, 0.0], &[1.0, 1.0]).unwrap(), 0.0);
    assert_eq!(cosine(&[0.1, 0.7, 0.3], &[0.1, 0.7, 0.3]).unwrap(), 1.0);
    assert!(cosine(&[1.0], &[1.0, 2.0]).is_err());
}

#[test]
fn a_forged_state_is_refused() {
    let text = r#"{"n_hits": [1], "n_predicted": [1, 1], "n_true": [1]}"#;
    assert!(serde_json::from_str::<Classification>(text).is_err());
}

#[test]
fn exponential_means_come_back_to_the_bit() {
    let mut mean = ExponentialMean::new(0.98).unwrap();
    let mut plain = 0.0;
    for step in 1..=20 {
        let norm = 1.0 / f64::from(step) + 0.1;
        mean.add(norm);
        mean = reread(&mean);
        plain = 0.98 * plain + 0.02 * norm;
        let wanted = plain / (1.0 - 0.98_f64.powi(step));
        assert!((mean.value().unwrap() - wanted).abs() < 1e-12);
    }
    mean.add(f64::NAN);
    assert_eq!(mean.n_not_finite(), 1);
    assert!(ExponentialMean::new(1.0).is_err());
}
