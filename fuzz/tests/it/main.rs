//! The targets without a fuzzer: on committed inputs, and on random ones from a fixed seed.
//!
//! `PROPTEST_CASES` sets the number of random inputs, `PROPTEST_RNG_SEED` another seed.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may fail by panic and say where, as tests do"
)]

#[path = "../support/check.rs"]
mod check;

use std::fs;
use std::path::Path;

use kato_fuzz::TARGETS;

use self::check::check;

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
