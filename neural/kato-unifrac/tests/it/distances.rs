//! Distances against their definitions, and what holds for all of them.

use kato_unifrac::{Community, ComputeOptions, MatchOptions, Metric, Table, Tree, UnifracError};
use proptest::prelude::*;

use super::oracle::{self, Case, cases};

pub(crate) const METRICS: [Metric; 7] = [
    Metric::Unweighted,
    Metric::Weighted,
    Metric::NormalizedWeighted,
    Metric::Generalized { alpha: 0.0 },
    Metric::Generalized { alpha: 0.5 },
    Metric::Generalized { alpha: 0.3 },
    Metric::Generalized { alpha: 1.0 },
];

fn community(case: &Case) -> Community {
    Community::new(&case.table, &case.tree, MatchOptions::default()).unwrap()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn distances_are_those_of_the_definitions(case in cases(24)) {
        let community = community(&case);
        let proportions = oracle::proportions(&case.tree, &case.table);
        for metric in METRICS {
            let distances = community.distances(metric, ComputeOptions::default()).unwrap();
            for (i, a) in proportions.iter().enumerate() {
                for (j, b) in proportions.iter().enumerate() {
                    let expected =
                        if i == j { 0.0 } else { oracle::distance(&case.tree, a, b, metric) };
                    let found = distances.get(i, j);
                    // Sums that cancel lose what stands before the point: a tree is up to 80 long.
                    prop_assert!((found - expected).abs() < 1e-12, "{metric:?}: {found} {expected}");
                    prop_assert_eq!(found.to_bits(), distances.get(j, i).to_bits());
                }
            }
        }
    }

    #[test]
    fn faiths_pd_is_the_length_of_what_is_held(case in cases(12)) {
        let found = community(&case).faith_pd(ComputeOptions::default()).unwrap();
        let proportions = oracle::proportions(&case.tree, &case.table);
        for (found, of_sample) in found.iter().zip(proportions) {
            let held = (0..case.tree.root()).filter(|&branch| of_sample[branch] > 0.0);
            let expected: f64 = held.map(|branch| case.tree.length(branch).unwrap()).sum();
            prop_assert!((found - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn scaled_counts_and_copies_are_at_distance_zero(case in cases(6)) {
        // Twice the table, the copies with a power of two of the counts, so that proportions agree.
        let n_samples = case.table.n_samples();
        let ids = (0..2 * n_samples).map(|sample| format!("s{sample}")).collect();
        let entries = (0..2 * n_samples).flat_map(|sample| {
            let factor = if sample < n_samples { 1.0 } else { 4.0 };
            let table = &case.table;
            table.sample(sample % n_samples).map(move |(f, count)| (f, sample, factor * count))
        });
        let table = Table::from_entries(case.table.feature_ids().to_vec(), ids, entries).unwrap();
        let community = Community::new(&table, &case.tree, MatchOptions::default()).unwrap();
        for metric in METRICS {
            let distances = community.distances(metric, ComputeOptions::default()).unwrap();
            for sample in 0..n_samples {
                prop_assert_eq!(distances.get(sample, sample + n_samples), 0.0);
            }
            prop_assert!(distances.condensed().iter().all(|distance| *distance >= 0.0));
            if metric != Metric::Weighted {
                prop_assert!(distances.condensed().iter().all(|distance| *distance <= 1.0));
            }
        }
    }
}

proptest! {
    // Few, as each starts threads many times.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn neither_threads_nor_memory_nor_the_question_change_a_bit(case in cases(40)) {
        let community = community(&case);
        for metric in METRICS {
            let whole = community.distances(metric, ComputeOptions::default()).unwrap();
            let least = least_memory(&community, metric);
            for options in [
                ComputeOptions::default().with_n_threads(1),
                ComputeOptions::default().with_n_threads(3),
                // The least memory, and what divides the tree into fewer parts.
                least,
                least.with_memory_limit_bytes(least.memory_limit_bytes + 1500),
            ] {
                let again = community.distances(metric, options).unwrap();
                prop_assert_eq!(bits(again.condensed()), bits(whole.condensed()), "{:?}", options);
            }
            let last = community.n_samples() - 1;
            let asked = [&community.sample_ids()[last], &community.sample_ids()[0]];
            let rows = community.distances_of(&asked, metric, ComputeOptions::default()).unwrap();
            for (row, i) in [(0, last), (1, 0)] {
                let expected: Vec<_> =
                    (0..community.n_samples()).map(|j| whole.get(i, j)).collect();
                prop_assert_eq!(bits(rows.row(row)), bits(&expected));
            }
        }
    }
}

/// Finds the least memory that a result can be computed in: what the refusals ask for.
fn least_memory(community: &Community, metric: Metric) -> ComputeOptions {
    let mut options = ComputeOptions::default()
        .with_n_threads(1)
        .with_memory_limit_bytes(0);
    while let Err(error) = community.distances(metric, options) {
        let UnifracError::MemoryLimit {
            needed_bytes,
            limit_bytes,
        } = error
        else {
            panic!("{error}");
        };
        assert!(needed_bytes > limit_bytes);
        options = options.with_memory_limit_bytes(needed_bytes);
    }
    options
}

/// Many samples, so that rows are longer than a tile of any processor and blocks are many.
#[test]
fn long_rows_are_those_of_the_definitions() {
    let mut random = kato_random::SplitMix64::from_seed(11);
    let (n_tips, n_samples) = (60, 301);
    let tips: Vec<_> = (0..n_tips)
        .map(|tip| format!("t{tip}:{}", random.unit()))
        .collect();
    let groups: Vec<_> = tips
        .chunks(4)
        .map(|tips| format!("({}):{}", tips.join(","), random.unit()))
        .collect();
    let tree = Tree::from_newick(&format!("({});", groups.join(","))).unwrap();
    let entries = (0..n_samples).flat_map(|sample| {
        let held = [
            sample % n_tips,
            (sample * 7 + 1) % n_tips,
            n_tips - 1 - sample % 3,
        ];
        // The second or third may be the first again.
        let held: std::collections::BTreeSet<_> = held.into_iter().collect();
        held.into_iter()
            .map(move |tip| (tip, sample, (1 + (tip * 31 + sample) % 5) as f64))
    });
    let features = (0..n_tips).map(|tip| format!("t{tip}")).collect();
    let samples = (0..n_samples).map(|sample| format!("s{sample}")).collect();
    let table = Table::from_entries(features, samples, entries).unwrap();
    let case = Case {
        newick: String::new(),
        tree,
        table,
    };
    let community = community(&case);
    let proportions = oracle::proportions(&case.tree, &case.table);
    for metric in METRICS {
        let distances = community
            .distances(metric, ComputeOptions::default())
            .unwrap();
        for i in 0..n_samples {
            for j in i + 1..n_samples {
                let expected =
                    oracle::distance(&case.tree, &proportions[i], &proportions[j], metric);
                let found = distances.get(i, j);
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{metric:?} {i} {j}: {found} {expected}"
                );
            }
        }
    }
}

#[test]
fn a_length_above_the_root_does_not_count() {
    let table = Table::from_classic("#OTU ID\ts1\ts2\na\t1\t0\nb\t0\t1\n").unwrap();
    let distance = |newick| {
        let tree = Tree::from_newick(newick).unwrap();
        let community = Community::new(&table, &tree, MatchOptions::default()).unwrap();
        community
            .distances(Metric::Unweighted, ComputeOptions::default())
            .unwrap()
            .get(0, 1)
    };
    assert_eq!(distance("(a:1,b:1):5;"), 1.0);
    // One below a single root does.
    assert_eq!(distance("((a:1,b:1):2);"), 0.5);
}

#[test]
fn where_no_branch_has_a_length_nothing_differs() {
    let table = Table::from_classic("#OTU ID\ts1\ts2\na\t1\t0\nb\t0\t1\n").unwrap();
    let tree = Tree::from_newick("(a:0,b:0);").unwrap();
    let community = Community::new(&table, &tree, MatchOptions::default()).unwrap();
    for metric in METRICS {
        let distances = community
            .distances(metric, ComputeOptions::default())
            .unwrap();
        assert_eq!(distances.get(0, 1), 0.0, "{metric:?}");
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let table = Table::from_classic("#OTU ID\ts1\ts2\na\t1\t0\nb\t0\t1\n").unwrap();
    let tree = Tree::from_newick("(a:1,b:1);").unwrap();
    let community = Community::new(&table, &tree, MatchOptions::default()).unwrap();
    for alpha in [-0.1, 1.1, f64::NAN] {
        let metric = Metric::Generalized { alpha };
        let error = community
            .distances(metric, ComputeOptions::default())
            .unwrap_err();
        assert!(matches!(
            error,
            UnifracError::InvalidSetting {
                setting: "alpha",
                ..
            }
        ));
    }
    let options = ComputeOptions::default();
    let error = community
        .distances_of(&["s3"], Metric::Unweighted, options)
        .unwrap_err();
    assert!(matches!(error, UnifracError::UnknownSample { sample } if sample == "s3"));
}

#[test]
fn no_sample_and_one_sample_have_no_pairs() {
    let tree = Tree::from_newick("(a:1,b:1);").unwrap();
    for header in ["#OTU ID\t", "#OTU ID\ts1"] {
        let n = header.matches('s').count();
        let table = Table::from_entries(
            vec!["a".to_owned()],
            vec!["s1".to_owned(); n],
            (0..n).map(|sample| (0, sample, 2.0)),
        )
        .unwrap();
        let community = Community::new(&table, &tree, MatchOptions::default()).unwrap();
        for metric in METRICS {
            let distances = community
                .distances(metric, ComputeOptions::default())
                .unwrap();
            assert_eq!((distances.n_samples(), distances.condensed().len()), (n, 0));
        }
    }
}
