//! Intervals that hold as often as they say, by split conformal prediction.

use serde::{Deserialize, Serialize};

use crate::metadata::TargetValues;
use crate::trained::Answer;

/// How often an interval may miss.
pub const MISS: f64 = 0.1;

/// How far predictions were off on samples that nothing was learned from.
///
/// The interval of a number is the prediction ± `width`, in the number's unit; the set of a class are
/// all classes whose probability is at least 1 − `width`. For samples like those of the run, it holds
/// what is true with a probability of at least `1 − miss`, whatever the model is worth.
///
/// Source: Vovk, Gammerman and Shafer, "Algorithmic learning in a random world", 2005; Lei et al.,
/// "Distribution-free predictive inference for regression", 2018.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Conformal {
    /// How often an interval may miss.
    pub miss: f64,
    /// Half the width of an interval, or 1 − the least probability of a class in the set.
    pub width: f64,
    /// Samples that the width was taken from.
    pub n_calibration: usize,
    /// Share of the test samples whose interval holds what is true; `None` without any.
    pub coverage: Option<f64>,
    /// Test samples.
    pub n_test: usize,
}

impl Conformal {
    /// Takes the width from answers whose truth is known; `None` where there are too few of them for
    /// any finite width.
    pub(crate) fn new(answers: &[Answer], truth: &TargetValues, miss: f64) -> Option<Self> {
        let mut off: Vec<f64> = (0..answers.len())
            .map(|at| how_far(&answers[at], truth, at))
            .collect();
        off.sort_by(f64::total_cmp);
        // The sample that is asked for counts as one more, of which nothing is known.
        let rank = ((off.len() + 1) as f64 * (1.0 - miss)).ceil() as usize;
        Some(Self {
            miss,
            width: *off.get(rank.checked_sub(1)?)?,
            n_calibration: off.len(),
            coverage: None,
            n_test: 0,
        })
    }

    /// Counts how often the intervals of answers hold what is true.
    pub(crate) fn measure(&mut self, answers: &[Answer], truth: &TargetValues) {
        let held = (0..answers.len()).filter(|&at| how_far(&answers[at], truth, at) <= self.width);
        self.n_test = answers.len();
        self.coverage = (self.n_test > 0).then(|| held.count() as f64 / self.n_test as f64);
    }
}

fn how_far(answer: &Answer, truth: &TargetValues, at: usize) -> f64 {
    match truth {
        TargetValues::Numbers(numbers) => (answer.value() - numbers[at]).abs(),
        TargetValues::Classes { of, .. } => 1.0 - answer.outputs[of[at]],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(values: &[f64]) -> Vec<Answer> {
        values
            .iter()
            .map(|&value| Answer::new(vec![value]))
            .collect()
    }

    #[test]
    fn the_width_is_the_rank_that_theory_asks_for() {
        // Off by 1 to 19: rank ⌈20 · 0.9⌉ = 18.
        let truth = TargetValues::Numbers((1..=19).map(f64::from).collect());
        let found = Conformal::new(&answers(&[0.0; 19]), &truth, 0.1).expect("19 are enough");
        assert_eq!((found.width, found.n_calibration), (18.0, 19));
        // Of eight samples, none can be left out with such certainty.
        let truth = TargetValues::Numbers(vec![1.0; 8]);
        assert!(Conformal::new(&answers(&[0.0; 8]), &truth, 0.1).is_none());
    }

    #[test]
    fn coverage_is_counted() {
        let truth = TargetValues::Numbers((1..=19).map(f64::from).collect());
        let mut found = Conformal::new(&answers(&[0.0; 19]), &truth, 0.5).expect("enough");
        found.measure(
            &answers(&[0.0; 4]),
            &TargetValues::Numbers(vec![-10.0, 10.0, 10.5, 3.0]),
        );
        assert_eq!((found.coverage, found.n_test), (Some(0.75), 4));
    }
}
