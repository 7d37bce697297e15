//! Whether probabilities are what they say: the reliability diagram, and its error in one number.

use crate::report::{CalibrationBin, CountedShare, ReliabilityDiagram};

/// Bins of the reliability diagram, of equal width.
const BINS: usize = 10;

/// The answers so far, by how sure they were.
#[derive(Debug, Default)]
pub(crate) struct Reliability {
    bins: [Bin; BINS],
}

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    confidence: f64,
    right: CountedShare,
}

impl Reliability {
    /// Adds an answer: the probability of the most probable symbol, and whether it came.
    pub(crate) fn add(&mut self, confidence: f64, is_right: bool) {
        // The cast saturates, and 1 belongs to the last bin.
        let bin = ((confidence * BINS as f64) as usize).min(BINS - 1);
        let bin = &mut self.bins[bin];
        bin.confidence += confidence;
        bin.right.add(is_right);
    }

    /// Returns the diagram, and the mean distance from what it should be, by answers.
    pub(crate) fn finish(&self) -> ReliabilityDiagram {
        let n: u64 = self.bins.iter().map(|bin| bin.right.of).sum();
        let width = 1.0 / BINS as f64;
        let bin = |(idx, bin): (usize, &Bin)| CalibrationBin {
            from: idx as f64 * width,
            to: (idx + 1) as f64 * width,
            mean_confidence: (bin.right.of > 0).then(|| bin.confidence / bin.right.of as f64),
            right: bin.right,
        };
        // |Σ confidence − right answers| is the distance of a bin, by the number of its answers.
        let distances = self.bins.iter().map(|bin| {
            let right = bin.right.count as f64;
            (bin.confidence - right).abs()
        });
        ReliabilityDiagram {
            expected_error: (n > 0).then(|| distances.sum::<f64>() / n as f64),
            bins: self.bins.iter().enumerate().map(bin).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_the_mean_distance_of_the_bins() {
        let mut reliability = Reliability::default();
        // Half sure and right once in four, and certain and right.
        for is_right in [true, false, false, false] {
            reliability.add(0.5, is_right);
        }
        reliability.add(1.0, true);
        let calibration = reliability.finish();
        assert_eq!(calibration.expected_error, Some(4.0 * 0.25 / 5.0));
        let bin = &calibration.bins[5];
        assert_eq!(
            (bin.mean_confidence, bin.right.count, bin.right.of),
            (Some(0.5), 1, 4)
        );
        assert_eq!(calibration.bins[9].right.of, 1);
        assert_eq!(calibration.bins[0].mean_confidence, None);
        assert_eq!(Reliability::default().finish().expected_error, None);
    }
}
