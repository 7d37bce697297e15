//! Running a target without a fuzzer.

use std::fs;
use std::path::Path;

use kato_fuzz::Target;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};

/// Seed of the random inputs.
const SEED: u64 = 3;

/// Runs a target on its committed inputs, then on random ones: `cases` of them where the
/// environment says nothing else.
pub(crate) fn check(name: &str, target: Target, cases: u32) {
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
