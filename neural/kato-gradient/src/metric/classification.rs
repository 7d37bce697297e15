//! Hits and misses of predicted classes.

use serde::{Deserialize, Serialize};

use crate::GradientError;
use crate::error::{require, require_length};

/// Accuracy, precision, recall and F1 of a stream of classes, out of integer counts: exact under
/// merging in any order. It takes 24 bytes a class.
///
/// ```
/// use kato_gradient::metric::Classification;
///
/// let mut classes = Classification::new(3)?;
/// classes.add_all(&[0, 1, 1, 2], &[0, 1, 2, 2])?;
/// assert_eq!(classes.accuracy(), Some(0.75));
/// assert_eq!(classes.class(1).map(|class| (class.precision, class.recall)), Some((0.5, 1.0)));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Counts", into = "Counts")]
pub struct Classification {
    counts: Counts,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    /// Of each class, how often it was predicted and right.
    n_hits: Vec<u64>,
    /// Of each class, how often it was predicted.
    n_predicted: Vec<u64>,
    /// Of each class, how often it was right.
    n_true: Vec<u64>,
}

/// How one class, or the mean over the classes, was predicted. Where a score would divide by
/// 0, it is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ClassScores {
    /// Which share of its predictions was right.
    pub precision: f64,
    /// Which share of its members was predicted.
    pub recall: f64,
    /// The harmonic mean of both.
    pub f1: f64,
    /// How many members there are.
    pub support: u64,
}

impl Classification {
    /// Creates one for classes from 0 to `n_classes − 1`.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] when there is no class.
    pub fn new(n_classes: usize) -> Result<Self, GradientError> {
        require(n_classes > 0, "n_classes", n_classes, "at least 1")?;
        let zeros = vec![0; n_classes];
        Ok(Self {
            counts: Counts {
                n_hits: zeros.clone(),
                n_predicted: zeros.clone(),
                n_true: zeros,
            },
        })
    }

    /// Adds one prediction and what it should have been.
    ///
    /// # Errors
    ///
    /// [`GradientError::Class`] when either is no class; nothing is added.
    pub fn add(&mut self, predicted: usize, target: usize) -> Result<(), GradientError> {
        // Both before anything is counted: half an addition would spoil the sums.
        self.check(predicted)?;
        self.check(target)?;
        self.counts.n_predicted[predicted] += 1;
        self.counts.n_true[target] += 1;
        self.counts.n_hits[target] += u64::from(predicted == target);
        Ok(())
    }

    /// Adds predictions and what they should have been.
    ///
    /// # Errors
    ///
    /// [`GradientError::Length`] when there are not as many of both, [`GradientError::Class`] when
    /// one is no class; nothing is added.
    pub fn add_all(&mut self, predicted: &[usize], target: &[usize]) -> Result<(), GradientError> {
        require_length("the target", target.len(), predicted.len())?;
        predicted
            .iter()
            .chain(target)
            .try_for_each(|class| self.check(*class))?;
        for (predicted, target) in predicted.iter().zip(target) {
            self.add(*predicted, *target)?;
        }
        Ok(())
    }

    /// Adds what another has seen.
    ///
    /// # Errors
    ///
    /// [`GradientError::Length`] when it has another number of classes.
    pub fn merge(&mut self, other: &Self) -> Result<(), GradientError> {
        require_length("the other metric", other.n_classes(), self.n_classes())?;
        let add = |ours: &mut [u64], theirs: &[u64]| {
            ours.iter_mut()
                .zip(theirs)
                .for_each(|(ours, theirs)| *ours += theirs);
        };
        add(&mut self.counts.n_hits, &other.counts.n_hits);
        add(&mut self.counts.n_predicted, &other.counts.n_predicted);
        add(&mut self.counts.n_true, &other.counts.n_true);
        Ok(())
    }

    /// Returns how many classes there are.
    #[must_use]
    pub fn n_classes(&self) -> usize {
        self.counts.n_true.len()
    }

    /// Returns how many predictions there were.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.counts.n_true.iter().sum()
    }

    /// Returns which share of the predictions was right; none without predictions.
    #[must_use]
    pub fn accuracy(&self) -> Option<f64> {
        let n_hits: u64 = self.counts.n_hits.iter().sum();
        (self.n() > 0).then(|| n_hits as f64 / self.n() as f64)
    }

    /// Returns the scores of one class; none where it is no class.
    #[must_use]
    pub fn class(&self, class: usize) -> Option<ClassScores> {
        let n_hits = *self.counts.n_hits.get(class)?;
        let n_predicted = self.counts.n_predicted[class];
        let support = self.counts.n_true[class];
        // What scikit-learn gives with `zero_division=0`.
        let share = |n: u64, of: u64| if of == 0 { 0.0 } else { n as f64 / of as f64 };
        Some(ClassScores {
            precision: share(n_hits, n_predicted),
            recall: share(n_hits, support),
            // The harmonic mean of both, with one division.
            f1: share(2 * n_hits, n_predicted + support),
            support,
        })
    }

    /// Returns the means of the classes' scores, each weighted by its support; none without
    /// predictions. The recall is the accuracy.
    #[must_use]
    pub fn weighted(&self) -> Option<ClassScores> {
        let n = self.n();
        if n == 0 {
            return None;
        }
        let mean = |score: fn(&ClassScores) -> f64| {
            // In the order of the classes, so that the rounding is always the same.
            let scores = (0..self.n_classes()).filter_map(|class| self.class(class));
            scores
                .map(|class| score(&class) * class.support as f64)
                .sum::<f64>()
                / n as f64
        };
        Some(ClassScores {
            precision: mean(|class| class.precision),
            // Σ (hits/support)·support is the sum of the hits: exact this way.
            recall: self.accuracy()?,
            f1: mean(|class| class.f1),
            support: n,
        })
    }

    fn check(&self, class: usize) -> Result<(), GradientError> {
        let n_classes = self.n_classes();
        if class < n_classes {
            return Ok(());
        }
        Err(GradientError::Class { class, n_classes })
    }
}

impl From<Classification> for Counts {
    fn from(classes: Classification) -> Self {
        classes.counts
    }
}

impl TryFrom<Counts> for Classification {
    type Error = GradientError;

    fn try_from(counts: Counts) -> Result<Self, GradientError> {
        // A state from elsewhere may have lists of different lengths, which indexing would trust.
        let n_classes = counts.n_true.len();
        require(n_classes > 0, "n_classes", n_classes, "at least 1")?;
        require_length("n_hits", counts.n_hits.len(), n_classes)?;
        require_length("n_predicted", counts.n_predicted.len(), n_classes)?;
        Ok(Self { counts })
    }
}
