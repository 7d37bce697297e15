//! How many trials a test makes, and what came of them.

use std::collections::BTreeMap;
use std::env;

use kato_test_needs::is_thorough;

use crate::random::Random;

/// Runs the trials of a test, each with random numbers of its own, and prints how often each outcome
/// was seen.
///
/// Fails after all trials if any failed, with the seeds that repeat them.
pub(crate) fn run(test: &str, by_default: u64, trial: impl Fn(&mut Random) -> Outcome) {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse().unwrap());
    let thorough = if is_thorough() { 3 } else { 1 };
    let n_trials: u64 = number("KATO_DAMAGE_TRIALS").unwrap_or(by_default * thorough);
    let first = number("KATO_DAMAGE_SEED").unwrap_or(1);
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let mut wrong = Vec::new();
    for seed in first..first + n_trials {
        let outcome = trial(&mut Random::from_seed(seed));
        for told in outcome.seen {
            *seen.entry(told).or_default() += 1;
        }
        for text in outcome.wrong {
            eprintln!("{test}, seed {seed}: {}: {text}", outcome.harm);
            wrong.push(seed);
        }
    }
    eprintln!("{test}: {n_trials} trials: {seen:?}");
    wrong.dedup();
    assert!(wrong.is_empty(), "{test}: KATO_DAMAGE_SEED={wrong:?}");
}

/// What came of a trial.
pub(crate) struct Outcome {
    harm: String,
    seen: Vec<&'static str>,
    wrong: Vec<String>,
}

impl Outcome {
    /// Begins the outcome of a harm that was done.
    pub(crate) fn new(harm: String) -> Self {
        Self {
            harm,
            seen: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// Sets the harm, once it was done.
    pub(crate) fn does(&mut self, harm: String) {
        self.harm = harm;
    }

    /// Counts something that may happen.
    pub(crate) fn saw(&mut self, what: &'static str) {
        self.seen.push(what);
    }

    /// Reports something that must not happen.
    pub(crate) fn is_wrong(&mut self, what: String) {
        self.wrong.push(what);
    }
}
