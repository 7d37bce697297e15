//! What of a batch is left to chance, as a function of seeds.

use kato_random::SplitMix64;

use crate::settings::Masking;

/// What a batch is drawn by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchDraw {
    /// Decides which sequences are read and which nucleotides are hidden.
    pub seed: u64,
    /// How many of a hundred thousand nucleotides are hidden; 0 for none.
    pub masked: u32,
    /// How they lie.
    pub masking: Masking,
}

impl BatchDraw {
    /// Draws by a seed, with a share of the nucleotides hidden.
    #[must_use]
    pub fn new(seed: u64, masked: f64) -> Self {
        Self {
            seed,
            masked: (masked * 1e5).round() as u32,
            masking: Masking::default(),
        }
    }

    /// Says how hidden nucleotides lie.
    #[must_use]
    pub const fn with_masking(mut self, masking: Masking) -> Self {
        self.masking = masking;
        self
    }

    /// Returns which places of a sequence's tokens are drawn, in order.
    pub(super) fn places(self, feature: usize, n_tokens: usize) -> Vec<bool> {
        let mut random = SplitMix64::from_seed(mixed(!self.seed, feature as u64));
        let masked = self.masked as usize;
        if self.masking == Masking::Letters {
            return (0..n_tokens)
                .map(|_| random.below(100_000) < masked)
                .collect();
        }
        // A span is four long in the mean, and none begins in another: of a cycle of a gap and a span,
        // the span is the share that was asked for.
        let begins = 100_000 * masked / (400_000 - 3 * masked);
        let (mut places, mut left) = (Vec::with_capacity(n_tokens), 0);
        for _ in 0..n_tokens {
            if left == 0 && random.below(100_000) < begins {
                left = 3 + random.below(3);
            }
            places.push(left > 0);
            left = left.saturating_sub(1);
        }
        places
    }
}

/// Joins a seed and a number such that neighbours have nothing in common.
pub(crate) fn mixed(seed: u64, number: u64) -> u64 {
    let mut first = SplitMix64::from_seed(seed);
    let mut second = SplitMix64::from_seed(first.next_u64() ^ number);
    second.next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_hide_as_many_nucleotides_as_letters_do_three_to_five_side_by_side() {
        for masked in [0.05, 0.15, 0.4] {
            let draw = BatchDraw::new(3, masked);
            let share = |draw: BatchDraw| {
                let places = draw.places(1, 200_000);
                places.iter().filter(|is_drawn| **is_drawn).count() as f64 / 200_000.0
            };
            assert!((share(draw) - masked).abs() < 0.01);
            let spans = draw.with_masking(Masking::Spans);
            assert!((share(spans) - masked).abs() < 0.01, "{}", share(spans));
            let places = spans.places(1, 20_000);
            let runs = places.split(|is_drawn| !is_drawn);
            let lengths: Vec<usize> = runs.map(<[bool]>::len).filter(|&n| n > 0).collect();
            // Two may meet; the last may be cut off.
            let (_, whole) = lengths.split_last().expect("some are hidden");
            assert!(whole.iter().all(|&n| n >= 3) && whole.contains(&3));
        }
    }
}
