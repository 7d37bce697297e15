//! The targets without a fuzzer: on committed inputs, and on random ones from a fixed seed.
//!
//! `PROPTEST_CASES` sets the number of random inputs, `PROPTEST_RNG_SEED` another seed.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may fail by panic and say where, as tests do"
)]

use std::fs;
use std::path::Path;

use kato_fuzz::{TARGETS, Target};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};

/// Seed of the random inputs.
const SEED: u64 = 3;

/// Runs a target on its committed inputs, then on random ones: `cases` of them where the environment says nothing else.
fn check(name: &str, target: Target, cases: u32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(name);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        target(&fs::read(path).unwrap());
    }
    let mut config = Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    if matches!(config.rng_seed, RngSeed::Random) {
        config.rng_seed = RngSeed::Fixed(SEED);
    }
    config.failure_persistence = None;
    // Most inputs are short, a few long.
    let inputs =
        proptest::prop_oneof![4 => vec(any::<u8>(), 0..300), 1 => vec(any::<u8>(), 0..3000)];
    let run = |bytes: Vec<u8>| -> TestCaseResult {
        target(&bytes);
        Ok(())
    };
    TestRunner::new(config).run(&inputs, run).unwrap();
}

#[test]
fn names() {
    check("names", kato_fuzz::names, 6000);
}

#[test]
fn matching() {
    check("matching", kato_fuzz::matching, 3000);
}

#[test]
fn prediction() {
    check("prediction", kato_fuzz::prediction, 2000);
}

#[test]
fn session() {
    check("session", kato_fuzz::session, 2500);
}

#[test]
fn every_target_has_seeds_and_a_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, _) in TARGETS {
        assert!(
            fs::read_dir(root.join("seeds").join(name)).unwrap().count() > 0,
            "{name}"
        );
        assert!(
            root.join("targets").join(format!("{name}.rs")).exists(),
            "{name}"
        );
    }
}
