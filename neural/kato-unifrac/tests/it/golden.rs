//! Tables of others, with what scikit-bio computes for them.

use std::path::{Path, PathBuf};

use kato_unifrac::newick::NewickOptions;
use kato_unifrac::{Community, ComputeOptions, MatchOptions, Metric, Table, Tree};
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    samples: Vec<String>,
    unweighted: Vec<f64>,
    weighted: Vec<f64>,
    normalized: Vec<f64>,
    faith_pd: Vec<f64>,
}

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(folder)
}

fn check(folder: &str, table: &str) {
    let folder = data(folder);
    let expected = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: Expected = serde_json::from_str(&expected).unwrap();
    let table = Table::read(folder.join(table)).unwrap();
    let tree = Tree::read(folder.join("tree.nwk"), NewickOptions::default()).unwrap();
    let community = Community::new(&table, &tree, MatchOptions::default()).unwrap();
    assert_eq!(community.sample_ids(), expected.samples);
    let options = ComputeOptions::default();
    for (metric, expected) in [
        (Metric::Unweighted, &expected.unweighted),
        (Metric::Weighted, &expected.weighted),
        (Metric::NormalizedWeighted, &expected.normalized),
        (Metric::Generalized { alpha: 1.0 }, &expected.normalized),
    ] {
        let found = community.distances(metric, options).unwrap();
        assert_close(found.condensed(), expected);
    }
    assert_close(&community.faith_pd(options).unwrap(), &expected.faith_pd);
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} where {expected} was expected"
        );
    }
}

#[test]
fn crawfords_mice_from_biom_2_1() {
    check("crawford", "table.biom");
}

#[test]
fn qiimes_test_table_from_text_and_from_biom_1_0() {
    check("qiime", "table.tsv");
    check("qiime", "table.json");
}
