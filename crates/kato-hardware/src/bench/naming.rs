//! The rate of SHA-1 over the texts by which patterns are named.

use std::hint::black_box;

use kato_random::SplitMix64;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

use super::cores::run_on_cores;
use super::random::fill;
use crate::Allowance;
use crate::figure::{Finding, Measured, MeasurementMethod, Unit};
use crate::meter::{Meter, figure, windows};

/// Names a second: SHA-1 over a pattern's text. The text of 5 tokens has 70 bytes, two blocks of
/// SHA-1; that of 7 names has 406 bytes, seven blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NamingResults {
    /// Patterns of 5 tokens, one core.
    pub tokens_one_core: Measured,
    /// Patterns of 7 names, one core.
    pub names_one_core: Measured,
    /// Patterns of 5 tokens, all usable cores at once.
    pub tokens_all_cores: Measured,
}

/// Bytes of the hashed text of 5 tokens.
const TOKENS: usize = 70;
/// Bytes of the hashed text of 7 names.
const NAMES: usize = 7 * NAME;
/// Bytes of a name within such a text.
pub(crate) const NAME: usize = 58;
/// Names that are computed between two looks at the clock.
const BATCH_SIZE: u32 = 4096;

impl NamingResults {
    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            tokens_one_core: Finding::unknown(reason),
            names_one_core: Finding::unknown(reason),
            tokens_all_cores: Finding::unknown(reason),
        }
    }

    /// Measures names of tokens on one core and on all, and names of names on one.
    pub(crate) fn measure(allowance: &Allowance, cores: usize, seed: u64) -> Self {
        let one = |allowance: &Allowance, cores, bytes| {
            figure(allowance, |allowance| {
                let meter = Meter::start();
                let found = run_on_cores(cores, |gate| {
                    let mut text = vec![0; bytes];
                    fill(&mut text, &mut SplitMix64::from_seed(seed));
                    gate.wait()?;
                    windows(allowance, || Ok(name(&mut text)))
                })?;
                Ok(meter.rate(Unit::PerSecond, MeasurementMethod::Direct, &found))
            })
        };
        Self {
            tokens_one_core: one(&allowance.part(0.33), 1, TOKENS),
            names_one_core: one(&allowance.part(0.5), 1, NAMES),
            tokens_all_cores: one(allowance, cores, TOKENS),
        }
    }

    pub(crate) fn entries(&self) -> Vec<(&'static str, &Measured)> {
        vec![
            ("of 5 tokens, one core", &self.tokens_one_core),
            ("of 7 names, one core", &self.names_one_core),
            ("of 5 tokens, all cores", &self.tokens_all_cores),
        ]
    }

    /// Returns the seconds of one core for a text of so many bytes, by a straight line through both
    /// measurements over blocks; `None` where one is missing.
    pub(crate) fn seconds(&self, bytes: f64) -> Option<f64> {
        let short = 1.0 / self.tokens_one_core.known()?.value;
        let long = 1.0 / self.names_one_core.known()?.value;
        let (from, to) = (blocks(TOKENS as f64), blocks(NAMES as f64));
        // More blocks never take less, except by noise; and a text takes one block's time at least.
        let slope = ((long - short) / (to - from)).max(0.0);
        Some((short + slope * (blocks(bytes) - from)).max(short / from))
    }
}

/// Returns the blocks of a text: SHA-1 pads it with at least nine bytes to whole blocks of 64.
fn blocks(bytes: f64) -> f64 {
    ((bytes + 9.0) / 64.0).ceil()
}

/// Computes a batch of names and returns their number.
fn name(text: &mut [u8]) -> f64 {
    for number in 0..BATCH_SIZE {
        // Every text differs, so that no work can be left out.
        if let Some(start) = text.first_chunk_mut::<4>() {
            *start = number.to_le_bytes();
        }
        black_box(Sha1::digest(&*text));
    }
    f64::from(BATCH_SIZE)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Cancellation;
    use crate::profile::test_fixtures;

    #[test]
    fn names_are_computed_on_one_core_and_on_all() {
        let allowance = Allowance::new(Duration::from_millis(400), &Cancellation::new());
        let found = NamingResults::measure(&allowance, 2, 1);
        for (what, measured) in found.entries() {
            assert!(
                measured.known().is_some_and(|rate| rate.value > 0.0),
                "{what}"
            );
        }
    }

    #[test]
    fn longer_texts_take_longer_by_their_blocks() {
        let rate = |value| test_fixtures::figure(value, Unit::PerSecond);
        let of_rates = |tokens, names| NamingResults {
            tokens_one_core: rate(tokens),
            names_one_core: rate(names),
            tokens_all_cores: rate(tokens),
        };
        // 70 bytes are two blocks and 406 are seven, so each block more takes 0.04 µs here.
        let found = of_rates(10e6, 1.0 / 0.3e-6);
        let micros = |bytes: f64| found.seconds(bytes).unwrap() * 1e6;
        for (bytes, expected) in [(70.0, 0.1), (119.0, 0.1), (120.0, 0.14), (406.0, 0.3)] {
            assert!((micros(bytes) - expected).abs() < 1e-9, "{bytes} bytes");
        }
        assert!(micros(10.0) > 0.0);
        // Noise that makes the longer text the faster one.
        let noisy = of_rates(10e6, 11e6);
        assert_eq!(noisy.seconds(406.0), noisy.seconds(70.0));
        assert!(NamingResults::unknown("x").seconds(70.0).is_none());
    }
}
