//! Rarefaction: depth, seeds, and fair draws.

use kato_unifrac::{Table, UnifracError, rarefy};
use proptest::prelude::*;

fn table(counts: &[(usize, usize, f64)], samples: &[&str]) -> Table {
    let features = (0..4).map(|i| format!("f{i}")).collect();
    let samples = samples.iter().map(|&sample| sample.to_owned()).collect();
    Table::from_entries(features, samples, counts.iter().copied()).unwrap()
}

proptest! {
    #[test]
    fn each_sample_has_the_depth_and_no_more_of_anything_than_before(
        counts in proptest::collection::vec(0_u32..9, 12), depth in 0_u64..20, seed in any::<u64>()
    ) {
        let entries: Vec<_> =
            counts.iter().enumerate().map(|(i, &n)| (i % 4, i / 4, f64::from(n))).collect();
        let before = table(&entries, &["a", "b", "c"]);
        let rarefied = rarefy(&before, depth, seed).unwrap();
        prop_assert_eq!(&rarefied, &rarefy(&before, depth, seed).unwrap());
        prop_assert_eq!(rarefied.table.n_samples() + rarefied.too_shallow.len(), 3);
        for (sample, id) in rarefied.table.sample_ids().iter().enumerate() {
            let place = before.sample_ids().iter().position(|other| other == id).unwrap();
            let most: std::collections::HashMap<_, _> = before.sample(place).collect();
            let mut total = 0.0;
            for (feature, count) in rarefied.table.sample(sample) {
                prop_assert!(count <= most[&feature]);
                total += count;
            }
            prop_assert_eq!(total, depth as f64);
        }
    }
}

#[test]
fn other_samples_change_nothing() {
    let counts = [(0, 0, 20.0), (1, 0, 30.0), (0, 1, 50.0), (3, 1, 40.0)];
    let both = rarefy(&table(&counts, &["a", "b"]), 30, 5).unwrap().table;
    let other = [(0, 0, 50.0), (3, 0, 40.0)];
    let alone = rarefy(&table(&other, &["b"]), 30, 5).unwrap().table;
    assert_eq!(
        both.sample(1).collect::<Vec<_>>(),
        alone.sample(0).collect::<Vec<_>>()
    );
    let reseeded = rarefy(&table(&other, &["b"]), 30, 6).unwrap().table;
    assert_ne!(reseeded, alone);
}

#[test]
fn every_count_has_the_same_chance() {
    let table = table(&[(0, 0, 10.0), (1, 0, 30.0)], &["a"]);
    let drawn = |seed| {
        let rarefied = rarefy(&table, 8, seed).unwrap().table;
        rarefied
            .sample(0)
            .find(|entry| entry.0 == 0)
            .map_or(0.0, |entry| entry.1)
    };
    let n_seeds = 4000;
    let mean = (0..n_seeds).map(drawn).sum::<f64>() / f64::from(n_seeds as u32);
    // Hypergeometric: mean 2, variance 8·(1/4)·(3/4)·(32/39); five standard errors.
    let standard_error = (8.0 * 0.25 * 0.75 * (32.0 / 39.0) / f64::from(n_seeds as u32)).sqrt();
    assert!((mean - 2.0).abs() < 5.0 * standard_error, "{mean}");
}

#[test]
fn fractions_and_negative_counts_cannot_be_drawn_from() {
    for count in [0.5, -1.0, f64::NAN, f64::INFINITY, 1e300] {
        let error = rarefy(&table(&[(2, 0, count)], &["a"]), 1, 0).unwrap_err();
        assert!(matches!(error, UnifracError::NotWhole { feature, .. } if feature == "f2"));
    }
}
