//! Normal draws that a seed decides for ever.

use std::f64::consts::TAU;

use kato_random::SplitMix64;

/// Draws from the standard normal distribution, by the method of Box and Muller. Its functions are
/// computed in software, so the numbers are the same on every platform.
pub(crate) struct Normal {
    uniform: SplitMix64,
    /// The second number of a pair.
    spare: Option<f64>,
}

impl Normal {
    /// Creates draws from a seed.
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self {
            uniform: SplitMix64::from_seed(seed),
            spare: None,
        }
    }

    /// Returns the next draw.
    pub(crate) fn draw(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        // 1 − u is never 0, whose logarithm is none.
        let radius = (-2.0 * libm::log(1.0 - self.uniform.unit())).sqrt();
        let angle = TAU * self.uniform.unit();
        self.spare = Some(radius * libm::sin(angle));
        radius * libm::cos(angle)
    }
}

/// Mixes a seed with a name to another seed: FNV-1a over the name's bytes, then one draw.
pub(crate) fn seed_of(seed: u64, name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    SplitMix64::from_seed(seed ^ hash).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_moments_of_the_normal_distribution() {
        let mut normal = Normal::from_seed(1);
        let draws: Vec<f64> = (0..100_000).map(|_| normal.draw()).collect();
        let moment = |power: i32| {
            draws.iter().map(|draw| draw.powi(power)).sum::<f64>() / draws.len() as f64
        };
        // Five standard errors each: 1, √2, √15 and √96 by √100,000.
        for (power, expected, error) in
            [(1, 0.0, 1.0), (2, 1.0, 1.42), (3, 0.0, 3.88), (4, 3.0, 9.8)]
        {
            let gap = (moment(power) - expected).abs();
            assert!(gap < 5.0 * error / 316.2, "moment {power} is off by {gap}");
        }
    }

    #[test]
    fn names_make_other_seeds() {
        assert_ne!(seed_of(1, "a"), seed_of(1, "b"));
        assert_ne!(seed_of(1, "a"), seed_of(2, "a"));
        assert_eq!(seed_of(1, "a"), seed_of(1, "a"));
    }
}
