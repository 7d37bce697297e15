//! Vectors in GloVe's text form, as many as wanted.

use std::io::{self, Write};

/// Seed of every text that is measured on.
const SEED: u64 = 1;

/// Writes words with vectors of `dims` numbers, five digits behind the point as GloVe has them:
/// always the same ones, about 8.4 bytes a number.
///
/// # Errors
///
/// When `output` does not take them.
pub fn write_glove(n_words: u64, dims: u64, output: &mut impl Write) -> io::Result<()> {
    let mut state = SEED;
    let mut draw = || {
        // Knuth's linear congruential generator (MMIX), whose upper bits are random enough for
        // digits.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for word in 0..n_words {
        write!(output, "w{word:x}")?;
        for _ in 0..dims {
            // The sum of three draws: small numbers are frequent, as in real vectors.
            let thousandths = (0..3).map(|_| draw() % 100_000).sum::<u64>();
            let number = thousandths as f64 / 100_000.0 - 1.5;
            write!(output, " {number:.5}")?;
        }
        output.write_all(b"\n")?;
    }
    Ok(())
}
